"""Settings: every key's check, all faults together, nothing silently ignored."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flask_litro_agent.errors import ConfigurationError
from flask_litro_agent.settings import Limits, Settings, draft_settings, read_settings, unknown_setting

FIELDS = {field.name: field for field in dataclasses.fields(Settings)}

GOOD: dict[str, list[Any]] = {
    "url_prefix": ["/__litro", "/a/b-c.d", "/..."],
    "agents": [None, "agents", "/srv/site/agents"],
    "session_store": ["file", "sql"],
    "renderer": [None, "light"],
    "policies": [["permissions"], ("permissions", "hours"), []],
    "plugins": [None, [], ["s3"]],
    "hosts": [None, ["shop.example"], ["127.0.0.1:8000", "[::1]:8000"], ("localhost",)],
    "trusted_proxies": [0, 1, 16],
    "fsync": ["turn", "always", "never"],
    "stream_seconds": [0.1, 30, 3600],
    "heartbeat_seconds": [0.05, 15, 600],
    "lease_seconds": [1, 15.5, 600],
    "grace_seconds": [0, 10, 600],
    "max_body": [1024, 64 * 1024 * 1024],
    "max_turns": [1, 100_000],
    "max_actor_turns": [1, 100_000],
    "max_tails": [None, 1, 100_000],
    "max_actor_tails": [1, 100_000],
    "context_tokens": [500, 100_000_000],
    "max_rounds": [1, 1000],
    "max_calls": [1, 10_000],
    "max_same_call": [1, 1000],
    "turn_seconds": [0.1, 86_400],
    "tool_seconds": [0.05, 86_400],
    "idle_seconds": [0.1, 3600],
    "max_output": [1024, 64 * 1024 * 1024],
    "database_uri": [None, "sqlite:////srv/ledger.db", "postgresql://u:p@h/n"],
    "ceiling": ["off", "read", "propose", "execute"],
    "protected_permissions": [None, [], ["payments:*", "taxes:edit"]],
    "four_eyes": [[], ("refunds:*",)],
    "max_open": [1, 5, 100],
    "max_ttl": [1, 86_400, 31_536_000],
    "session_days": [None, 1, 36_500],
    "admin_prefix": [None, "/litro", "/back/office"],
    "sign_in": [None, "/sign-in", "/login?kind=staff"],
    "external_url": [None, "https://shop.example", "http://127.0.0.1:8000/", "https://shop.example/sub"],
    "mcp_origins": [[], ("https://host.example",), ["http://127.0.0.1:6274", "https://[::1]:1"]],
    "mcp_seconds": [0.05, 30, 3600],
    "approval_freshness": [None, 1, 900],
    "webhook_url": [None, "https://hooks.example/litro?key=1", "http://[::1]:9000/x"],
    "webhook_secret": [None, "whsec_" + "a" * 32, "b" * 84],
}

NO_SECONDS: list[Any] = [-1, "30", True, None, math.nan, math.inf, [], 10**400]
NO_COUNT: list[Any] = [-1, 1.5, "5", True, [], math.nan, 10**400]

BAD: dict[str, list[Any]] = {
    "url_prefix": ["", "/", "litro", "/litro/", "//litro", "/a b", "/../x", "/x/..", "/./x", "/x\n", None, 7],
    "agents": ["", "  ", 7, ["agents"]],
    "session_store": ["", " ", None, 7, ["file"]],
    "renderer": ["", 7, ["jinja"]],
    "policies": ["permissions", None, [""], [7], {"permissions"}],
    "plugins": ["s3", [""], [None], 7],
    "hosts": [
        "shop.example",
        ["https://shop.example"],
        ["shop.example/"],
        ["a b"],
        ["u@h"],
        [""],
        [7],
        ["h:x"],
    ],
    "trusted_proxies": [*NO_COUNT, 17, None],
    "fsync": ["", "TURN", None, True, ["turn"]],
    "stream_seconds": [*NO_SECONDS, 0],
    "heartbeat_seconds": [*NO_SECONDS, 0],
    "lease_seconds": [*NO_SECONDS, 0.5],
    "grace_seconds": NO_SECONDS,
    "max_body": [*NO_COUNT, 1023],
    "max_turns": [*NO_COUNT, 0, None],
    "max_actor_turns": [*NO_COUNT, 0, None],
    "max_tails": [*NO_COUNT, 0],
    "max_actor_tails": [*NO_COUNT, 0, None],
    "context_tokens": [*NO_COUNT, 499, None],
    "max_rounds": [*NO_COUNT, 0, 1001, None],
    "max_calls": [*NO_COUNT, 0, None],
    "max_same_call": [*NO_COUNT, 0, None],
    "turn_seconds": [*NO_SECONDS, 0],
    "tool_seconds": [*NO_SECONDS, 0],
    "idle_seconds": [*NO_SECONDS, 0],
    "max_output": [*NO_COUNT, 1023, None],
    "database_uri": ["", " ", 7, ["sqlite://"]],
    "ceiling": ["", "PROPOSE", None, 2, ["propose"]],
    "protected_permissions": [
        "payments:*",
        [""],
        [7],
        {"payments:*"},
        [" payments:*"],
        ["payments:* "],
        ["*:edit"],
        ["payments:**"],
    ],
    "four_eyes": ["refunds:*", None, [""], [7], ["refunds:* "], ["*:edit"]],
    "max_open": [*NO_COUNT, 0, 101, None],
    "max_ttl": [*NO_COUNT, 0, None],
    "session_days": [*NO_COUNT, 0],
    "admin_prefix": ["", "/", "litro", "/litro/", 7],
    "sign_in": ["", "sign-in", "//evil.example", "/\\evil.example", "/a b", "https://shop.example/", 7],
    "external_url": ["", "shop.example", "ftp://shop.example", "https://u:p@shop.example", "https://a b", 7],
    "mcp_origins": [
        None,
        "https://host.example",
        ["host.example"],
        ["https://host.example/"],
        ["null"],
        ["*"],
        [1],
    ],
    "mcp_seconds": [None, 0, "30", True, 3601],
    "approval_freshness": [*NO_COUNT, 0],
    "webhook_url": ["", "hooks.example", "file:///etc/passwd", "https://u:p@hooks.example/", 7],
    "webhook_secret": [
        "",
        "whsec_",
        "whsec_" + "a" * 28,
        "a" * 88,
        "whsec_not base64 at all but long enough",
        7,
    ],
}


def cases(table: dict[str, list[Any]]) -> list[Any]:
    return [
        pytest.param(name, value, id=f"{name}-{number}")
        for name, values in table.items()
        for number, value in enumerate(values)
    ]


def faults(config: dict[Any, Any]) -> tuple[str, ...]:
    with pytest.raises(ConfigurationError) as caught:
        read_settings(config)
    return caught.value.faults


def test_every_setting_has_its_cases_here() -> None:
    assert set(GOOD) == set(BAD) == set(FIELDS)


@pytest.mark.parametrize(("name", "value"), cases(GOOD))
def test_a_good_value_is_taken(name: str, value: Any) -> None:
    taken = getattr(read_settings({f"LITRO_{name.upper()}": value}), name)
    assert taken == (tuple(value) if isinstance(value, list) else value)


@pytest.mark.parametrize(("name", "value"), cases(BAD))
def test_a_bad_value_is_one_fault_that_names_the_key(name: str, value: Any) -> None:
    (fault,) = faults({f"LITRO_{name.upper()}": value})
    assert fault.startswith(f"LITRO_{name.upper()} must be ")
    assert len(fault) < 300


@pytest.mark.parametrize("name", FIELDS)
def test_every_default_passes_its_own_check(name: str) -> None:
    assert FIELDS[name].metadata["check"](FIELDS[name].default) is None


@pytest.mark.parametrize("name", FIELDS)
def test_every_setting_says_what_it_means(name: str) -> None:
    assert len(FIELDS[name].metadata["meaning"]) > 15


def test_an_empty_config_gives_the_defaults() -> None:
    assert read_settings({}) == Settings()


def test_what_is_not_ours_is_left_alone() -> None:
    assert read_settings({"SECRET_KEY": "s", "LITROX": 1, "litro_max_body": 1, 7: 8}) == Settings()


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        read_settings({}).max_rounds = 1  # type: ignore[misc]


def test_a_list_is_kept_as_a_tuple_so_that_nobody_changes_it_later() -> None:
    names = ["permissions"]
    read = read_settings({"LITRO_POLICIES": names})
    names.append("hours")
    assert read.policies == ("permissions",)


def test_all_faults_are_reported_together_and_in_order() -> None:
    found = faults({"LITRO_MAX_BODY": 1, "LITRO_FSYNC": "no", "LITRO_NOPE": 1, "LITRO_AGENTS": ""})
    assert [fault.split()[0] for fault in found] == [
        "LITRO_AGENTS",
        "LITRO_FSYNC",
        "LITRO_MAX_BODY",
        "LITRO_NOPE",
    ]


def test_an_unknown_key_is_answered_with_the_nearest_one() -> None:
    (fault,) = faults({"LITRO_STRAEM_SECONDS": 5})
    assert fault.endswith("; did you mean LITRO_STREAM_SECONDS?")


def test_an_unknown_key_far_from_all_gets_no_suggestion() -> None:
    (fault,) = faults({"LITRO_ZZZZZZ": 5})
    assert fault == "LITRO_ZZZZZZ is not a setting, neither ours nor one of a plugin that loaded"


@pytest.mark.parametrize(
    "key", ["LITRO_max_body", "LITRO_Max_Body", "LITRO_", "LITRO__MAX_BODY", "LITRO_MAX_BODY "]
)
def test_a_key_in_another_spelling_is_unknown_and_not_taken(key: str) -> None:
    (fault,) = faults({key: 2048})
    assert fault.startswith(f"{key} is not a setting")


def test_an_unknown_keys_value_is_never_told() -> None:
    (fault,) = faults({"LITRO_S3_SECRET": "hunter2"})
    assert "hunter2" not in fault


def test_a_secret_value_is_never_told() -> None:
    (fault,) = faults({"LITRO_DATABASE_URI": ["postgresql://litro:hunter2@db/litro"]})
    assert "hunter2" not in fault
    assert "hunter2" not in repr(read_settings({"LITRO_DATABASE_URI": "postgresql://litro:hunter2@db/litro"}))


def test_a_draft_has_the_good_values_the_faults_and_the_strangers() -> None:
    draft = draft_settings({"LITRO_MAX_BODY": 2048, "LITRO_FSYNC": "no", "LITRO_S3_BUCKET": "b"})
    assert draft.settings == Settings(max_body=2048)
    assert draft.faults == ("LITRO_FSYNC must be one of turn, always, never, not 'no'",)
    assert draft.strangers == {"LITRO_S3_BUCKET": "b"}


def test_a_drafts_repr_has_no_strangers_value() -> None:
    assert "hunter2" not in repr(draft_settings({"LITRO_S3_SECRET": "hunter2"}))


def test_a_faulty_plugin_list_lets_no_plugin_load() -> None:
    assert draft_settings({"LITRO_PLUGINS": "s3"}).settings.plugins == ()


def test_an_unknown_setting_is_one_line() -> None:
    assert "\n" not in unknown_setting("LITRO_X")


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([f"LITRO_{name.upper()}" for name in FIELDS]), st.from_type(type) | st.text()
    )
)
def test_whatever_a_value_is_drafting_raises_nothing(config: dict[str, Any]) -> None:
    draft_settings(config)


@pytest.fixture
def limits() -> Limits:
    return Settings().limits


def test_limits_are_the_settings_of_the_same_names() -> None:
    assert Settings(max_rounds=3, tool_seconds=1.5).limits == dataclasses.replace(
        Settings().limits, max_rounds=3, tool_seconds=1.5
    )


def test_limits_are_replaced_by_name(limits: Limits) -> None:
    assert limits.replace({"max_rounds": 4}) == dataclasses.replace(limits, max_rounds=4)


def test_no_change_gives_equal_limits(limits: Limits) -> None:
    assert limits.replace({}) == limits


def test_all_faulty_limits_are_named_at_once(limits: Limits) -> None:
    with pytest.raises(ConfigurationError) as caught:
        limits.replace({"max_rounds": 0, "max_round": 4, "tool_seconds": "5"})
    assert [fault.split(",")[0].split(";")[0] for fault in caught.value.faults] == [
        "limits: no limit named 'max_round'",
        "limits: max_rounds must be a whole number from 1 to 1000",
        "limits: tool_seconds must be a number of seconds from 0.05 to 86400",
    ]


def test_a_setting_that_is_no_limit_cannot_be_changed_by_an_agent(limits: Limits) -> None:
    with pytest.raises(ConfigurationError, match="no limit named 'max_body'"):
        limits.replace({"max_body": 2048})
