from __future__ import annotations

import inspect
import re

import pytest

from flask_litro_agent import errors
from flask_litro_agent.errors import AgentError, ConfigurationError, LitroError

CLASSES = [
    value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, Exception)
]
CLIENT_ERRORS = [one for one in CLASSES if issubclass(one, AgentError)]


def drawn_tree() -> set[tuple[str, str]]:
    """The edges (class, base) of the tree that the module's docstring draws."""
    edges, path = set(), ["LitroError"]
    for branch in re.finditer(r"^    ([│ ]*[├└])── (\w+)", errors.__doc__ or "", re.MULTILINE):
        depth = len(branch[1]) // 4 + 1
        edges.add((branch[2], path[depth - 1]))
        path[depth:] = [branch[2]]
    return edges


def test_the_drawn_tree_is_the_real_one() -> None:
    assert drawn_tree() == {
        (one.__name__, one.__bases__[0].__name__) for one in CLASSES if one is not LitroError
    }


def test_the_drawn_statuses_are_the_real_ones() -> None:
    drawn = dict(re.findall(r"── (\w+) +(\d{3})", errors.__doc__ or ""))
    assert drawn == {one.__name__: str(one.status) for one in CLIENT_ERRORS if one is not AgentError}


def test_the_public_names_are_complete_and_sorted() -> None:
    assert errors.__all__ == sorted(one.__name__ for one in CLASSES)


def test_everything_is_a_litro_error() -> None:
    assert all(issubclass(one, LitroError) for one in CLASSES)


@pytest.mark.parametrize("error", CLIENT_ERRORS)
def test_a_client_error_has_one_sentence_a_status_and_headers(error: type[AgentError]) -> None:
    raised = error("that is how it is")
    assert raised.message == str(raised)
    assert "that is how it is" in raised.message
    assert 400 <= raised.status <= 599
    assert all(isinstance(value, str) for value in raised.headers.values())


def test_a_client_error_may_carry_another_status_and_the_message_of_each_field() -> None:
    raised = AgentError("no", status=418, errors={"text": ["Missing data."]})
    assert (raised.status, raised.errors) == (418, {"text": ["Missing data."]})
    assert AgentError.status == 500


def test_a_busy_session_names_its_turn_in_sentence_and_header() -> None:
    raised = errors.SessionBusy("turn_7")
    assert raised.message == "a turn is running in this session: turn_7"
    assert raised.headers == {"Litro-Turn": "turn_7"}


def test_a_busy_session_without_a_turn_names_none() -> None:
    raised = errors.SessionBusy(None)
    assert raised.message == "a turn is running in this session"
    assert raised.headers == {}


def test_overload_says_when_to_ask_again() -> None:
    assert errors.Overloaded("full", retry_after=7).headers == {"Retry-After": "7"}
    assert errors.Overloaded("full").headers == {"Retry-After": "5"}


def test_one_configuration_fault_is_one_sentence() -> None:
    raised = ConfigurationError("set SECRET_KEY")
    assert (raised.faults, str(raised)) == (("set SECRET_KEY",), "set SECRET_KEY")


def test_configuration_faults_are_told_together() -> None:
    raised = ConfigurationError(fault for fault in ("one", "two"))
    assert (raised.faults, str(raised)) == (("one", "two"), "one\ntwo")


def test_refused_arguments_carry_the_message_of_every_field() -> None:
    raised = errors.InvalidArguments("the arguments do not fit", {"city": ["Missing data."]})
    assert (str(raised), raised.errors) == ("the arguments do not fit", {"city": ["Missing data."]})
