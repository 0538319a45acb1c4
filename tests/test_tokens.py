"""core/tokens.py: made once, kept as a digest, good until a day; and that nothing but a live one lets anybody in."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import select

from flask_litro_agent.core import tables
from flask_litro_agent.core.audit import Audit
from flask_litro_agent.core.tokens import PREFIX, Tokens
from flask_litro_agent.errors import BadRequest, LedgerAway, NotFound
from tests.databases import frozen

DAY = 86_400_000


@pytest.fixture
def clock(database):
    return frozen(database)


@pytest.fixture
def tokens(clock):
    return Tokens(clock, Audit(clock))


def make(tokens, *, actor="eve", agent="desk", name="Laptop", days=90):
    return tokens.create(actor=actor, agent=agent, name=name, days=days, by="cli:test")


def stored(database):
    return database.read(lambda connection: connection.execute(select(tables.token)).mappings().all())


def test_a_secret_has_256_random_bits_behind_a_prefix_that_scanners_know(tokens):
    first, second = make(tokens).secret, make(tokens).secret
    assert first != second
    assert re.fullmatch(rf"{PREFIX}[A-Za-z0-9_-]{{43}}", first)


def test_the_secret_is_nowhere_in_the_database(tokens, clock):
    secret = make(tokens).secret
    rows = clock.read(
        lambda connection: [
            connection.execute(select(table)).all() for table in tables.metadata.sorted_tables
        ]
    )
    assert secret not in repr(rows)
    assert secret.removeprefix(PREFIX) not in repr(rows)


def test_a_live_token_names_its_person_at_its_agent(tokens):
    made = make(tokens)
    admitted = tokens.admit(made.secret, "desk")
    assert (admitted.id, admitted.actor, admitted.state) == (made.token.id, "eve", "live")


def test_a_token_for_another_agent_lets_nobody_in(tokens):
    assert tokens.admit(make(tokens).secret, "other") is None


@pytest.mark.parametrize(
    "change", [lambda s: s[:-1], lambda s: s + "x", str.upper, lambda s: "", lambda s: s[10:]]
)
def test_what_is_not_the_secret_to_the_letter_lets_nobody_in(tokens, change):
    assert tokens.admit(change(make(tokens).secret), "desk") is None


def test_the_digest_that_is_stored_lets_nobody_in(tokens, clock):
    make(tokens)
    (row,) = stored(clock)
    assert tokens.admit(row["hash"], "desk") is None
    assert tokens.admit(PREFIX + row["hash"][:43], "desk") is None


def test_it_is_good_until_its_last_millisecond(tokens, clock):
    secret = make(tokens, days=1).secret
    clock.move(DAY - 1)
    assert tokens.admit(secret, "desk") is not None
    clock.move(1)
    assert tokens.admit(secret, "desk") is None
    assert tokens.all()[0].state == "expired"


def test_a_revoked_token_is_over_at_once_and_stays_listed(tokens):
    made = make(tokens)
    tokens.revoke(made.token.id, by="cli:test")
    assert tokens.admit(made.secret, "desk") is None
    assert [one.state for one in tokens.all()] == ["revoked"]


def test_revoking_one_leaves_the_others(tokens):
    gone, stays = make(tokens), make(tokens)
    tokens.revoke(gone.token.id, by="cli:test")
    assert tokens.admit(stays.secret, "desk") is not None


def test_an_unknown_id_is_said(tokens):
    with pytest.raises(NotFound):
        tokens.revoke("0" * 16, by="cli:test")


def test_making_and_revoking_are_rows_of_the_chain_and_neither_has_the_secret(tokens, clock):
    made = make(tokens)
    for _ in range(2):
        tokens.revoke(made.token.id, by="ops")
    rows = list(Audit(clock).rows())
    assert [(row.kind, row.actor, row.subject, row.data["change"]) for row in rows] == [
        ("token", "cli:test", made.token.id, "created"),
        ("token", "ops", made.token.id, "revoked"),
    ]
    assert rows[0].data["actor"] == "eve"
    assert made.secret not in repr(rows)
    assert Audit(clock).verify().faults == ()


def test_when_it_was_last_used_is_known_to_the_minute(tokens, clock):
    secret = make(tokens).secret
    assert tokens.all()[0].used_at is None
    first = clock.ms
    tokens.admit(secret, "desk")
    clock.move(59_999)
    tokens.admit(secret, "desk")
    assert tokens.all()[0].used_at == first
    clock.move(1)
    tokens.admit(secret, "desk")
    assert tokens.all()[0].used_at == first + 60_000


def test_a_refused_token_is_not_a_used_one(tokens):
    tokens.admit(make(tokens).secret, "other")
    assert tokens.all()[0].used_at is None


def test_a_database_that_cannot_note_the_use_stops_no_call(tokens, clock, monkeypatch):
    def away(work):
        raise LedgerAway("away")

    secret = make(tokens).secret
    monkeypatch.setattr(clock, "write", away)
    assert tokens.admit(secret, "desk") is not None


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 81, "\x1b[31m"])
def test_a_name_is_one_line_that_can_be_shown(tokens, name):
    with pytest.raises(BadRequest, match="name"):
        make(tokens, name=name)


@pytest.mark.parametrize("days", [0, -1, 3651])
def test_no_token_is_good_for_ever(tokens, days):
    with pytest.raises(BadRequest, match="days"):
        make(tokens, days=days)


def test_they_are_listed_newest_first(tokens, clock):
    ids = []
    for _ in range(3):
        ids.append(make(tokens).token.id)
        clock.move(1000)
    assert [one.id for one in tokens.all()] == ids[::-1]


def test_pruning_takes_what_has_been_over_long_enough(tokens, clock):
    make(tokens, actor="bob", days=1)
    make(tokens, days=300)
    tokens.revoke(make(tokens, days=300).token.id, by="cli:test")
    clock.move(100 * DAY)
    assert tokens.prune(days=100) == 0
    clock.move(1)
    assert tokens.prune(days=100, actor="bob") == 0
    assert tokens.prune(days=100, actor="eve") == 1
    clock.move(DAY)
    assert tokens.prune(days=100) == 1
    assert [one.state for one in tokens.all()] == ["live"]
