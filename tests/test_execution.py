"""Running foreign work: in its own thread, never longer than its time."""

import contextvars
import os
import threading
import time

import pytest

from flask_litro_agent.contracts import Stop
from flask_litro_agent.core.execution import (
    Finished,
    KeptThreads,
    Late,
    Left,
    NotStarted,
    Raised,
    WorkLeft,
    in_thread,
    inline,
)
from tests.bench import SOON, in_background, until

VARIABLE = contextvars.ContextVar("VARIABLE", default="unset")
BOTH = pytest.mark.parametrize("execute", [in_thread, inline])


@pytest.fixture
def no_thread_left():
    """Nothing has room for a stack of a petabyte: a real failure of the operating system's."""
    threading.stack_size(1 << 50)
    yield
    threading.stack_size(0)


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


def test_work_that_no_thread_can_be_started_for_has_not_run(no_thread_left):
    ran = []
    for execute in (in_thread, KeptThreads()):
        found = execute(ran.append, 5, Stop(), nobody)
        assert isinstance(found, NotStarted)
        assert isinstance(found.error, RuntimeError)
    assert ran == []


def test_a_thread_that_begins_after_it_was_given_up_runs_nothing(monkeypatch):
    """Who says that nothing has run makes sure that nothing will."""
    begun = []

    class Late(threading.Thread):
        def start(self):
            begun.append(self._target)
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading, "Thread", Late)
    ran = []
    assert isinstance(in_thread(ran.append, 5, Stop(), nobody), NotStarted)
    begun[0]()
    assert ran == []


def test_a_thread_that_began_although_starting_it_failed_is_waited_for(monkeypatch):
    entered = threading.Event()

    class Odd(threading.Thread):
        def start(self):
            super().start()
            assert entered.wait(SOON)
            raise MemoryError("after the fact")

    monkeypatch.setattr(threading, "Thread", Odd)
    assert in_thread(lambda report: entered.set() or 7, SOON, Stop(), nobody) == Finished(7)


class TestKeptThreads:
    def test_it_runs_work_as_a_new_thread_does(self):
        kept = KeptThreads()
        assert kept(lambda report: 7, 5, Stop(), nobody) == Finished(7)
        error = SystemExit(3)
        assert kept(lambda report: _raise(error), 5, Stop(), nobody) == Raised(error)
        assert kept(lambda report: VARIABLE.get(), 5, Stop(), nobody) == Finished("unset")

    def test_a_thread_is_used_again(self):
        kept = KeptThreads()
        names = {kept(lambda report: threading.get_ident(), 5, Stop(), nobody).value}
        until(lambda: any(kept._waiting()))
        names.add(kept(lambda report: threading.get_ident(), 5, Stop(), nobody).value)
        assert len(names) == 1

    def test_work_over_its_time_keeps_its_thread_and_the_next_gets_another(self):
        kept, go = KeptThreads(), threading.Event()
        assert kept(lambda report: go.wait(60), 0.05, Stop(), nobody) == Late()
        assert kept(lambda report: 7, 5, Stop(), nobody) == Finished(7)
        go.set()
        assert until(lambda: len(kept._waiting()) == 2)

    def test_a_thread_without_work_ends(self):
        kept = KeptThreads(idle_seconds=0.05)
        thread = kept(lambda report: threading.current_thread(), 5, Stop(), nobody).value
        thread.join(SOON)
        assert not thread.is_alive()
        assert kept(lambda report: 7, 5, Stop(), nobody) == Finished(7)

    def test_many_at_once_and_threads_that_end_meanwhile_lose_nothing(self):
        kept = KeptThreads(idle_seconds=0.001)

        def ask():
            return [kept(lambda report, n=n: n, 30, Stop(), nobody) for n in range(200)]

        asking = [in_background(ask) for _ in range(8)]
        for thread, _ in asking:
            thread.join(60)
        assert [found for _, found in asking] == [[[Finished(n) for n in range(200)]]] * 8

    def test_a_fork_has_none_of_its_parents_threads(self):
        kept = KeptThreads()
        kept(lambda report: 7, 5, Stop(), nobody)
        until(lambda: any(kept._waiting()))
        child = os.fork()
        if child == 0:
            os._exit(0 if kept(lambda report: 7, 5, Stop(), nobody) == Finished(7) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _raise(error):
    raise error


def test_work_over_its_time_is_late():
    done = threading.Event()
    assert in_thread(lambda report: done.wait(60), 0.05, Stop(), nobody) == Late()
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

    slow = in_thread(work, 0.1, Stop(), lambda value: time.sleep(0.002))
    assert slow == Late()
    until(lambda: ended)


def test_a_stop_leaves_the_work_at_once():
    stop, done = Stop(), threading.Event()
    threading.Timer(0.05, stop.set).start()
    assert in_thread(lambda report: done.wait(60), 60, stop, nobody) == Left()
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
