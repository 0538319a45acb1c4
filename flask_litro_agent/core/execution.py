"""Running one piece of foreign work: in a thread of its own, left behind when it outlives its time.

The work gets a ``report`` function; what it reports arrives in the caller's thread, in order, while it waits.
A work that is left behind learns it at its next report, which raises.
"""

from __future__ import annotations

import contextvars
import os
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from flask_litro_agent.contracts import Stop

__all__ = [
    "Executor",
    "Finished",
    "KeptThreads",
    "Late",
    "Left",
    "NotStarted",
    "Raised",
    "Run",
    "Work",
    "in_thread",
    "inline",
]

Report = Callable[[Any], None]
Work = Callable[[Report], Any]
_WAITING_REPORTS = 64


@dataclass(frozen=True, slots=True)
class Finished:
    """The work returned this."""

    value: Any


@dataclass(frozen=True, slots=True)
class Raised:
    """The work raised this."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class Late:
    """The time is over; the work goes on alone and its value is dropped."""


@dataclass(frozen=True, slots=True)
class Left:
    """Somebody asked to stop; the work goes on alone and its value is dropped."""


@dataclass(frozen=True, slots=True)
class NotStarted:
    """There was no thread for the work: nothing of it has run, and nothing of it will."""

    error: Exception


Run = Finished | Raised | Late | Left | NotStarted


class WorkLeft(Exception):
    """Raised in a work that reports after it was left behind."""


Executor = Callable[[Work, float, Stop, Report], Run]
Start = Callable[[Callable[[], None]], None]


def in_thread(work: Work, seconds: float, stop: Stop, on_report: Report) -> Run:
    """Run the work in a new thread (a greenlet under gevent) and wait for it, for a stop, or for the time."""
    return _elsewhere(_new_thread, work, seconds, stop, on_report)


class KeptThreads:
    """Runs work as ``in_thread`` does, in threads that wait some seconds for the next one: a fraction of the price."""

    def __init__(self, idle_seconds: float = 5.0) -> None:
        self._idle_seconds = idle_seconds
        self._idle: dict[int, list[queue.SimpleQueue[Callable[[], None]]]] = {}

    def __call__(self, work: Work, seconds: float, stop: Stop, on_report: Report) -> Run:
        return _elsewhere(self._start, work, seconds, stop, on_report)

    def _start(self, enter: Callable[[], None]) -> None:
        try:
            self._waiting().pop().put(enter)
        except IndexError:
            inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
            inbox.put(enter)
            threading.Thread(target=self._serve, args=(inbox,), daemon=True, name="litro-kept").start()

    def _waiting(self) -> list[queue.SimpleQueue[Callable[[], None]]]:
        # a fork has its parent's dict and none of its threads; setdefault is one step for all threads
        return self._idle.setdefault(os.getpid(), [])

    def _serve(self, inbox: queue.SimpleQueue[Callable[[], None]]) -> None:
        waiting = self._waiting()
        while True:
            try:
                enter = inbox.get(timeout=self._idle_seconds)
            except queue.Empty:
                with suppress(ValueError):  # it was just taken: work is on its way
                    return waiting.remove(inbox)
                continue
            enter()
            waiting.append(inbox)


def inline(work: Work, seconds: float, stop: Stop, on_report: Report) -> Run:
    """Run the work in this thread, for tests whose transactions belong to it; the time is not enforced."""
    if stop.is_set:
        return Left()
    try:
        return Finished(contextvars.Context().run(work, on_report))
    except BaseException as error:
        return Raised(error)


class _Room:
    """What a work and the thread that waits for it share."""

    def __init__(self) -> None:
        self._door = threading.Lock()
        self.inbox: queue.Queue[Any] = queue.Queue(_WAITING_REPORTS)
        self.left = threading.Event()

    def enter(self) -> bool:
        """Let one of two in: the work, or whoever says that it never ran."""
        return self._door.acquire(blocking=False)

    def put(self, item: Any) -> None:
        while not self.left.is_set():
            try:
                return self.inbox.put(item, timeout=0.5)
            except queue.Full:
                continue
        raise WorkLeft("nobody waits for this any more")

    def wake(self) -> None:
        try:
            self.inbox.put_nowait(None)
        except queue.Full:
            return  # whoever reads the next item looks at the stop as well


@dataclass(frozen=True, slots=True)
class _Reported:
    value: Any


def _elsewhere(start: Start, work: Work, seconds: float, stop: Stop, on_report: Report) -> Run:
    """Have the work run where ``start`` runs what it is given, and wait for it, for a stop, or for the time."""
    room = _Room()
    forget = stop.on(room.wake)
    try:
        try:
            start(lambda: _enter(work, room))
        except Exception as error:  # RuntimeError: can't start new thread; or no memory for one
            if room.enter():
                return NotStarted(error)
        return _wait(room, time.monotonic() + seconds, stop, on_report)
    finally:
        forget()
        room.left.set()


def _new_thread(enter: Callable[[], None]) -> None:
    threading.Thread(target=enter, daemon=True, name="litro-tool").start()


def _enter(work: Work, room: _Room) -> None:
    run: Run
    if not room.enter():
        return
    try:
        run = Finished(contextvars.Context().run(work, lambda value: room.put(_Reported(value))))
    except BaseException as error:  # also SystemExit and GreenletExit: a tool must not end its waiter's turn
        run = Raised(error)
    try:
        room.put(run)
    except WorkLeft:
        return


def _wait(room: _Room, deadline: float, stop: Stop, on_report: Report) -> Run:
    while not stop.is_set:
        left = max(0.0, deadline - time.monotonic())
        try:
            item = room.inbox.get(timeout=left)
        except queue.Empty:
            return Late()
        match item:
            case _Reported() if not left:
                return Late()  # a work that reports without end must not live on its reports
            case _Reported(value):
                on_report(value)
            case Finished() | Raised():
                return item
    return Left()
