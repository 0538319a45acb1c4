"""An agents folder as a package of its own: imports, isolation, and where a failure is said to be."""

from __future__ import annotations

import shutil
import sys
import warnings
from pathlib import Path

import pytest

from flask_litro_agent.agent_files import load_agents
from tests.agent_files.samples import AGENT, IMPORTS, TOOL, Write, agent_with, answer, faults_of


def test_tools_share_code_by_relative_imports(demo: Path, write: Write) -> None:
    write("_shared/orders.py", "class OrderId(str): pass")
    write("demo/tools/_units.py", "UNIT = 'C'")
    write(
        "demo/tools/find_order.py",
        "from ..._shared.orders import OrderId\nfrom ._units import UNIT\n"
        + TOOL.replace('"sunny"', "f'{OrderId(7)}{UNIT}'"),
    )
    assert answer(load_agents(demo).agents["demo"], "find_order") == "7C"


def test_agents_share_code_by_relative_imports(demo: Path, write: Write) -> None:
    write("_shared/model.py", "def demo_model(): return 'openai:shared'")
    imports = "from .._shared.model import demo_model\n"
    write("demo/agent.py", imports + AGENT.replace('"scripted:demo"', "demo_model()"))
    assert load_agents(demo).agents["demo"].agent.model == "openai:shared"


def test_shared_code_is_one_module_for_all_agents_of_a_folder(demo: Path, write: Write) -> None:
    write("_shared/marks.py", "class Mark: pass")
    for name in ("demo", "my-agent"):
        write(f"{name}/agent.py", AGENT)
        write(
            f"{name}/tools/mark.py", "from ..._shared.marks import Mark\n" + TOOL.replace('"sunny"', "Mark")
        )
    agents = load_agents(demo).agents
    assert answer(agents["demo"], "mark") is answer(agents["my-agent"], "mark")


def test_two_folders_of_the_same_name_share_nothing(demo: Path, write: Write, tmp_path: Path) -> None:
    write("_shared/marks.py", "WHO = 'first'")
    write("demo/tools/who.py", "from ..._shared import marks\n" + TOOL.replace('"sunny"', "marks.WHO"))
    other = tmp_path / "other" / "agents"
    shutil.copytree(demo, other)
    (other / "_shared" / "marks.py").write_text("WHO = 'the second'")
    first, second = load_agents(demo).agents["demo"], load_agents(other).agents["demo"]
    assert (answer(first, "who"), answer(second, "who")) == ("first", "the second")


def test_loading_again_gives_fresh_modules(demo: Path, write: Write) -> None:
    write("_shared/marks.py", "WHO = 'old'")
    write("demo/tools/who.py", "from ..._shared import marks\n" + TOOL.replace('"sunny"', "marks.WHO"))
    before = load_agents(demo).agents["demo"]
    write("_shared/marks.py", "WHO = 'newer'")
    write("demo/tools/added.py", TOOL)
    after = load_agents(demo).agents["demo"]
    assert (answer(before, "who"), answer(after, "who")) == ("old", "newer")
    assert list(after.tools) == ["added", "get_weather", "who"]


def test_a_mended_folder_loads_in_the_same_process(demo: Path, write: Write) -> None:
    write("demo/tools/get_weather.py", "raise RuntimeError('not yet')")
    assert len(faults_of(demo)) == 1
    write("demo/tools/get_weather.py", TOOL)
    assert list(load_agents(demo).agents) == ["demo"]


def test_the_search_path_and_the_names_of_others_stay_as_they_are(demo: Path) -> None:
    path, names = list(sys.path), set(sys.modules)
    load_agents(demo)
    assert sys.path == path
    (package,) = {name.partition(".")[0] for name in set(sys.modules) - names}
    assert package.startswith("_litro_agents_")


def test_a_folder_reached_through_a_link_is_the_folder_itself(demo: Path, tmp_path: Path) -> None:
    (tmp_path / "current").symlink_to(demo)
    loaded = load_agents(tmp_path / "current")
    assert loaded.folder == demo
    assert loaded.agents["demo"].tools["get_weather"].source == f"{demo}/demo/tools/get_weather.py:4"


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("x = 1", ": defines no 'agent'; write agent = Agent(model=...)"),
        ("\nagent: object = 'me'", ":2: 'agent' must be an Agent(...), not a str"),
        ("def agent(): pass", ":1: 'agent' must be an Agent(...), not a function"),
        (
            "import agent_that_is_not_there",
            ":1: ModuleNotFoundError: No module named 'agent_that_is_not_there'",
        ),
        ("\n\nagent = (", ":3: syntax error: '(' was never closed"),
        ("if True:\nx = 1", ":2: syntax error: expected an indented block after 'if' statement on line 1"),
        ("import json\ncompile('a b', '<text>', 'exec')", ":2: SyntaxError: invalid syntax"),
        ("x = 1\n\nraise SystemExit(3)", ":3: SystemExit: 3"),
        ("raise SystemExit", ":1: SystemExit"),
        ("class Stop(BaseException): ...\nraise Stop('x')", ":2: Stop: x"),
        ("raise ValueError('two\\nlines \\x1b[31m red')", ":1: ValueError: two lines ?[31m red"),
        ("def inner():\n    1 / 0\ninner()", ":2: ZeroDivisionError: division by zero"),
        (
            "import json\njson.loads('{')",
            ":2: JSONDecodeError: Expecting property name enclosed in double quotes",
        ),
        ("from flask_litro_agent.agents import Agent\nagent = Agent()", ":2: Agent(...) leaves out model"),
        (
            "from flask_litro_agent.agents import Agent\nagent = Agent(model='a:b', colour=1)",
            ":2: TypeError: Agent.__init__() got an unexpected keyword argument 'colour'",
        ),
        (
            "from flask_litro_agent.agents import Agent\n\nagent = Agent(\n  model='gpt',\n)",
            ":3: model must be a provider or 'name:model', such as 'openai:gpt-5-mini', not 'gpt'",
        ),
        ("class E(Exception):\n  __str__ = None\nraise E", ":3: E: (it cannot describe itself)"),
        ("from .._shared.gone import x", ":1: ModuleNotFoundError: No module named 'agents._shared'"),
        ("import sys; sys.modules[__name__] = None", ": is hidden by another module of the same name"),
    ],
)
def test_a_mistake_in_agent_py_is_one_sentence(demo: Path, write: Write, code: str, fault: str) -> None:
    write("demo/agent.py", code)
    (said,) = faults_of(demo)
    assert said.startswith(f"agents/demo/agent.py{fault}")
    assert "\n" not in said


def test_every_fault_of_an_agent_is_a_sentence_of_its_own(demo: Path, write: Write) -> None:
    write("demo/agent.py", agent_with("suggestions='Hi', limits={'rounds': 1}"))
    assert [fault.partition(";")[0] for fault in faults_of(demo)] == [
        "agents/demo/agent.py:3: suggestions must be a list of texts, not a value of type str",
        "agents/demo/agent.py:3: limits: no limit named 'rounds'",
    ]


def test_a_file_that_is_not_utf_8_is_a_syntax_error(demo: Path, write: Write) -> None:
    write("demo/tools/get_weather.py", b"x = 'caf\xe9'\n")
    (said,) = faults_of(demo)
    assert said.startswith("agents/demo/tools/get_weather.py")
    assert "syntax error" in said


def test_a_long_message_is_cut(demo: Path, write: Write) -> None:
    write("demo/agent.py", "raise RuntimeError('x' * 100_000)")
    (said,) = faults_of(demo)
    assert said.startswith("agents/demo/agent.py:1: RuntimeError: xxx")
    assert len(said) < 400


def test_a_mistake_in_shared_code_is_told_once_at_its_own_line(demo: Path, write: Write) -> None:
    write("_shared/stock.py", "\n\nraise LookupError('no stock')")
    for name in ("demo/tools/get_weather.py", "demo/tools/other.py"):
        write(name, "from ..._shared import stock\n" + TOOL)
    assert faults_of(demo) == ["agents/_shared/stock.py:3: LookupError: no stock"]


def test_a_fault_inside_a_library_is_told_at_the_line_that_called_it(demo: Path, write: Write) -> None:
    write("demo/tools/get_weather.py", IMPORTS + "\nclass Params(Schema):\n    city = fields.List(3)\n")
    (said,) = faults_of(demo)
    assert said.startswith("agents/demo/tools/get_weather.py:5: ValueError: ")


def test_a_package_of_the_same_name_does_not_stand_in_for_a_file(demo: Path, write: Write) -> None:
    write("demo/agent/__init__.py", AGENT)
    assert faults_of(demo) == ["agents/demo/agent.py: is hidden by another module of the same name"]


def test_a_warning_of_the_compiler_is_not_given_a_second_time(demo: Path, write: Write) -> None:
    write("demo/tools/get_weather.py", TOOL + "PATTERN = '\\d'\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_agents(demo)
    assert len(caught) == 1


def test_an_interrupt_from_the_keyboard_is_no_fault(demo: Path, write: Write) -> None:
    write("demo/agent.py", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        load_agents(demo)
