"""``flask litro proposals|dismiss|ceiling|prune|audit|db``, by click's runner; and that nothing there approves."""

from __future__ import annotations

import json
import os
import time

import click
import pytest
from sqlalchemy import delete, update

from flask_litro_agent import LitroAgent
from flask_litro_agent.cli import litro_commands
from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.core import migration, tables
from flask_litro_agent.core.ceiling import Level
from flask_litro_agent.core.outcome import CallSite
from flask_litro_agent.installation import EXTENSION
from flask_litro_agent.testing.stores import make_entries
from tests.asking import eventually
from tests.proposal_site import Browser, log_of, proposal_site
from tests.small_site import new_app, write_agent

DAY = 86_400_000


@pytest.fixture
def app(tmp_path):
    return proposal_site(tmp_path)


@pytest.fixture
def litro(app):
    return runner(app)


@pytest.fixture
def eve(app):
    return Browser(app, "eve")


@pytest.fixture
def reader(tmp_path):
    """Return ``run`` for a site whose tools only read."""
    write_agent(tmp_path)
    agent = tmp_path / "agents" / "demo" / "agent.py"
    agent.write_text(agent.read_text().replace("Agent(model=", "Agent(ceiling='off', model="))
    app = new_app(tmp_path)
    LitroAgent(app)
    return runner(app)


def runner(app):
    """Return ``run(*arguments)``, which runs ``flask litro``; what an ``exit`` of 0 printed, else the whole result."""
    invoke = app.test_cli_runner().invoke
    return lambda *arguments: invoke(args=["litro", *arguments])


def read(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def books(app):
    return app.extensions[EXTENSION].books


def change(app, statement):
    books(app).database.write(lambda connection: connection.execute(statement).close())


def age(app, proposal_id, ms):
    column = tables.proposal.c
    change(
        app,
        update(tables.proposal)
        .where(column.id == proposal_id)
        .values(created_at=column.created_at - ms, settled_at=column.settled_at - ms),
    )


class TestProposals:
    def test_they_are_listed_newest_first(self, litro, eve):
        first, second = eve.ask(order=1)["proposal_id"], eve.ask(order=2)["proposal_id"]
        assert litro("proposals").output.splitlines() == [
            f"{second}  proposed  desk  eve  refund(order: 2)",
            f"{first}  proposed  desk  eve  refund(order: 1)",
        ]

    def test_json_has_what_an_operator_sees(self, litro, eve):
        eve.ask(order=7)
        (shown,) = read(litro("proposals", "--json"))
        assert (shown["arguments"], shown["owner"], shown["state"]) == ('{"order":7}', "eve", "proposed")
        assert len(shown["digest"]) == 64

    def test_control_characters_are_written_out_and_a_row_stays_a_line(self, app, litro, eve):
        eve.ask(order=7)
        hostile = "ann\x1b[2J\x9b1A\u202e\n\U000e0041"
        change(app, update(tables.proposal).values(proposer=hostile, note=hostile))
        written = "ann\\u001b[2J\\u009b1A\\u202e\\u000a\\U000e0041"
        assert litro("proposals").output.count("\n") == 1
        assert f"  {written}  " in litro("proposals").output
        as_json = litro("proposals", "--json")
        assert as_json.output.removesuffix("\n").isprintable()
        assert read(as_json)[0]["note"] == hostile

    def test_they_are_chosen_by_derived_states_agent_and_owner(self, app, litro, eve):
        old, new = eve.ask(order=1)["proposal_id"], eve.ask(order=2)["proposal_id"]
        age(app, old, 300_000)

        def found(*options):
            return [row["id"] for row in read(litro("proposals", "--json", *options))]

        assert found("--state", "expired") == [old]
        assert found("--state", "expired", "--state", "proposed") == [new, old]
        assert found("--owner", "eve", "--agent", "desk") == [new, old]
        assert found("--owner", "bob") == found("--agent", "other") == []

    def test_several_pages_are_one_list(self, tmp_path):
        app = proposal_site(tmp_path, LITRO_MAX_OPEN=60)
        for session in range(11):
            for order in range(5):
                Browser(app, "eve").ask(order=session * 5 + order, session=f"s{session}")
        assert len(read(runner(app)("proposals", "--json"))) == 55

    def test_an_unknown_state_is_a_wrong_use(self, litro):
        assert litro("proposals", "--state", "approved").exit_code == 2


class TestDismiss:
    def test_it_closes_the_proposal_and_tells_the_session(self, app, litro, eve):
        proposal_id = eve.ask()["proposal_id"]
        result = litro("dismiss", proposal_id, "--as", "ops", "--note", "not today")
        assert (result.exit_code, result.output) == (
            0,
            f"{proposal_id}  dismissed  desk  eve  refund(order: 1)\n",
        )
        assert log_of(app)[-1].payload == {
            "proposal_id": proposal_id,
            "state": "dismissed",
            "note": "not today",
        }
        assert app.extensions["done"] == []

    def test_json_says_who_did_it(self, litro, eve):
        shown = read(litro("dismiss", eve.ask()["proposal_id"], "--as", "ops", "--json"))
        assert [(row["state"], row["decided_by"], row["note"]) for row in shown] == [
            ("dismissed", "ops", None)
        ]

    @pytest.mark.parametrize(
        ("who", "sentence"),
        [
            ("eve", "to decide you need the permission 'litro:approve'"),
            ("bob", "there is no such proposal"),
            ("nobody", "the site's actor_loader knows nobody with the id 'nobody'"),
        ],
    )
    def test_only_an_operator_can(self, app, litro, eve, who, sentence):
        proposal_id = eve.ask()["proposal_id"]
        result = litro("dismiss", proposal_id, "--as", who)
        assert (result.exit_code, result.output) == (1, f"Error: {sentence}\n")
        assert books(app).ledger.get(proposal_id).state == "proposed"

    def test_a_second_time_is_one_sentence(self, litro, eve):
        proposal_id = eve.ask()["proposal_id"]
        litro("dismiss", proposal_id, "--as", "ops")
        result = litro("dismiss", proposal_id, "--as", "ops")
        assert (result.exit_code, result.output) == (
            1,
            "Error: This proposal expired or was already handled\n",
        )

    def test_an_unknown_one_is_one_sentence(self, litro):
        result = litro("dismiss", "p0", "--as", "ops")
        assert (result.exit_code, result.output) == (1, "Error: there is no such proposal\n")

    def test_nobody_dismisses_without_saying_who(self, litro, eve):
        assert litro("dismiss", eve.ask()["proposal_id"]).exit_code == 2


class TestCeiling:
    def test_it_is_shown(self, litro):
        assert litro("ceiling").output == litro("ceiling", "show").output == "site  propose\n"

    def test_a_level_is_set_audited_and_in_force(self, app, litro):
        result = litro("ceiling", "set", "agent:desk", "read")
        assert result.exit_code == 0
        site, desk = result.output.splitlines()
        assert (site, desk.split()[:2], desk.split()[3][:4]) == (
            "site  propose",
            ["agent:desk", "read"],
            "cli:",
        )
        assert books(app).ceiling.levels().of("desk", "refund") is Level.READ
        (row,) = books(app).audit.rows()
        assert (row.kind, row.subject, row.actor.startswith("cli:")) == ("ceiling", "agent:desk", True)

    def test_json_says_what_is_in_force_and_who_set_it(self, litro):
        site, tool = read(litro("ceiling", "set", "tool:desk.refund", "off", "--json"))
        assert site == dict.fromkeys(("stored", "declared", "changed_by", "changed_at")) | {
            "scope": "site",
            "level": "propose",
        }
        assert (tool["scope"], tool["level"], tool["stored"]) == ("tool:desk.refund", "off", "off")
        assert tool["changed_by"].startswith("cli:")
        assert tool["changed_at"].endswith("+00:00")
        assert read(litro("ceiling", "show", "--json")) == [site, tool]

    def test_a_level_is_cleared_and_what_is_above_it_holds_again(self, app, litro):
        litro("ceiling", "set", "agent:desk", "read")
        result = litro("ceiling", "clear", "agent:desk")
        assert (result.exit_code, result.output) == (0, "site  propose\n")
        assert books(app).ceiling.levels().of("desk", "refund") is Level.PROPOSE

    def test_its_history_is_printed_newest_first(self, litro):
        litro("ceiling", "set", "site", "read")
        litro("ceiling", "clear", "site")
        lines = litro("ceiling", "history").output.splitlines()
        assert [line.split("  ")[1:3] for line in lines] == [
            ["site", "read -> inherited"],
            ["site", "inherited -> read"],
        ]
        (newest,) = read(litro("ceiling", "history", "--limit", "1", "--json"))
        assert (newest["seq"], newest["before"], newest["after"]) == (2, "read", "inherited")

    @pytest.mark.parametrize(("scope", "level"), [("agent:dask", "read"), ("site", "reed")])
    def test_what_does_not_exist_is_refused_and_the_choice_is_named(self, app, litro, scope, level):
        result = litro("ceiling", "set", scope, level)
        assert (result.exit_code, "; there is: " in result.output) == (1, True)
        assert list(books(app).audit.rows()) == []

    def test_the_account_without_a_name_is_unknown(self, app, litro, monkeypatch):
        monkeypatch.setattr("getpass.getuser", nameless)
        litro("ceiling", "set", "site", "read")
        assert [row.actor for row in books(app).audit.rows()] == ["cli:unknown"]

    def test_a_site_that_only_reads_shows_what_it_declares_and_has_nothing_to_set(self, reader):
        assert reader("ceiling", "show").output == "site  propose\nagent:demo  off\n"
        result = reader("ceiling", "set", "site", "off")
        assert (result.exit_code, "there is no ledger" in result.output) == (1, True)


def nameless():
    raise KeyError("getpwuid(): uid not found")


def gone(**counts):
    return {"proposals": 0, "sessions": 0, "usage": 0, "tokens": 0} | counts


class TestPrune:
    def test_what_is_over_long_enough_goes_and_the_run_is_recorded(self, app, litro, eve):
        old, young, waiting = (eve.ask(order=order)["proposal_id"] for order in (1, 2, 3))
        for proposal_id in (old, young):
            litro("dismiss", proposal_id, "--as", "ops")
        age(app, old, 181 * DAY)
        result = litro("prune")
        assert (result.exit_code, result.output) == (
            0,
            "1 proposals, 0 sessions, 0 rows of usage and 0 tokens deleted\n",
        )
        assert {row["id"] for row in read(litro("proposals", "--json"))} == {young, waiting}
        assert list(books(app).audit.rows())[-1].kind == "pruned"
        assert books(app).audit.verify().faults == ()

    def test_json_and_days(self, app, litro, eve):
        proposal_id = eve.ask()["proposal_id"]
        litro("dismiss", proposal_id, "--as", "ops")
        age(app, proposal_id, 2 * DAY)
        assert read(litro("prune", "--days", "3", "--json")) == gone()
        assert read(litro("prune", "--days", "1", "--json")) == gone(proposals=1)

    def test_a_negative_age_is_a_wrong_use(self, litro):
        assert litro("prune", "--days", "-1").exit_code == 2

    def test_old_sessions_of_everybody_go(self, tmp_path):
        app = proposal_site(tmp_path, LITRO_SESSION_DAYS=30)
        for owner in ("eve", "bob"):
            for session, days in (("old", 31), ("new", 29)):
                write_session(app, owner, session, days)
        assert read(runner(app)("prune", "--json")) == gone(sessions=2)
        assert sessions(app, "eve") == sessions(app, "bob") == ["new"]
        assert read(runner(app)("prune", "--json")) == gone()

    def test_sessions_stay_where_no_age_is_set(self, app, litro):
        write_session(app, "eve", "old", 5000)
        assert read(litro("prune", "--json"))["sessions"] == 0

    def test_all_of_one_person_that_is_over_goes(self, app, litro, eve):
        proposal_id = eve.ask(session="over")["proposal_id"]
        litro("dismiss", proposal_id, "--as", "ops")
        waiting = eve.ask(order=2, session="waits")["proposal_id"]
        write_session(app, "bob", "his", 1)
        time.sleep(0.01)
        eventually(lambda: sum(row.turns for row in books(app).usage.since(1)) == 2)
        assert read(litro("prune", "--actor", "eve", "--days", "0", "--json")) == gone(
            proposals=1, sessions=1, usage=1
        )
        assert (sessions(app, "eve"), sessions(app, "bob")) == (["waits"], ["his"])
        assert books(app).ledger.get(waiting).state == "proposed"

    def test_what_a_session_was_not_told_is_told_before_the_row_goes(self, app, litro, eve):
        proposal_id = eve.ask()["proposal_id"]
        age(app, proposal_id, 300_001)
        assert read(litro("prune", "--days", "0", "--json"))["proposals"] == 1
        settled = [event.payload for event in log_of(app) if event.kind == "proposal-settled"]
        assert settled == [{"proposal_id": proposal_id, "state": "expired"}]

    def test_a_row_stays_while_its_session_cannot_be_told(self, app, litro, eve):
        age(app, eve.ask()["proposal_id"], 300_001)
        store = app.extensions[EXTENSION].store
        leases = []  # the turn gives its own back just after its last line was sent
        eventually(lambda: leases.append(store.acquire(SessionKey("desk", "eve", "s1"), 600.0)) or leases[-1])
        assert read(litro("prune", "--days", "0", "--json"))["proposals"] == 0
        store.release(leases[-1])
        assert read(litro("prune", "--days", "0", "--json"))["proposals"] == 1

    def test_a_row_whose_session_has_no_log_goes(self, app, litro):
        where = CallSite(session_id="none")
        parts = app.extensions[EXTENSION]
        actor = parts.identity.by_id("eve")
        asked = parts.gate.call("desk", "refund", {"order": 1}, actor=actor, origin="code", site=where)
        age(app, asked.proposal.id, 300_001)
        assert read(litro("prune", "--days", "0", "--json"))["proposals"] == 1

    def test_a_session_in_which_somebody_writes_stays(self, app, litro):
        store = app.extensions[EXTENSION].store
        write_session(app, "eve", "busy", 1)
        lease = store.acquire(SessionKey("desk", "eve", "busy"), 30.0)
        try:
            assert read(litro("prune", "--actor", "eve", "--days", "0", "--json"))["sessions"] == 0
        finally:
            store.release(lease)
        assert sessions(app, "eve") == ["busy"]

    def test_a_site_that_only_reads_prunes_its_sessions(self, tmp_path):
        write_agent(tmp_path)
        app = new_app(tmp_path, LITRO_SESSION_DAYS=1)
        LitroAgent(app)
        write_session(app, "eve", "old", 2)
        assert read(runner(app)("prune", "--json")) == gone(sessions=1)


def write_session(app, owner, session, days):
    """Write a session that was last changed so many days ago."""
    store = app.extensions[EXTENSION].store
    key = SessionKey("desk", owner, session)
    lease = store.acquire(key, 30.0)
    store.append(key, make_entries(1), lease)
    store.release(lease)
    then = time.time() - days * 86_400
    os.utime(store._folder.log(key), (then, then))


def sessions(app, owner):
    page, _ = app.extensions[EXTENSION].store.list(owner)
    return sorted(info.key.session for info in page)


class TestAudit:
    def test_a_whole_chain_verifies_against_a_kept_head(self, litro):
        litro("ceiling", "set", "site", "read")
        head = litro("audit", "head").output.strip()
        litro("ceiling", "set", "site", "propose")
        result = litro("audit", "verify", "--head", head)
        assert (result.exit_code, result.output.startswith("2 rows, 0 faults, head 2:")) == (0, True)

    def test_a_head_as_json(self, litro):
        assert read(litro("audit", "head", "--json")) == {"seq": 0, "hash": "0" * 64}

    def test_a_changed_row_is_named(self, app, litro):
        litro("ceiling", "set", "site", "read")
        change(app, update(tables.audit).values(actor="somebody else"))
        result = litro("audit", "verify")
        assert (result.exit_code, "row 1 was changed" in result.output) == (1, True)

    def test_a_cut_end_is_found_by_the_kept_head_alone(self, app, litro):
        for level in ("read", "off"):
            litro("ceiling", "set", "site", level)
        head = litro("audit", "head").output.strip()
        change(app, delete(tables.audit).where(tables.audit.c.seq == 2))
        change(app, update(tables.epoch).where(tables.epoch.c.id == tables.AUDIT).values(value=1))
        assert litro("audit", "verify").exit_code == 0
        result = litro("audit", "verify", "--head", head, "--json")
        assert (result.exit_code, len(json.loads(result.output)["faults"])) == (1, 1)

    @pytest.mark.parametrize("head", ["2", "x:y", "1:" + "A" * 64, "-1:" + "0" * 64])
    def test_what_is_no_head_is_a_wrong_use(self, litro, head):
        assert litro("audit", "verify", f"--head={head}").exit_code == 2

    def test_rows_are_listed(self, litro):
        for level in ("read", "off"):
            litro("ceiling", "set", "site", level)
        line = litro("audit", "list", "--after", "1").output
        assert line.startswith("2  20")
        assert "  ceiling  cli:" in line
        assert line.endswith('  site  {"after": "off", "before": "read"}\n')
        assert [row["seq"] for row in read(litro("audit", "list", "--json"))] == [1, 2]

    def test_control_characters_are_written_out(self, app, litro):
        litro("ceiling", "set", "site", "read")
        change(app, update(tables.audit).values(actor="\x1b]0;owned\x07", data=b'{"by":"\xc2\x9b"}'))
        line = litro("audit", "list").output.removesuffix("\n")
        assert line.isprintable()
        assert "\\u001b]0;owned\\u0007" in line
        assert '{"by": "\\u009b"}' in line

    def test_a_destroyed_row_is_said_to_be_one_and_the_rest_is_listed(self, app, litro):
        for level in ("read", "off", "read"):
            litro("ceiling", "set", "site", level)
        second = update(tables.audit).where(tables.audit.c.seq == 2)
        change(app, second.values(data=b"{", at=10**18))
        lines = litro("audit", "list").output.splitlines()
        assert [line[0] for line in lines] == ["1", "2", "3"]
        assert f"{10**18} ms" in lines[1]
        assert lines[1].endswith("  (destroyed: audit verify says what is wrong)")
        assert [row["data"] is None for row in read(litro("audit", "list", "--json"))] == [False, True, False]


class TestDatabase:
    @pytest.fixture
    def old(self, tmp_path):
        """Return ``run`` for an app whose database has no tables yet; a command loads the app anew."""

        def run(*arguments):
            made = []

            @click.command(name="flask")
            def load():
                made.append(proposal_site(tmp_path, LITRO_DATABASE_URI="sqlite:///named.db"))

            click.testing.CliRunner().invoke(load, [], catch_exceptions=False)
            return runner(made[0])(*arguments)

        return run

    def test_it_is_upgraded_by_the_command_alone(self, old):
        result = old("db", "status", "--json")
        assert result.exit_code == 1
        assert json.loads(result.output)["revision"] is None
        assert read(old("db", "upgrade", "--json"))["revision"] == migration.head()
        status = old("db", "status")
        assert (status.exit_code, status.output.endswith(f", needed {migration.head()}\n")) == (0, True)

    def test_an_upgrade_prints_the_place_and_the_revision(self, old):
        assert old("db", "upgrade").output.endswith(f"named.db: revision {migration.head()}\n")

    def test_status_says_that_there_is_no_table_yet(self, old):
        assert "revision none, needed" in old("db", "status").output

    @pytest.mark.parametrize(
        "command",
        [
            ("proposals",),
            ("dismiss", "p1", "--as", "ops"),
            ("ceiling", "show"),
            ("ceiling", "set", "site", "read"),
            ("prune",),
            ("audit", "head"),
            ("audit", "verify"),
            ("audit", "list"),
        ],
    )
    def test_before_that_every_other_command_says_what_to_run(self, old, command):
        result = old(*command)
        assert (result.exit_code, "run 'flask litro db upgrade'" in result.output) == (1, True)

    def test_the_embedded_file_is_up_to_date(self, litro):
        assert litro("db", "status").exit_code == 0


@pytest.mark.parametrize(
    "command",
    [("proposals",), ("dismiss", "p1", "--as", "x"), ("audit", "head"), ("db", "upgrade"), ("db", "status")],
)
def test_a_site_without_write_tools_has_no_ledger(reader, command):
    result = reader(*command)
    assert (result.exit_code, result.output) == (
        1,
        "Error: no tool of this site changes anything, so there is no ledger\n",
    )


def test_no_command_approves():
    names = set(every_name(litro_commands()))
    assert "dismiss" in names
    assert not {name for name in names if "approve" in name or "answer" in name}


def test_every_command_says_what_it_does_in_a_sentence():
    for name, command in every_command(litro_commands()):
        assert command.help.strip().endswith("."), name


def every_name(group):
    return (name for name, _ in every_command(group))


def every_command(group):
    for name, command in group.commands.items():
        yield name, command
        if isinstance(command, click.Group):
            yield from every_command(command)
