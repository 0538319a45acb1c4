"""Plugins: asked once, checked whole, frozen; every mistake is one sentence that names the plugin."""

from __future__ import annotations

import collections
import dataclasses
import functools
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pluggy
import pytest
from flask import Flask
from hypothesis import given, settings
from hypothesis import strategies as st

from flask_litro_agent.contracts import Actor, Done, Rendered, ToolFacts, Verdict
from flask_litro_agent.errors import ConfigurationError
from flask_litro_agent.hookspecs import PROJECT, hookimpl
from flask_litro_agent.plugins import BUILT_IN, load_plugins
from flask_litro_agent.registry import Registry
from flask_litro_agent.settings import Settings, draft_settings


class Model:
    def __init__(self, model: str, *, base_url: str = "", api_key: str = "") -> None:
        self.model, self.base_url, self.api_key = model, base_url, api_key

    def stream(self, request: Any, stop: Any) -> Iterator[Any]:
        yield Done()


class Html:
    def render(self, component: str, props: Mapping[str, Any]) -> Rendered:
        return Rendered("<p></p>")


class Allows:
    def decide(self, actor: Actor, tool: ToolFacts, arguments: Mapping[str, Any] | None) -> Verdict:
        return Verdict.allow()


class Store:
    """Has a session store's methods; nothing here calls them."""

    def __init__(self, *, path: str = "") -> None:
        self.path = path

    def _unused(self, *arguments: Any) -> None: ...

    append = read = wait = acquire = renew = release = holder = is_leased = _unused
    stop = stopped = last_seq = list = delete = _unused


def plugin(name: str, *, mark: Any = hookimpl, **hooks: Any) -> types.ModuleType:
    """Make a plugin module; a hook is given as its function, or as what it answers."""
    module = types.ModuleType(name)
    for hook, given_as in hooks.items():
        function = given_as if isinstance(given_as, types.FunctionType) else answering(given_as)
        setattr(module, hook, mark(function))
    return module


def answering(answer: Any) -> Callable[[], Any]:
    return lambda: answer


FLOOR = plugin("floor", register_session_stores={"file": Store}, register_policies={"permissions": Allows})


def load(*plugins: object, config: Mapping[str, Any] | None = None, built_in: Any = (FLOOR,)) -> Registry:
    """Load plugins of the site on the floor that the default settings need, and no installed one."""
    draft = draft_settings({"LITRO_PLUGINS": (), "LITRO_RENDERER": None, **(config or {})})
    return load_plugins(Flask("site"), draft, site_plugins=plugins, built_in=built_in)


def faults(*plugins: object, **options: Any) -> tuple[str, ...]:
    with pytest.raises(ConfigurationError) as caught:
        load(*plugins, **options)
    return caught.value.faults


def fault(*plugins: object, **options: Any) -> str:
    (only,) = faults(*plugins, **options)
    return only


class TestWhatComesOut:
    def test_every_kind_is_registered_by_its_hook(self) -> None:
        registry = load(
            plugin(
                "acme",
                register_providers={"acme": Model},
                register_session_stores={"acme": Store},
                register_renderers={"acme": Html},
                register_policies={"acme": Allows},
            )
        )
        assert registry.provider("acme", "large").model == "large"
        assert isinstance(registry.session_store("acme"), Store)
        assert isinstance(registry.renderer("acme"), Html)
        assert isinstance(registry.policy("acme"), Allows)

    def test_a_class_or_an_object_with_hooks_is_a_plugin_too(self) -> None:
        class Acme:
            @hookimpl
            def register_policies(self) -> Any:
                return {"acme": Allows}

        assert "acme" in load(Acme()).policies

    def test_a_hook_may_ask_for_the_app_and_the_settings(self) -> None:
        seen = []

        def hook(settings: Settings, app: Flask) -> Any:
            seen.append((app.name, settings.max_rounds))
            return {}

        load(plugin("acme", register_policies=hook), config={"LITRO_MAX_ROUNDS": 3})
        assert seen == [("site", 3)]

    def test_every_hook_is_called_once(self) -> None:
        calls = []

        def hook() -> Any:
            calls.append("called")
            return {"acme": Allows}

        registry = load(plugin("acme", register_policies=hook))
        registry.policy("acme")
        registry.policy("acme")
        assert calls == ["called"]

    def test_no_factory_is_called_at_start_up(self) -> None:
        def explode() -> Any:
            raise AssertionError

        assert "acme" in load(plugin("acme", register_policies={"acme": explode})).policies

    def test_the_registry_is_frozen(self) -> None:
        registry = load()
        with pytest.raises(TypeError):
            registry.policies["mine"] = registry.policies["permissions"]  # type: ignore[index]
        with pytest.raises(dataclasses.FrozenInstanceError):
            registry.policies = {}  # type: ignore[misc]

    def test_what_a_hook_returned_can_be_changed_without_effect(self) -> None:
        answer: dict[str, Any] = {"acme": Allows}
        registry = load(plugin("acme", register_policies=answer))
        answer["later"] = Allows
        assert "later" not in registry.policies

    def test_two_apps_share_nothing(self) -> None:
        assert "acme" in load(plugin("acme", register_policies={"acme": Allows})).policies
        assert "acme" not in load().policies

    def test_each_plugin_is_listed_with_its_source_and_its_hooks(self) -> None:
        acme = plugin("acme", register_policies={"b": Allows, "a": Allows}, register_renderers={})
        floor, site = load(acme).plugins
        assert (floor.name, floor.source) == ("floor", "built-in")
        assert (site.name, site.source, site.version) == ("acme", "site", None)
        assert site.hooks == ("register_policies: a, b",)

    def test_an_unknown_name_is_answered_with_what_there_is(self) -> None:
        with pytest.raises(ConfigurationError, match="no session store named 'reddis'; there is: file"):
            load().session_store("reddis")

    def test_an_unknown_name_where_there_is_none_says_so(self) -> None:
        with pytest.raises(ConfigurationError, match="no renderer named 'jinja'; there is: none"):
            load().renderer("jinja")

    @pytest.mark.parametrize("name", ["lit", "fast"])
    def test_a_reserved_renderer_is_answered_with_a_sentence(self, name: str) -> None:
        with pytest.raises(ConfigurationError, match=f"the renderer name '{name}' is reserved"):
            load().renderer(name)

    def test_the_built_in_plugins_register_like_any(self) -> None:
        registry = load(built_in=BUILT_IN)
        assert "permissions" in registry.policies
        assert all(info.source == "built-in" and info.hooks for info in registry.plugins)


class TestOrder:
    PLUGINS = tuple(
        plugin(
            f"p{number}",
            register_policies={f"policy_{number}": Allows},
            register_renderers={f"r{number}": Html},
        )
        for number in range(5)
    )
    BROKEN = (
        plugin("typo", register_policy={}),
        plugin("empty"),
        plugin("twin_a", register_policies={"twin": Allows}),
        plugin("twin_b", register_policies={"twin": Allows}),
        plugin("none", register_renderers=None),
    )

    @settings(deadline=None)
    @given(st.permutations(PLUGINS))
    def test_the_order_of_the_plugins_changes_nothing(self, plugins: list[object]) -> None:
        assert load(*plugins) == load(*self.PLUGINS)

    @settings(deadline=None)
    @given(st.permutations(PLUGINS))
    def test_names_come_in_one_order(self, plugins: list[object]) -> None:
        assert list(load(*plugins).renderers) == ["r0", "r1", "r2", "r3", "r4"]

    @settings(deadline=None)
    @given(st.permutations(BROKEN))
    def test_the_order_of_the_plugins_changes_no_fault(self, plugins: list[object]) -> None:
        assert faults(*plugins) == faults(*self.BROKEN)


class TestFaults:
    def test_a_misspelt_hook_stops_the_app_with_a_suggestion(self) -> None:
        assert fault(plugin("acme", register_provider={})) == (
            "plugin 'acme' (site): there is no hook named 'register_provider'; did you mean register_providers?"
        )

    def test_a_misspelt_hook_beside_a_right_one_stops_the_app(self) -> None:
        acme = plugin("acme", register_policies={"acme": Allows}, register_rendererss={})
        assert "did you mean register_renderers?" in fault(acme)

    @pytest.mark.parametrize("hook", ["before_call", "decide", "tool_call", "register_tools"])
    def test_there_is_no_hook_around_a_call(self, hook: str) -> None:
        assert f"there is no hook named '{hook}'" in fault(plugin("acme", **{hook: {}}))

    def test_a_hook_without_its_mark_is_not_overlooked(self) -> None:
        acme = plugin("acme", mark=lambda function: function, register_policies={"acme": Allows})
        assert fault(acme) == "plugin 'acme' (site): register_policies is not marked with our @hookimpl"

    def test_a_hook_with_another_projects_mark_is_not_overlooked(self) -> None:
        acme = plugin("acme", mark=pluggy.HookimplMarker("other"), register_policies={})
        assert "register_policies is not marked with our @hookimpl" in fault(acme)

    @pytest.mark.parametrize("thing", [None, "litro_s3", 7, types.ModuleType("nothing")])
    def test_a_thing_without_hooks_is_not_overlooked(self, thing: object) -> None:
        assert "registers nothing; the hooks are: register_providers, " in fault(thing)

    @pytest.mark.parametrize("option", ["tryfirst", "trylast", "optionalhook", "wrapper", "hookwrapper"])
    def test_a_hook_with_an_option_is_refused(self, option: str) -> None:
        def hook() -> Any:
            yield

        acme = plugin("acme", mark=hookimpl(**{option: True}), register_policies=hook)
        assert f"plugin 'acme' (site): register_policies is marked with hookimpl({option})" in fault(acme)

    def test_a_wrapper_never_runs(self) -> None:
        ran = []

        def hook() -> Any:
            ran.append("wrapper")
            return (yield)

        faults(plugin("acme", mark=hookimpl(wrapper=True), register_policies=hook))
        assert ran == []

    def test_a_wrapper_that_is_no_generator_is_refused(self) -> None:
        acme = plugin("acme", mark=hookimpl(wrapper=True), register_policies={})
        assert fault(acme).startswith("plugin 'acme' (site) does not fit: ")

    def test_a_hook_under_another_name_is_refused(self) -> None:
        acme = plugin("acme", mark=hookimpl(specname="register_policies"), policies={})
        assert "register_policies is marked with hookimpl(specname)" in fault(acme)

    def test_a_hook_that_claims_the_first_result_is_refused(self) -> None:
        def first(function: Any) -> Any:
            setattr(function, f"{PROJECT}_impl", {"firstresult": True})
            return function

        acme = plugin("acme", mark=first, register_policies={})
        assert "register_policies is marked with hookimpl(firstresult)" in fault(acme)

    def test_a_hook_that_asks_for_something_else_is_refused(self) -> None:
        def hook(app: Flask, gate: Any) -> Any:
            return {}

        said = fault(plugin("acme", register_policies=hook))
        assert said.startswith("plugin 'acme' (site) does not fit: ")
        assert "'gate'" in said

    def test_an_async_hook_is_refused(self) -> None:
        async def hook() -> Any:
            return {}

        assert "register_policies is 'async def'" in fault(plugin("acme", register_policies=hook))

    def test_a_hook_that_raises_is_told_by_type_and_place_and_not_by_its_words(self) -> None:
        def hook() -> Any:
            raise RuntimeError("password=hunter2")

        said = fault(plugin("acme", register_policies=hook))
        assert said.startswith("plugin 'acme' (site): register_policies raised RuntimeError at ")
        assert __file__ in said
        assert "hunter2" not in said

    def test_a_hook_that_raises_hides_no_other_plugin(self) -> None:
        def hook() -> Any:
            raise RuntimeError

        found = faults(plugin("a", register_policies=hook), plugin("b", register_policies=hook))
        assert [said[:10] for said in found] == ["plugin 'a'", "plugin 'b'"]

    @pytest.mark.parametrize("answer", [None, True, [], [("acme", Allows)], "acme", Allows])
    def test_a_hook_must_return_a_mapping(self, answer: Any) -> None:
        said = fault(plugin("acme", register_policies=lambda: answer))
        assert said.startswith("plugin 'acme' (site): register_policies returned a ")

    def test_a_mapping_that_raises_is_a_fault(self) -> None:
        class Bad(collections.UserDict[str, Any]):
            def __iter__(self) -> Any:
                raise OSError

        assert "register_policies raised OSError at " in fault(plugin("acme", register_policies=Bad()))

    @pytest.mark.parametrize("name", ["", "S3", "s-3", "3s", "_s", "s 3", "s3\n", "ſ3", 7, None, ("s",)])
    def test_a_name_must_fit_into_a_setting(self, name: Any) -> None:
        said = fault(plugin("acme", register_policies={name: Allows}))
        assert (
            said == f"plugin 'acme' (site): register_policies: the name {name!r} must match [a-z][a-z0-9_]*"
        )

    @pytest.mark.parametrize("name", ["lit", "fast"])
    def test_a_reserved_renderer_name_cannot_be_registered(self, name: str) -> None:
        assert f"the renderer name '{name}' is reserved" in fault(
            plugin("acme", register_renderers={name: Html})
        )

    @pytest.mark.parametrize("name", ["lit", "fast"])
    def test_a_renderers_reserved_name_is_free_for_other_kinds(self, name: str) -> None:
        assert name in load(plugin("acme", register_policies={name: Allows})).policies

    @pytest.mark.parametrize("thing", [None, "module:Class", 7, Allows()])
    def test_a_factory_must_be_callable(self, thing: object) -> None:
        said = fault(plugin("acme", register_policies={"acme": thing}))
        assert said.endswith(f"'acme' is a {type(thing).__name__}, not a factory")

    def test_an_async_factory_is_refused_in_every_form(self) -> None:
        async def make() -> Any: ...

        class Makes:
            async def __call__(self) -> Any: ...

        for factory in (make, functools.partial(make), Makes()):
            said = fault(plugin("acme", register_policies={"acme": factory}))
            assert said.endswith(
                "the factory of 'acme' is 'async def'; factories are synchronous: write 'def'"
            )

    def test_a_name_given_twice_names_both_plugins(self) -> None:
        one, two = (plugin(name, register_providers={"acme": Model}) for name in ("one", "two"))
        assert fault(two, one) == (
            "provider 'acme' is registered by plugin 'one' (site) and by plugin 'two' (site); a name is given once"
        )

    def test_a_built_ins_name_cannot_be_taken(self) -> None:
        assert fault(plugin("evil", register_policies={"permissions": Allows})) == (
            "policy 'permissions' is registered by plugin 'evil' (site) and by plugin 'floor' (built-in);"
            " a name is given once"
        )

    def test_two_kinds_may_share_a_name(self) -> None:
        registry = load(plugin("acme", register_providers={"acme": Model}, register_renderers={"acme": Html}))
        assert registry.providers.keys() == registry.renderers.keys() == {"acme"}

    def test_one_module_handed_over_twice_is_a_fault(self) -> None:
        acme = plugin("acme", register_policies={"acme": Allows})
        assert (
            fault(acme, acme)
            == "plugin 'acme' (site) is there already as plugin 'acme' (site): hand it over once"
        )

    def test_a_chosen_name_that_nobody_registers_is_a_fault(self) -> None:
        config = {"LITRO_SESSION_STORE": "s3", "LITRO_POLICIES": ["hours"], "LITRO_RENDERER": "lit"}
        assert faults(config=config) == (
            "no policy named 'hours'; there is: permissions",
            "no session store named 's3'; there is: file",
            "the renderer name 'lit' is reserved and does not exist yet; there is: none",
        )

    def test_faults_of_settings_and_plugins_are_reported_together(self) -> None:
        found = faults(
            plugin("acme", register_policy={}),
            plugin("other", register_renderers={"other": 7}),
            config={"LITRO_FSYNC": "no", "LITRO_NOPE": 1},
        )
        assert len(found) == 4

    def test_hooks_get_defaults_where_the_settings_are_faulty(self) -> None:
        seen = []

        def hook(settings: Settings) -> Any:
            seen.append(settings.fsync)
            return {}

        faults(plugin("acme", register_policies=hook), config={"LITRO_FSYNC": "no"})
        assert seen == ["turn"]


class TestSettingsOfPlugins:
    def test_a_factory_gets_its_settings_as_keywords(self) -> None:
        acme = plugin("acme", register_session_stores={"s3": Store})
        assert load(acme, config={"LITRO_S3_PATH": "bucket/a"}).session_store("s3").path == "bucket/a"  # type: ignore[attr-defined]

    def test_a_provider_gets_the_model_before_its_settings(self) -> None:
        acme = plugin("acme", register_providers={"acme": Model})
        made = load(acme, config={"LITRO_ACME_API_KEY": "k"}).provider("acme", "large")
        assert (made.model, made.api_key) == ("large", "k")  # type: ignore[attr-defined]

    def test_the_model_is_no_setting(self) -> None:
        acme = plugin("acme", register_providers={"acme": Model})
        assert fault(acme, config={"LITRO_ACME_MODEL": "large"}).startswith(
            "LITRO_ACME_MODEL is not a setting of provider 'acme'"
        )

    def test_the_model_is_no_setting_of_a_factory_that_takes_anything(self) -> None:
        acme = plugin("acme", register_providers={"acme": lambda model, **rest: Model(model)})
        assert "LITRO_ACME_MODEL is not a setting" in fault(acme, config={"LITRO_ACME_MODEL": "large"})

    def test_a_setting_that_the_factory_does_not_take_is_a_fault_with_a_suggestion(self) -> None:
        acme = plugin("acme", register_providers={"acme": Model})
        assert fault(acme, config={"LITRO_ACME_APIKEY": "hunter2"}) == (
            "LITRO_ACME_APIKEY is not a setting of provider 'acme' of plugin 'acme' (site);"
            " there is: LITRO_ACME_API_KEY, LITRO_ACME_BASE_URL; did you mean LITRO_ACME_API_KEY?"
        )

    def test_a_factory_without_settings_says_so(self) -> None:
        said = fault(plugin("acme", register_policies={"acme": Allows}), config={"LITRO_ACME_HOURS": 9})
        assert said.endswith("; there is: none")

    def test_a_factory_that_takes_anything_gets_everything(self) -> None:
        got: dict[str, Any] = {}

        def make(**settings: Any) -> Allows:
            got.update(settings)
            return Allows()

        acme = plugin("acme", register_policies={"acme": make})
        load(acme, config={"LITRO_ACME_A": 1, "LITRO_ACME_B_C": 2}).policy("acme")
        assert got == {"a": 1, "b_c": 2}

    def test_a_key_belongs_to_the_longest_name(self) -> None:
        acme = plugin("acme", register_session_stores={"s3": lambda **rest: Store(), "s3_eu": Store})
        registry = load(acme, config={"LITRO_S3_EU_PATH": "x", "LITRO_S3_EUROPE": "y"})
        assert registry.session_stores["s3_eu"].settings == {"path": "x"}
        assert registry.session_stores["s3"].settings == {"europe": "y"}

    def test_kinds_of_one_name_get_what_each_takes(self) -> None:
        acme = plugin("acme", register_providers={"acme": Model}, register_session_stores={"acme": Store})
        registry = load(acme, config={"LITRO_ACME_PATH": "p", "LITRO_ACME_API_KEY": "k"})
        assert registry.providers["acme"].settings == {"api_key": "k"}
        assert registry.session_stores["acme"].settings == {"path": "p"}

    def test_our_own_key_is_never_a_plugins(self) -> None:
        greedy = plugin("greedy", register_policies={"max": lambda **rest: Allows()})
        registry = load(greedy, config={"LITRO_MAX_BODY": 2048, "LITRO_MAX_ACME": 1})
        assert registry.policies["max"].settings == {"acme": 1}

    @pytest.mark.parametrize("key", ["LITRO_ACME", "LITRO_ACME_", "LITRO_ACME_api_key", "LITRO_acme_API_KEY"])
    def test_a_key_in_another_spelling_is_no_plugins(self, key: str) -> None:
        acme = plugin("acme", register_providers={"acme": lambda model, **rest: Model(model)})
        assert fault(acme, config={key: "k"}).startswith(f"{key} is not a setting, neither ours nor")

    def test_a_missing_setting_is_named_when_the_thing_is_made(self) -> None:
        def make(bucket: str, region: str = "eu") -> Store:
            return Store()

        registry = load(plugin("acme", register_session_stores={"s3": make}))
        with pytest.raises(
            ConfigurationError, match=r"session store 's3' of plugin 'acme' .site. needs LITRO_S3_BUCKET$"
        ):
            registry.session_store("s3")

    def test_a_factory_that_raises_is_told_with_keys_and_without_values(self) -> None:
        def make(*, secret: str) -> Store:
            raise ValueError(f"cannot log in with {secret}")

        registry = load(
            plugin("acme", register_session_stores={"s3": make}), config={"LITRO_S3_SECRET": "hunter2"}
        )
        with pytest.raises(ConfigurationError) as caught:
            registry.session_store("s3")
        said = str(caught.value)
        assert said.startswith("session store 's3' of plugin 'acme' (site) could not be made: ValueError at ")
        assert said.endswith("(settings given: LITRO_S3_SECRET)")
        assert "hunter2" not in said
        assert caught.value.__suppress_context__

    def test_a_factory_that_lacks_a_module_says_which(self) -> None:
        def make() -> Store:
            raise ModuleNotFoundError("No module named 'boto3'")

        registry = load(plugin("acme", register_session_stores={"s3": make}))
        with pytest.raises(ConfigurationError, match="ModuleNotFoundError: No module named 'boto3'"):
            registry.session_store("s3")

    def test_a_factorys_own_configuration_error_keeps_its_words(self) -> None:
        def make() -> Store:
            raise ConfigurationError(["the folder is on a network file system", "the clock is wrong"])

        registry = load(plugin("acme", register_session_stores={"s3": make}))
        with pytest.raises(ConfigurationError, match="network file system; the clock is wrong"):
            registry.session_store("s3")

    @pytest.mark.parametrize(
        ("noun", "made"), [("session store", Allows()), ("policy", None), ("renderer", Store())]
    )
    def test_a_factory_that_makes_something_else_is_a_fault(self, noun: str, made: object) -> None:
        hook = {"session store": "register_session_stores", "policy": "register_policies"}.get(
            noun, "register_renderers"
        )
        factory = load(plugin("acme", **{hook: {"acme": lambda: made}})).factory(noun, "acme")
        with pytest.raises(
            ConfigurationError, match=f"its factory made a {type(made).__name__}, not a {noun}"
        ):
            factory()

    def test_a_factory_that_has_no_signature_is_tried(self) -> None:
        def make(*, hours: int = 9) -> Allows:
            return Allows()

        make.__signature__ = 7  # type: ignore[attr-defined]  # inspect refuses it, as it does some callables of C
        acme = plugin("acme", register_policies={"acme": make})
        assert isinstance(load(acme, config={"LITRO_ACME_HOURS": 8}).policy("acme"), Allows)
        with pytest.raises(ConfigurationError, match=r"acme. .site. could not be made: TypeError at "):
            load(acme, config={"LITRO_ACME_DAYS": 8}).policy("acme")

    def test_no_setting_is_in_the_repr_of_a_registry(self) -> None:
        acme = plugin("acme", register_providers={"acme": Model})
        assert "hunter2" not in repr(load(acme, config={"LITRO_ACME_API_KEY": "hunter2"}))


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Give a function that installs a distribution with one module and its entry points, for this test."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)

    def install(distribution: str, module: str, source: str, *points: str) -> None:
        info = tmp_path / f"{distribution.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        lines = "\n".join(f"{point} = {module}" for point in points)
        (info / "entry_points.txt").write_text(f"[{PROJECT}]\n{lines}\n")
        (tmp_path / f"{module}.py").write_text(source)

    yield install
    for name in set(sys.modules) - before:
        del sys.modules[name]


POLICY = """
from flask_litro_agent.hookspecs import hookimpl
from flask_litro_agent.policies.permissions import Permissions

@hookimpl
def register_policies():
    return {%r: Permissions}
"""


class TestInstalledPlugins:
    def test_an_entry_point_is_found_with_its_distribution(self, install: Callable[..., None]) -> None:
        install("litro-hours", "litro_hours_a", POLICY % "hours", "hours")
        registry = load(config={"LITRO_PLUGINS": None})
        (info,) = [info for info in registry.plugins if info.name == "hours"]
        assert (info.source, info.distribution, info.version) == ("entry point", "litro-hours", "1.0")
        assert "hours" in registry.policies

    def test_the_setting_restricts_what_is_imported(self, install: Callable[..., None]) -> None:
        install("litro-hours", "litro_hours_b", POLICY % "hours", "hours")
        install("litro-evil", "litro_evil_b", "raise SystemExit", "evil")
        assert [info.name for info in load(config={"LITRO_PLUGINS": ["hours", "hours"]}).plugins] == [
            "floor",
            "hours",
        ]
        assert "litro_evil_b" not in sys.modules

    def test_an_empty_list_lets_none_load(self, install: Callable[..., None]) -> None:
        install("litro-hours", "litro_hours_c", POLICY % "hours", "hours")
        assert "hours" not in load(config={"LITRO_PLUGINS": []}).policies
        assert "litro_hours_c" not in sys.modules

    def test_a_faulty_list_lets_none_load(self, install: Callable[..., None]) -> None:
        install("litro-hours", "litro_hours_d", POLICY % "hours", "hours")
        assert fault(config={"LITRO_PLUGINS": "hours"}).startswith("LITRO_PLUGINS must be a list")
        assert "litro_hours_d" not in sys.modules

    def test_a_name_that_is_not_installed_is_a_fault(self, install: Callable[..., None]) -> None:
        install("litro-hours", "litro_hours_e", POLICY % "hours", "hours")
        said = fault(config={"LITRO_PLUGINS": ["hour"]})
        assert said.startswith("LITRO_PLUGINS names 'hour', which is not installed; installed: ")
        assert "hours" in said

    def test_what_does_not_import_is_named_and_hides_no_other(self, install: Callable[..., None]) -> None:
        install("litro-a", "litro_a_f", "import boto3_is_not_here", "a")
        install("litro-b", "litro_b_f", "x = (", "b")
        install("litro-c", "litro_c_f", "raise KeyError('hunter2')", "c")
        install("litro-d", "litro_d_f", POLICY.replace("policies():", "policy():") % "d", "d")
        said = faults(config={"LITRO_PLUGINS": ["a", "b", "c", "d"]})
        assert said[0] == (
            "plugin 'a' (litro-a 1.0) does not import: ModuleNotFoundError: No module named 'boto3_is_not_here'"
        )
        assert said[1].startswith("plugin 'b' (litro-b 1.0) does not import: SyntaxError: ")
        assert said[2].startswith("plugin 'c' (litro-c 1.0) does not import: KeyError at ")
        assert said[3].startswith("plugin 'd' (litro-d 1.0): there is no hook named 'register_policy'")
        assert "hunter2" not in str(said)

    def test_an_entry_point_that_names_nothing_is_a_fault(self, install: Callable[..., None]) -> None:
        install("litro-a", "litro_a_g", "", "a")
        assert "registers nothing" in fault(config={"LITRO_PLUGINS": ["a"]})

    def test_one_name_of_two_distributions_is_a_fault(self, install: Callable[..., None]) -> None:
        install("litro-hours", "litro_hours_h", POLICY % "hours", "hours")
        install("litro-squat", "litro_squat_h", POLICY % "squat", "hours")
        assert fault(config={"LITRO_PLUGINS": ["hours"]}) == (
            "plugin 'hours' is given by several distributions: litro-hours 1.0, litro-squat 1.0"
        )

    def test_an_installed_plugin_cannot_take_a_built_ins_name(self, install: Callable[..., None]) -> None:
        install("litro-evil", "litro_evil_i", POLICY % "permissions", "evil")
        said = fault(config={"LITRO_PLUGINS": ["evil"]})
        assert "plugin 'evil' (litro-evil 1.0)" in said
        assert "plugin 'floor' (built-in)" in said

    def test_a_plugin_installed_and_handed_over_is_a_fault(self, install: Callable[..., None]) -> None:
        install("litro-hours", "litro_hours_j", POLICY % "hours", "hours")
        module = __import__("litro_hours_j")
        said = fault(module, config={"LITRO_PLUGINS": ["hours"]})
        assert said == (
            "plugin 'hours' (litro-hours 1.0) is there already as plugin 'litro_hours_j' (site): hand it over once"
        )

    def test_two_entry_points_of_one_module_are_a_fault(self, install: Callable[..., None]) -> None:
        install("litro-hours", "litro_hours_k", POLICY % "hours", "hours", "again")
        assert "hand it over once" in fault(config={"LITRO_PLUGINS": ["hours", "again"]})
