"""The demo shop's many prices at once: one card, all of them or none, and all of them back."""

from __future__ import annotations

import pytest

from example_app import catalogue, prices
from example_app.journal import By
from example_app.money import euros
from flask_litro_agent.core.outcome import Refused
from tests.shop_desk import OLGA, SAM, TREK, approve, propose, proposed, undo

pytest_plugins = ["tests.shop_fixtures"]

TENTS = {"TNT-FJ2-GRN": 29_900, "TNT-FJ2-ORG": 29_900, "TNT-FJ3-GRN": 37_900}


def listed(new=TENTS):
    return [{"sku": sku, "price_cents": cents} for sku, cents in new.items()]


def now(held, skus=TENTS):
    return {sku: catalogue.by_sku(held, sku).price_cents for sku in skus}


def new_shelf(held, count):
    """Put so many more products on the shelves, with the longest numbers and prices that the tool takes."""
    skus = [f"XTR-{number:03}-{'A' * 12}" for number in range(count)]
    with held:
        held.executemany(
            "INSERT INTO product SELECT ?, ?, family, category, colour, 999999, weight_g, capacity, persons,"
            " comfort_c, waterproof, description FROM product WHERE sku = 'TNT-TRN1-GRY'",
            [(sku, f"A name that is as long as a name of a product gets {sku}") for sku in skus],
        )
    return skus


def test_a_list_of_prices_is_one_card_and_changes_together(app, held, olga):
    before = now(held)
    asked = proposed(app, "change_prices", prices=listed())
    assert now(held) == before
    result = approve(olga, asked)
    assert now(held) == TENTS
    assert result == {"changed": 3, "before": listed(before)}


def test_its_reverse_brings_every_price_back(app, held, olga):
    before = now(held)
    asked = proposed(app, "change_prices", prices=listed())
    approve(olga, asked)
    undo(olga, asked)
    assert now(held) == before


def test_each_price_is_shown_before_and_after_and_the_steepest_step_first(app, held):
    before = now(held)
    first, *rest = proposed(app, "change_prices", prices=listed()).preview
    assert first == {"label": "Steepest of 3: Fjell 2 Tent, green", "before": None, "after": "-9 %"}
    assert [(line["before"], line["after"]) for line in rest] == [
        (euros(before[sku]), euros(cents)) for sku, cents in TENTS.items()
    ]
    assert [line["label"] for line in rest] == [catalogue.by_sku(held, sku).label for sku in TENTS]


def test_every_price_of_a_list_has_its_row_in_the_history_with_who_approved(app, held, otto):
    earlier = held.execute("SELECT count(*) FROM price_change").fetchone()[0]
    approve(otto, proposed(app, "change_prices", prices=listed()))
    rows = held.execute("SELECT * FROM price_change ORDER BY id").fetchall()[earlier:]
    assert {row["sku"]: row["after_cents"] for row in rows} == TENTS
    assert {(row["asked_by"], row["approved_by"]) for row in rows} == {("account:3", "account:4")}
    (whole,) = held.execute("SELECT * FROM price_list").fetchall()
    assert (whole["products"], whole["approved_by"]) == (3, "account:4")


def test_one_price_that_moved_meanwhile_voids_the_whole_list(app, held, olga):
    asked = proposed(app, "change_prices", prices=listed())
    with held:
        held.execute("UPDATE product SET price_cents = 1 WHERE sku = 'TNT-FJ3-GRN'")
    before = now(held)
    assert olga.decide("approve", asked.id).status_code == 409
    assert olga.card(asked.id).json["reason"] == "as_of_changed"
    assert now(held) == before


def test_two_hundred_prices_fit_on_one_card(app, held, olga):
    skus = new_shelf(held, 200)
    asked = proposed(app, "change_prices", prices=listed(dict.fromkeys(skus, 1_000_000)))
    assert len(asked.arguments) < 16 * 1024
    assert [line["label"] for line in asked.preview[1:]] == skus
    assert len(asked.labels) == 200
    assert asked.labels["/prices/7/sku"] == "A name that is as long as a name of a…"
    assert approve(olga, asked)["changed"] == 200
    assert set(now(held, skus).values()) == {1_000_000}


def test_a_hundred_prices_are_shown_with_their_names(app, held):
    skus = new_shelf(held, 100)
    _, *lines = proposed(app, "change_prices", prices=listed(dict.fromkeys(skus, 1_000_000))).preview
    assert [line["label"] for line in lines] == [catalogue.by_sku(held, sku).label for sku in skus]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(TREK, 100), ("NO-SUCH", 100)], "no product with the article number NO-SUCH"),
        ([(TREK, 100), (TREK, 200)], f"{TREK} stands in the list twice"),
        ([(TREK, 21_900)], "Trek 65 Backpack, red (PCK-TRK65-RED) costs €219.00 already"),
    ],
)
def test_a_list_that_makes_no_sense_is_refused_in_words(app, rows, said):
    refused = propose(
        app, "change_prices", prices=[{"sku": sku, "price_cents": cents} for sku, cents in rows]
    )
    assert isinstance(refused, Refused)
    assert said in refused.message


@pytest.mark.parametrize("count", [0, 201])
def test_a_list_has_one_to_two_hundred_prices(app, count):
    rows = [{"sku": f"SKU-{number}", "price_cents": 100} for number in range(count)]
    assert propose(app, "change_prices", prices=rows).code == "invalid_input"


def test_prices_are_for_the_operator(app):
    assert propose(app, "change_prices", actor=SAM, prices=listed()).code == "forbidden"
    proposed(app, "change_prices", actor=OLGA, prices=listed())


def test_the_same_list_a_second_time_changes_nothing(held):
    by = By("litro-1", "olga", "otto")
    first = prices.change_all(held, TENTS, by)
    made = held.total_changes
    assert prices.change_all(held, TENTS, by) == first
    assert held.total_changes == made


def test_a_list_that_fails_half_way_leaves_every_price_as_it_was(held):
    before = now(held)
    with pytest.raises(TypeError):
        prices.change_all(held, {**TENTS, "NO-SUCH": 100}, By("litro-1", "olga", "otto"))
    assert now(held) == before
    assert held.execute("SELECT count(*) FROM price_list").fetchone()[0] == 0
