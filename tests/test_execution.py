"""Running foreign work: in its own thread, never longer than its time."""

import contextvars
import threading
import time

import pytest

from flask_litro_agent.contracts import Stop
from flask_litro_agent.core.execution import Finished, Late, Left, Raised, WorkLeft, in_thread, inline
from tests.bench import until

VARIABLE = contextvars.ContextVar("VARIABLE", default="unset")
BOTH = pytest.mark.parametrize("execute", [in_thread, inline])


def nobody(value):
    raise AssertionError(f"reported {value!r}")


@BOTH
def test_a_value_comes_back(execute):
    assert execute(lambda report: 7, 5, Stop(), nobody) == Finished(7)


@BOTH
@pytest.mark.parametrize(
    "error", [ValueError("no"), SystemExit(3), KeyboardInterrupt(), GeneratorExit()], ids=repr
)
def test_everything_raised_comes_back_as_a_value(execute, error):
    def work(report):
        raise error

    assert execute(work, 5, Stop(), nobody) == Raised(error)


@BOTH
def test_the_callers_context_variables_stay_outside(execute):
    VARIABLE.set("the caller's")
    assert execute(lambda report: VARIABLE.get(), 5, Stop(), nobody) == Finished("unset")
    assert execute(lambda report: VARIABLE.set("the work's") and None, 5, Stop(), nobody) == Finished(None)
    assert VARIABLE.get() == "the caller's"


@BOTH
def test_reports_arrive_in_order(execute):
    seen = []

    def work(report):
        for number in range(300):
            report(number)

    assert execute(work, 20, Stop(), seen.append) == Finished(None)
    assert seen == list(range(300))


def test_work_runs_in_a_thread_of_its_own_and_inline_does_not():
    here = threading.get_ident()
    assert in_thread(lambda report: threading.get_ident(), 5, Stop(), nobody).value != here
    assert inline(lambda report: threading.get_ident(), 5, Stop(), nobody).value == here


def test_work_over_its_time_is_late():
    done = threading.Event()
    began = time.monotonic()
    assert in_thread(lambda report: done.wait(20), 0.05, Stop(), nobody) == Late()
    assert time.monotonic() - began < 3
    done.set()


def test_reports_without_end_do_not_prolong_the_time():
    """Control: a waiter that looks at its clock only when it waits would go on until the reports end."""
    ended = []

    def work(report):
        try:
            while True:
                report(1)
        except WorkLeft:
            ended.append(True)
            raise

    began = time.monotonic()
    slow = in_thread(work, 0.1, Stop(), lambda value: time.sleep(0.002))
    assert slow == Late()
    assert time.monotonic() - began < 3
    until(lambda: ended)


def test_a_stop_leaves_the_work_at_once():
    stop, done = Stop(), threading.Event()
    threading.Timer(0.05, stop.set).start()
    began = time.monotonic()
    assert in_thread(lambda report: done.wait(20), 20, stop, nobody) == Left()
    assert time.monotonic() - began < 3
    done.set()


@BOTH
def test_a_stop_that_came_before_leaves_the_value(execute):
    stop = Stop()
    stop.set()
    assert execute(lambda report: 7, 5, stop, nobody) == Left()


def test_work_that_was_left_behind_learns_it_at_its_next_report():
    stop, raised = Stop(), []

    def work(report):
        stop.wait(20)
        try:
            while True:
                report(1)
                time.sleep(0.005)
        except WorkLeft as error:
            raised.append(error)

    threading.Timer(0.05, stop.set).start()
    assert in_thread(work, 20, stop, lambda value: None) == Left()
    until(lambda: raised)


def test_no_thread_is_left_after_finished_work():
    for _ in range(20):
        in_thread(lambda report: report(1), 5, Stop(), lambda value: None)
    until(lambda: all(thread.name != "litro-tool" for thread in threading.enumerate()))


def test_nothing_stays_registered_at_the_stop():
    stop = Stop()
    in_thread(lambda report: 1, 5, stop, nobody)
    assert stop._callbacks == {}


def test_what_the_reader_raises_reaches_the_caller_and_frees_the_work():
    freed = []

    def work(report):
        try:
            while True:
                report(1)
        finally:
            freed.append(True)

    def broken(value):
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        in_thread(work, 20, Stop(), broken)
    until(lambda: freed)
