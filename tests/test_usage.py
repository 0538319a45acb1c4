"""core/usage.py: what turns used, by day, agent, actor and model, summed up by any number of processes at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import select

from flask_litro_agent.core.tables import usage
from flask_litro_agent.core.usage import DAY_MS, Usage, UsageRow, Used
from flask_litro_agent.errors import LedgerAway
from flask_litro_agent.installation import EXTENSION
from tests.asking import eventually, post, rounds
from tests.databases import frozen
from tests.proposal_site import proposal_site
from tests.usage_child import ONE, ROW, WORKERS

ROOT = Path(__file__).parents[1]
EACH = 40
TODAY = 20_000
HERE = pytest.mark.parametrize("database_uri", ["sqlite"], indirect=True)


@pytest.fixture
def clock(database):
    return frozen(database, TODAY * DAY_MS + 1)


def rows(database):
    query = select(usage).order_by(usage.c.day, usage.c.agent, usage.c.actor, usage.c.model)
    return [
        UsageRow(**row)
        for row in database.read(lambda connection: connection.execute(query).mappings().all())
    ]


def row(day=TODAY, *, turns=1, given=10, **names):
    return UsageRow(day=day, turns=turns, input_tokens=given, output_tokens=turns, **{**ROW, **names})


def test_the_first_turn_of_a_day_makes_its_row_and_the_next_ones_add_to_it(clock):
    kept = Usage(clock)
    kept.add(Used(turns=1, failed=1, input_tokens=1, output_tokens=2, cached_tokens=3), **ROW)
    kept.add(Used(turns=2, failed=0, input_tokens=10, output_tokens=20, cached_tokens=30), **ROW)
    (found,) = rows(clock)
    assert found == UsageRow(
        day=TODAY, turns=3, failed=1, input_tokens=11, output_tokens=22, cached_tokens=33, **ROW
    )


def test_day_agent_actor_and_model_each_have_rows_of_their_own(clock):
    kept = Usage(clock)
    for other in ({}, {"agent": "shop"}, {"actor": "Ann"}, {"model": "m2"}):
        kept.add(ONE, **{**ROW, **other})
    clock.move(DAY_MS)
    kept.add(ONE, **ROW)
    assert rows(clock) == [
        row(actor="Ann"),
        row(),
        row(model="m2"),
        row(agent="shop"),
        row(day=TODAY + 1),
    ]


def test_a_day_begins_at_midnight_utc_by_the_databases_clock(clock):
    clock.ms = TODAY * DAY_MS - 1
    Usage(clock).add(ONE, **ROW)
    clock.move(1)
    Usage(clock).add(ONE, **ROW)
    assert [found.day for found in rows(clock)] == [TODAY - 1, TODAY]


def test_more_tokens_than_32_bits_can_count_are_counted(clock):
    for _ in range(2):
        Usage(clock).add(Used(turns=1, input_tokens=3_000_000_000), **ROW)
    assert rows(clock)[0].input_tokens == 6_000_000_000


def test_a_models_name_that_is_too_long_is_cut(clock):
    Usage(clock).add(ONE, **{**ROW, "model": "m" * 300})
    assert rows(clock)[0].model == "m" * 128


@pytest.mark.server
def test_processes_that_add_to_one_row_at_once_lose_nothing(database, database_uri):
    run(database_uri, "real")
    (found,) = rows(database)
    total = WORKERS * EACH
    assert (found.turns, found.input_tokens, found.output_tokens) == (total, 10 * total, total)


@pytest.mark.server
def test_control_reading_first_and_writing_then_loses_turns(database, database_uri):
    total = 1 + WORKERS * EACH
    for _ in range(10):
        run(database_uri, "control")
        if rows(database)[0].turns < total:
            return
        database.write(lambda connection: connection.execute(usage.delete()).close())
    pytest.fail("the control never lost anything: the test above could not see it")


def run(uri, variant):
    command = [sys.executable, "-m", "tests.usage_child", uri, variant, str(EACH)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=120)


class TestReading:
    def test_so_many_days_are_read_today_included_oldest_first(self, clock):
        for _ in range(4):
            Usage(clock).add(ONE, **ROW)
            clock.move(DAY_MS)
        clock.move(-DAY_MS)
        assert [found.day for found in Usage(clock).since(2)] == [TODAY + 2, TODAY + 3]


class TestPruning:
    def test_days_that_began_long_enough_ago_go(self, clock):
        for _ in range(3):
            Usage(clock).add(ONE, **ROW)
            clock.move(DAY_MS)
        assert Usage(clock).prune(days=2) == 2
        assert [found.day for found in rows(clock)] == [TODAY + 2]

    def test_all_of_one_person_goes_with_no_days(self, clock):
        Usage(clock).add(ONE, **ROW)
        Usage(clock).add(ONE, **{**ROW, "actor": "bob"})
        assert Usage(clock).prune(days=0, actor="ann") == 1
        assert [found.actor for found in rows(clock)] == ["bob"]


@HERE
def test_a_database_that_is_away_says_so(database):
    usage.drop(database.engine)
    with pytest.raises(LedgerAway):
        Usage(database).add(ONE, **ROW)


class TestASite:
    """A turn over HTTP is in the books soon after its stream has ended."""

    @pytest.fixture
    def app(self, tmp_path):
        return proposal_site(tmp_path)

    def used(self, app):
        return app.extensions[EXTENSION].books.usage.since(1)

    def test_a_turn_counts_with_its_tokens_and_the_model_that_answered(self, app):
        asked = post(app.test_client(), rounds([["usage", 5, 7], ["say", "hi"]]), actor="eve")
        assert asked.status_code == 200
        assert asked.data
        eventually(lambda: self.used(app))
        (found,) = self.used(app)
        assert (found.agent, found.actor, found.turns, found.failed) == ("desk", "eve", 1, 0)
        assert (found.input_tokens, found.output_tokens) == (5, 7)
        assert found.model == "puppet-1"

    def test_a_failed_turn_counts_as_failed(self, app):
        assert post(app.test_client(), rounds([["error", "auth", False]]), actor="eve").data
        eventually(lambda: self.used(app))
        (found,) = self.used(app)
        assert (found.turns, found.failed, found.model) == (1, 1, "puppet")

    def test_a_table_that_is_away_ends_no_turn_and_is_said_in_the_log(self, app, caplog):
        usage.drop(app.extensions[EXTENSION].books.database.engine)
        answer = post(app.test_client(), rounds([["say", "hi"]]), actor="eve")
        assert b'"reason":"finished"' in answer.data
        eventually(lambda: "a listener of its end failed" in caplog.text)
