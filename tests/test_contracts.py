from __future__ import annotations

import dataclasses
import threading

import pytest

from flask_litro_agent import contracts
from flask_litro_agent.contracts import Actor, Stop, Verdict

# actor


@pytest.mark.parametrize(
    ("held", "permission", "holds"),
    [
        ("orders:read", "orders:read", True),
        ("orders:read", "orders:write", False),
        ("orders:read", "orders:reads", False),
        ("orders:read", "orders", False),
        ("orders:read", "Orders:read", False),
        ("orders:*", "orders:read", True),
        ("orders:*", "orders:own:read", True),
        ("orders:*", "ordersx:read", False),
        ("orders:*", "orders", False),
        ("orders:*", "shop:orders:read", False),
        ("*", "orders:read", True),
        ("*:read", "orders:read", False),
        ("orders:*:read", "orders:own:read", False),
        ("orders:.", "orders:x", False),
        ("orders:[a-z]*", "orders:read", False),
        ("", "orders:read", False),
    ],
)
def test_a_permission_is_held_by_name_or_by_a_pattern_that_ends_in_a_star(
    held: str, permission: str, holds: bool
) -> None:
    assert Actor("7", "Ann", frozenset({"other", held})).may(permission) is holds


def test_an_actor_without_permissions_may_nothing() -> None:
    assert not Actor("7", "Ann").may("orders:read")


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Actor)])
def test_an_actor_cannot_be_changed(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(Actor("7", "Ann"), name, "other")


def test_no_two_actors_share_their_data() -> None:
    assert Actor("7", "Ann").data is not Actor("8", "Ben").data


# verdict


def test_a_verdict_has_one_of_three_effects() -> None:
    assert Verdict.allow() == Verdict("allow")
    assert Verdict.deny("not yours") == Verdict("deny", "not yours")
    assert Verdict.abstain() == Verdict("abstain")


# stop


def test_a_stop_is_not_set_before_somebody_asks() -> None:
    stop = Stop()
    assert not stop.is_set
    assert not stop.wait(0)


def test_a_stop_stays_set() -> None:
    stop = Stop()
    stop.set()
    stop.set()
    assert stop.is_set
    assert stop.wait(0)


def test_every_callback_runs_once_however_often_and_from_wherever_a_stop_is_set() -> None:
    stop, heard, start = Stop(), list[int](), threading.Barrier(8)
    for number in range(100):
        stop.on(lambda number=number: heard.append(number))

    def set_together() -> None:
        start.wait(10)
        stop.set()

    threads = [threading.Thread(target=set_together) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(heard) == list(range(100))


def test_callbacks_run_in_their_order_in_the_thread_that_sets() -> None:
    stop, heard = Stop(), list[tuple[int, int]]()
    for number in range(3):
        stop.on(lambda number=number: heard.append((number, threading.get_ident())))
    thread = threading.Thread(target=stop.set)
    thread.start()
    thread.join(10)
    assert [number for number, _ in heard] == [0, 1, 2]
    assert {ident for _, ident in heard}.isdisjoint({threading.get_ident()})


def test_who_does_not_wait_is_not_held_up_by_a_callback_that_blocks() -> None:
    stop, done, heard = Stop(), threading.Event(), threading.Event()
    stop.on(lambda: heard.set() if done.wait(30) else None)
    stop.set(wait=False)
    assert stop.is_set
    assert not heard.is_set()
    done.set()
    assert heard.wait(10)


def test_a_callback_that_comes_late_runs_at_once() -> None:
    stop, heard = Stop(), list[str]()
    stop.set()
    stop.on(lambda: heard.append("late"))
    assert heard == ["late"]


def test_a_callback_that_was_taken_back_does_not_run() -> None:
    stop, heard = Stop(), list[str]()
    stop.on(lambda: heard.append("kept"))
    forget = stop.on(lambda: heard.append("taken back"))
    forget()
    forget()
    stop.set()
    assert heard == ["kept"]


def test_taking_a_callback_back_after_the_stop_does_nothing() -> None:
    stop, heard = Stop(), list[str]()
    early = stop.on(lambda: heard.append("early"))
    stop.set()
    late = stop.on(lambda: heard.append("late"))
    early()
    late()
    assert heard == ["early", "late"]


def test_the_same_callback_may_stand_twice_and_be_taken_back_once() -> None:
    stop, heard = Stop(), list[str]()

    def callback() -> None:
        heard.append("heard")

    stop.on(callback)
    stop.on(callback)()
    stop.set()
    assert heard == ["heard"]


def test_a_callback_that_raises_stops_neither_the_others_nor_the_caller() -> None:
    stop, heard = Stop(), list[str]()

    def broken() -> None:
        raise OSError("already closed")

    stop.on(broken)
    stop.on(lambda: heard.append("after"))
    stop.set()
    stop.on(broken)
    assert heard == ["after"]


def test_a_callback_may_use_the_stop_itself() -> None:
    stop, heard = Stop(), list[str]()

    def callback() -> None:
        stop.set()
        forget()
        stop.on(lambda: heard.append("inner"))

    forget = stop.on(callback)
    stop.set()
    assert heard == ["inner"]


def test_a_waiting_thread_hears_the_stop() -> None:
    stop, heard = Stop(), list[bool]()
    thread = threading.Thread(target=lambda: heard.append(stop.wait(30)))
    thread.start()
    stop.set()
    thread.join(10)
    assert heard == [True]


def test_no_callback_is_lost_between_on_and_set() -> None:
    for _ in range(200):
        stop, heard, start = Stop(), list[str](), threading.Barrier(2)

        def register(stop: Stop = stop, heard: list[str] = heard, start: threading.Barrier = start) -> None:
            start.wait(10)
            stop.on(lambda: heard.append("heard"))

        thread = threading.Thread(target=register)
        thread.start()
        start.wait(10)
        stop.set()
        thread.join(10)
        assert heard == ["heard"]


# the page


def test_the_public_names_are_sorted_and_there() -> None:
    assert contracts.__all__ == sorted(contracts.__all__)
    assert all(hasattr(contracts, name) for name in contracts.__all__)


VALUES = [value for value in vars(contracts).values() if dataclasses.is_dataclass(value)]


@pytest.mark.parametrize("value", VALUES)
def test_what_crosses_a_wall_is_frozen_and_slotted(value: type) -> None:
    assert value.__dataclass_params__.frozen
    assert "__slots__" in vars(value)
