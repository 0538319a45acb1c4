"""The demo shop's tools for what visitors read: collections, the words about products, and replies to reviews."""

from __future__ import annotations

import pytest

from example_app import catalogue, collections, replies, texts
from example_app.journal import By
from flask_litro_agent.core.outcome import Refused
from tests.shop_desk import ANNA, SAM, TREK, approve, propose, proposed, undo

pytest_plugins = ["tests.shop_fixtures"]

WORDS = "A pack for weeks on the trail."


@pytest.fixture
def rain(held):
    """A collection that nobody sees yet."""
    return collections.save(held, "Rain", ["JKT-SQL-BLU", "JKT-SQL-YEL"], False, By("first", "olga", "otto"))


@pytest.fixture
def review(held):
    """The newest review of the Trek 65."""
    return held.execute(
        "SELECT * FROM review WHERE sku = ? ORDER BY written_on DESC, id LIMIT 1", (TREK,)
    ).fetchone()


def front_page(person):
    return person.client.get("/").text


# collections


def test_a_kept_collection_is_published_and_its_reverse_hides_it(app, held, olga, rain):
    asked = proposed(app, "publish_collection", name="Rain")
    assert "<h2>Rain</h2>" not in front_page(olga)
    assert approve(olga, asked) == {"name": "Rain", "published": True}
    assert "<h2>Rain</h2>" in front_page(olga)
    undo(olga, asked)
    assert "<h2>Rain</h2>" not in front_page(olga)
    assert collections.by_name(held, "Rain") == rain


def test_a_hidden_collection_comes_back_by_the_reverse(app, held, olga, rain):
    approve(olga, proposed(app, "publish_collection", name="Rain"))
    asked = proposed(app, "unpublish_collection", name="Rain")
    approve(olga, asked)
    assert collections.published(held) == []
    undo(olga, asked)
    assert [each.name for each in collections.published(held)] == ["Rain"]


def test_publishing_shows_which_products_visitors_will_see(app, rain):
    (line,) = proposed(app, "publish_collection", name="Rain").preview
    assert line == {
        "label": "“Rain” (Squall Rain Jacket, blue, Squall Rain Jacket, yellow)",
        "before": "hidden",
        "after": "on the front page",
    }


def test_a_collection_is_found_in_large_and_small_letters(app, held, olga, rain):
    approve(olga, proposed(app, "publish_collection", name="rain"))
    assert [each.name for each in collections.every(held)] == ["Rain"]


def test_a_collection_that_changed_meanwhile_is_not_published(app, held, olga, rain):
    asked = proposed(app, "publish_collection", name="Rain")
    collections.save(held, "Rain", [TREK], False, By("other", "olga", "otto"))
    assert olga.decide("approve", asked.id).status_code == 409
    assert collections.published(held) == []


def test_what_visitors_see_already_is_not_proposed(app, rain):
    assert "hidden already" in propose(app, "unpublish_collection", name="Rain").message


def test_a_collection_that_is_not_there_is_answered_with_those_that_are(app, held):
    for there in ("there is none yet", "there is: Rain"):
        refused = propose(app, "publish_collection", name="Snow")
        assert isinstance(refused, Refused)
        assert refused.message == f"there is no collection called “Snow”; {there}"
        collections.save(held, "Rain", [TREK], False, By("first", "olga", "otto"))


# texts


def test_a_products_text_is_changed_on_its_page_and_back(app, held, olga):
    before = catalogue.by_sku(held, TREK).description
    asked = proposed(app, "change_product_text", sku=TREK, text=WORDS)
    (line,) = asked.preview
    assert line == {"label": "Text of Trek 65 Backpack, red", "before": before, "after": WORDS}
    approve(olga, asked)
    assert WORDS in olga.client.get(f"/products/{TREK}").text
    undo(olga, asked)
    assert catalogue.by_sku(held, TREK).description == before
    rows = held.execute("SELECT before, after FROM text_change ORDER BY id").fetchall()
    assert [tuple(row) for row in rows] == [(before, WORDS), (WORDS, before)]


def test_a_text_is_shown_to_visitors_as_text(app, olga):
    approve(olga, proposed(app, "change_product_text", sku=TREK, text="<script>alert(1)</script>"))
    assert "&lt;script&gt;alert(1)" in olga.client.get(f"/products/{TREK}").text


def test_a_text_that_somebody_else_changed_meanwhile_is_void(app, held, olga):
    asked = proposed(app, "change_product_text", sku=TREK, text=WORDS)
    texts.describe(held, TREK, "Something else.", By("other", "olga", "otto"))
    assert olga.decide("approve", asked.id).status_code == 409
    assert catalogue.by_sku(held, TREK).description == "Something else."


def test_a_text_that_cannot_be_is_refused_in_words(app, held):
    assert "no product" in propose(app, "change_product_text", sku="NO-SUCH", text=WORDS).message
    same = catalogue.by_sku(held, TREK).description
    assert "already" in propose(app, "change_product_text", sku=TREK, text=same).message


# replies

THANKS = "Thank you, we have told our workshop."


def test_a_reply_stands_below_its_review_and_its_reverse_takes_it_away(app, held, olga, review):
    asked = proposed(app, "reply_to_review", actor=SAM, review_id=review["id"], text=THANKS)
    (line,) = asked.preview
    assert (line["before"], line["after"]) == (None, THANKS)
    assert review["text"] in line["label"]
    approve(olga, asked)
    page = f"/products/{review['sku']}"
    assert THANKS in olga.client.get(page).text
    undo(olga, asked)
    assert THANKS not in olga.client.get(page).text
    assert replies.by_id(held, review["id"]).reply is None


def test_another_reply_takes_the_place_of_the_first_and_back(app, held, olga, review):
    approve(olga, proposed(app, "reply_to_review", review_id=review["id"], text=THANKS))
    asked = proposed(app, "reply_to_review", review_id=review["id"], text="We are sorry.")
    approve(olga, asked)
    (shown,) = [each for each in catalogue.reviews_of(held, review["sku"], 50) if each.reply]
    assert shown.reply == "We are sorry."
    undo(olga, asked)
    assert replies.by_id(held, review["id"]).reply == THANKS


def test_the_assistant_finds_the_review_by_its_author_and_sees_the_reply(app, olga, review):
    approve(olga, proposed(app, "reply_to_review", review_id=review["id"], text=THANKS))
    gate = app.extensions["litro_agent"].gate
    arguments = {
        "period": "last_12_months",
        "most_stars": 5,
        "author": review["author"].lower(),
        "limit": 50,
    }
    seen = gate.call("assistant", "reviews_digest", arguments, actor=SAM, origin="test").value
    assert {quote["author"] for quote in seen["quotes"]} == {review["author"]}
    assert {quote["review_id"]: quote["our_reply"] for quote in seen["quotes"]}[review["id"]] == THANKS


def test_two_replies_to_one_review_are_not_both_written_unseen(app, held, olga, review):
    first = proposed(app, "reply_to_review", review_id=review["id"], text=THANKS)
    second = proposed(app, "reply_to_review", review_id=review["id"], text="We are sorry.")
    approve(olga, first)
    assert olga.decide("approve", second.id).status_code == 409
    assert replies.by_id(held, review["id"]).reply == THANKS


def test_a_reply_that_cannot_be_is_refused_in_words(app, review):
    assert "no review" in propose(app, "reply_to_review", review_id=99_999, text=THANKS).message
    assert "already" in propose(app, "reply_to_review", review_id=review["id"], text=None).message


def test_customers_see_our_reply_and_write_none(app, held, olga, review):
    refused = propose(app, "reply_to_review", actor=ANNA, review_id=review["id"], text=THANKS)
    assert refused.code == "forbidden"
    approve(olga, proposed(app, "reply_to_review", review_id=review["id"], text=THANKS))
    gate = app.extensions["litro_agent"].gate
    arguments = {"product": review["sku"], "limit": 50}
    seen = gate.call("concierge", "product_reviews", arguments, actor=ANNA, origin="test").value
    assert THANKS in [each["our_reply"] for each in seen["reviews"]]


# all


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("publish_collection", {"name": "Rain"}),
        ("unpublish_collection", {"name": "Rain"}),
        ("change_product_text", {"sku": TREK, "text": WORDS}),
    ],
)
def test_what_the_shop_says_is_for_the_operator(app, tool, arguments):
    assert propose(app, tool, actor=SAM, **arguments).code == "forbidden"


def test_the_same_reply_a_second_time_changes_nothing(held, review):
    by = By("litro-1", "olga", "otto")
    replies.write(held, review["id"], THANKS, by)
    made = held.total_changes
    replies.write(held, review["id"], THANKS, by)
    assert held.total_changes == made


def test_the_same_text_a_second_time_changes_nothing(held):
    by = By("litro-1", "olga", "otto")
    first = texts.describe(held, TREK, WORDS, by)
    made = held.total_changes
    assert texts.describe(held, TREK, WORDS, by) == first
    assert held.total_changes == made
