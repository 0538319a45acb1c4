"""core/ceiling.py: what the agents may do at most, in force at the next call in every process."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event, select, update

from flask_litro_agent.core.audit import Audit
from flask_litro_agent.core.ceiling import (
    Ceiling,
    FixedCeiling,
    Level,
    Levels,
    Overview,
    Stored,
    agent_scope,
    tool_scope,
)
from flask_litro_agent.core.gate import NeedsApproval, Ran
from flask_litro_agent.core.tables import POLICY, audit, ceiling, epoch
from flask_litro_agent.errors import AgentError, BadRequest, LedgerAway
from flask_litro_agent.tools import Mode
from tests.databases import open_database
from tests.gate_bench import ANN, GateBench, Spy

ROOT = Path(__file__).parents[1]
SOON = 60.0
SCOPES = frozenset({"agent:desk", "tool:desk.refund", "agent:other", "tool:other.refund"})
LOOKS = """
import sys
from flask_litro_agent.core.audit import Audit
from flask_litro_agent.core.ceiling import Ceiling, Level
from tests.databases import open_database
database = open_database(sys.argv[1])
made = Ceiling(database, Audit(database), first=Level.PROPOSE, declared={}, scopes=frozenset())
for line in sys.stdin:
    levels = made.levels()
    print(levels.epoch, levels.of("desk", "refund").word, flush=True)
"""


def made(database, *, first=Level.PROPOSE, declared=()):
    return Ceiling(database, Audit(database), first=first, declared=dict(declared), scopes=SCOPES)


@pytest.fixture
def top(database):
    return made(database)


@pytest.fixture
def sqlite(tmp_path):
    return GateBench(tmp_path).database


def rows(database):
    query = select(audit.c.kind, audit.c.actor, audit.c.subject, audit.c.data).order_by(audit.c.seq)
    return [tuple(row) for row in database.read(lambda connection: connection.execute(query).all())]


# what is in force


def test_the_levels_are_those_of_the_modes():
    assert {level.word: int(level) for level in Level if level} == {
        mode.name.lower(): int(mode) for mode in Mode
    }
    assert Level.OFF < Level.READ


def test_the_first_level_is_in_force_until_somebody_sets_one(database, top):
    assert top.levels() == Levels(epoch=0, site=Level.PROPOSE, lower={})
    top.set("site", Level.READ, by="ola")
    assert made(database, first=Level.EXECUTE).levels().site is Level.READ


def test_a_site_may_be_set_higher_than_it_began(top):
    assert top.set("site", Level.EXECUTE, by="ola").of("desk", "refund") is Level.EXECUTE


levels = st.sampled_from(list(Level))


@given(levels, st.none() | levels, st.none() | levels)
def test_whatever_is_narrower_can_only_be_lower(site, agent, tool):
    stored = {agent_scope("desk"): agent, tool_scope("desk", "refund"): tool}
    lower = {scope: level for scope, level in stored.items() if level is not None}
    found = Levels(epoch=0, site=site, lower=lower)
    assert found.of("desk", "refund") == min([site, *lower.values()])
    assert found.of("desk") == min(site, site if agent is None else agent)
    assert found.of("other", "refund") == site


@pytest.mark.parametrize("scope", ["agent:desk", "tool:desk.refund"])
def test_an_agent_or_tool_is_narrowed_and_no_other(top, scope):
    top.set(scope, Level.READ, by="ola")
    found = top.levels()
    assert found.of("desk", "refund") is Level.READ
    assert found.of("other", "refund") is Level.PROPOSE
    assert found.site is Level.PROPOSE


@pytest.mark.parametrize("scope", ["agent:desk", "tool:desk.refund"])
def test_nothing_narrower_lifts_the_site(top, scope):
    assert top.set(scope, Level.EXECUTE, by="ola").of("desk", "refund") is Level.PROPOSE


@pytest.mark.parametrize("scope", ["agent:desk", "tool:desk.refund"])
def test_what_an_agent_declares_for_itself_cannot_be_lifted(database, scope):
    top = made(database, first=Level.EXECUTE, declared={scope: Level.READ})
    assert top.levels().of("desk", "refund") is Level.READ
    assert top.set(scope, Level.EXECUTE, by="ola").of("desk", "refund") is Level.READ
    assert top.set(scope, Level.OFF, by="ola").of("desk", "refund") is Level.OFF


def test_a_site_without_a_database_narrows_too():
    found = FixedCeiling(Level.EXECUTE, {"agent:desk": Level.READ}).levels()
    assert (found.of("desk", "refund"), found.of("other", "refund")) == (Level.READ, Level.EXECUTE)


def test_another_process_knows_it_at_its_next_call(database, database_uri, top):
    command = [sys.executable, "-c", LOOKS, database_uri]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as child:

        def asked():
            child.stdin.write("?\n")
            return child.stdout.readline().strip()

        told = [asked()]
        for scope, level in (
            ("tool:desk.refund", Level.READ),
            ("site", Level.OFF),
            ("site", Level.EXECUTE),
            ("tool:desk.refund", Level.EXECUTE),
        ):
            top.set(scope, level, by="ola")
            told.append(asked())
        child.stdin.close()
        assert child.wait(SOON) == 0
    assert told == ["0 propose", "1 read", "2 off", "3 read", "4 execute"]


def test_a_tool_above_it_vanishes_and_off_hides_those_that_read_too(tmp_path):
    look, ask = Spy(), Spy()
    bench = GateBench(tmp_path, look.tool("look", mode=Mode.READ), ask.tool("ask"))
    told = []
    for word in ("propose", "read", "off"):
        bench.lower("site", word)
        outcomes = [bench.call("look"), bench.call("ask")]
        told.append((list(bench.gate.tools("desk")), [type(one).__name__ for one in outcomes]))
        assert bench.gate.allows("desk", "look", actor=ANN) is (word != "off")
    assert told == [
        (["look", "ask"], [Ran.__name__, NeedsApproval.__name__]),
        (["look"], [Ran.__name__, "Refused"]),
        ([], ["Refused", "Refused"]),
    ]
    assert (look.runs, ask.runs) == (2, 0)
    assert [bench.call(name).code for name in ("look", "ask")] == ["unknown_tool"] * 2


# a change


def test_a_change_is_audited_with_what_was_before(database, top):
    top.set("agent:desk", Level.READ, by="ola")
    top.set("agent:desk", Level.OFF, by="olu")
    assert rows(database) == [
        ("ceiling", "ola", "agent:desk", b'{"after":"read","before":null}'),
        ("ceiling", "olu", "agent:desk", b'{"after":"off","before":"read"}'),
    ]


def test_a_change_says_who_and_when(database, top):
    top.set("site", Level.READ, by="ola")
    row = database.read(lambda connection: connection.execute(select(ceiling)).one())
    assert (row.scope, row.level, row.changed_by) == ("site", "read", "ola")
    assert abs(row.changed_at - database.time()) < 60_000


def test_every_change_moves_the_epoch_also_to_the_same_level(top):
    assert [top.set("site", level, by="ola").epoch for level in (Level.READ, Level.READ, Level.OFF)] == [
        1,
        2,
        3,
    ]


@pytest.mark.parametrize("lost", [audit, ceiling])
def test_level_epoch_and_audit_row_are_one_transaction(database, top, lost):
    """The table of one of them is gone: nothing of the change stays in the others."""
    lost.drop(database.engine)
    with pytest.raises(LedgerAway):
        top.set("site", Level.OFF, by="ola")
    if lost is audit:
        assert top.levels() == Levels(epoch=0, site=Level.PROPOSE, lower={})
    else:
        assert rows(database) == []
        value = select(epoch.c.value).where(epoch.c.id == POLICY)
        assert database.read(lambda connection: connection.execute(value).scalar_one()) == 0


def test_changes_at_once_each_have_an_epoch_and_a_row(database, database_uri):
    """All of them set a scope that has no row yet."""
    together, failures = threading.Barrier(4), []

    def change(level):
        own = open_database(database_uri)
        try:
            together.wait(SOON)
            for scope in ("site", "agent:desk", "agent:other"):
                made(own).set(scope, level, by=level.word)
        except Exception as error:
            failures.append(error)
        finally:
            own.engine.dispose()

    threads = [threading.Thread(target=change, args=(level,)) for level in Level]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    assert failures == []
    assert made(database).levels().epoch == 12
    assert Audit(database).verify().faults == ()
    assert len(rows(database)) == 12


def test_a_change_while_the_levels_are_read_leaves_them_an_epoch_that_no_claim_takes(
    database, database_uri, top
):
    """The epoch is read first: an older one than the levels is refused later, a newer one would be trusted."""
    other = open_database(database_uri)
    changed = []

    def change(connection, cursor, statement, *rest):
        if "litro_ceiling" in statement and not changed:
            changed.append(made(other).set("site", Level.OFF, by="ola").epoch)

    event.listen(database.engine, "before_cursor_execute", change)
    found = top.levels()
    event.remove(database.engine, "before_cursor_execute", change)
    other.engine.dispose()
    assert (changed, found.epoch) == ([1], 0)
    assert top.levels() == Levels(epoch=1, site=Level.OFF, lower={})


def test_a_level_in_the_database_that_is_none_is_no_level(sqlite):
    top = made(sqlite)
    top.set("site", Level.READ, by="ola")
    sqlite.write(lambda connection: connection.execute(update(ceiling).values(level="EXECUTE")).close())
    with pytest.raises(BadRequest, match="no level named 'EXECUTE'"):
        top.levels()


# clearing a level, and what is known about all of them


def test_a_cleared_level_is_audited_moves_the_epoch_and_lets_what_is_above_hold_again(database, top):
    top.set("agent:desk", Level.READ, by="ola")
    assert top.clear("agent:desk", by="olu") == Levels(epoch=2, site=Level.PROPOSE, lower={})
    assert rows(database)[1] == ("ceiling", "olu", "agent:desk", b'{"after":null,"before":"read"}')


def test_the_site_that_is_cleared_is_at_its_first_level_again(database):
    top = made(database, first=Level.READ)
    top.set("site", Level.EXECUTE, by="ola")
    assert top.clear("site", by="ola").site is Level.READ


def test_what_an_agent_declares_outlives_a_clearing(sqlite):
    top = made(sqlite, declared={"agent:desk": Level.READ})
    assert top.clear("agent:desk", by="ola").of("desk") is Level.READ


def test_the_level_of_a_tool_that_is_gone_can_be_cleared_and_not_be_set(sqlite):
    made(sqlite).set("tool:desk.refund", Level.OFF, by="ola")
    later = Ceiling(sqlite, Audit(sqlite), first=Level.PROPOSE, declared={}, scopes=frozenset())
    with pytest.raises(BadRequest, match="no scope named"):
        later.set("tool:desk.refund", Level.OFF, by="ola")
    assert later.clear("tool:desk.refund", by="ola").lower == {}
    with pytest.raises(BadRequest, match="no scope named"):
        later.clear("tool:desk.refund", by="ola")


def test_the_overview_has_what_is_stored_what_is_declared_and_who_changed_it(sqlite):
    top = made(sqlite, declared={"agent:other": Level.READ})
    top.set("agent:desk", Level.OFF, by="ola")
    found = top.overview()
    (stored,) = found.stored.values()
    assert (stored.scope, stored.level, stored.changed_by) == ("agent:desk", Level.OFF, "ola")
    assert (found.first, found.declared) == (Level.PROPOSE, {"agent:other": Level.READ})
    assert found.levels == top.levels()


@given(levels, st.none() | levels, st.none() | levels)
def test_the_overview_foresees_what_a_change_would_put_in_force(site, before, after):
    there = {"site": Level.PROPOSE, "agent:desk": Level.EXECUTE}
    stored = {
        name: Stored(scope=name, level=one, changed_by="x", changed_at=1) for name, one in there.items()
    }
    found = Overview(epoch=3, first=site, declared={"tool:desk.refund": Level.READ}, stored=stored)
    for scope, level in (("site", before), ("agent:desk", after)):
        without = {name: one for name, one in stored.items() if name != scope}
        made_so = (
            without if level is None else without | {scope: dataclasses.replace(stored[scope], level=level)}
        )
        assert found.levels_with(scope, level) == dataclasses.replace(found, stored=made_so).levels


def test_every_scope_is_listed_the_site_first(sqlite):
    assert made(sqlite).scopes == ("site", *sorted(SCOPES))


# a page that is older than the ceiling


def test_nobody_raises_what_another_has_lowered_meanwhile(database, top):
    seen = top.levels().epoch
    top.set("site", Level.OFF, by="ola")
    with pytest.raises(AgentError, match="load it again") as raised:
        top.set("site", Level.READ, by="olu", seen=seen)
    with pytest.raises(AgentError, match="load it again"):
        top.clear("site", by="olu", seen=seen)
    assert raised.value.status == 409
    assert top.levels() == Levels(epoch=1, site=Level.OFF, lower={})
    assert len(rows(database)) == 1


def test_lowering_goes_through_whatever_was_seen(top):
    seen = top.levels().epoch
    top.set("site", Level.READ, by="ola")
    assert top.set("site", Level.OFF, by="olu", seen=seen).site is Level.OFF


def test_whoever_has_seen_the_newest_may_raise(top):
    seen = top.set("site", Level.OFF, by="ola").epoch
    assert top.set("site", Level.READ, by="olu", seen=seen).site is Level.READ


# what is refused


@pytest.mark.parametrize("scope", ["", "Site", "agent:nobody", "tool:desk.nothing", "desk", "x" * 500])
def test_an_unknown_scope_is_answered_with_those_there_are(sqlite, scope):
    with pytest.raises(BadRequest) as raised:
        made(sqlite).set(scope, Level.READ, by="ola")
    assert str(raised.value) == (
        f"no scope named {scope[:80]!r}; there is: "
        "agent:desk, agent:other, site, tool:desk.refund, tool:other.refund"
    )
    assert rows(sqlite) == []


@pytest.mark.parametrize("word", ["", "OFF", "reed", "admin", "3", "read "])
def test_an_unknown_level_is_answered_with_those_there_are(word):
    with pytest.raises(BadRequest) as raised:
        Level.of(word)
    assert str(raised.value) == f"no level named {word!r}; there is: off, read, propose, execute"
