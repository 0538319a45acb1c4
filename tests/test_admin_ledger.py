"""The ledger's pages: searched, filtered, paged, taken as a file, proposed from; and the audit chain's."""

from __future__ import annotations

import csv
import html
import io
import json
import re

import pytest
from sqlalchemy import insert, select, update

from flask_litro_agent import Actor
from flask_litro_agent.core import tables
from flask_litro_agent.core.ceiling import Level
from flask_litro_agent.installation import EXTENSION
from flask_litro_agent.web.admin.ledger_export import BATCH
from flask_litro_agent.web.admin.moments import day_text
from tests.pages import open_page
from tests.proposal_site import OPS, Browser, proposal_site

ADA = Actor("ada", "Ada", frozenset({"litro:admin"}))
PATH = "/litro/ledger"
AUDIT = "/litro/audit"
DAY = 86_400_000


@pytest.fixture
def app(tmp_path):
    made = proposal_site(tmp_path, LITRO_MAX_OPEN=100)
    chief = Actor("ops", "Olga", OPS.permissions | {"litro:admin"})
    made.extensions["people"] |= {"ada": ADA, "ops": chief}
    return made


@pytest.fixture
def eve(app):
    return Browser(app, "eve")


@pytest.fixture
def ops(app):
    return Browser(app)


def books(app):
    return app.extensions[EXTENSION].books


def change(app, *statements):
    def work(held):
        for statement in statements:
            held.execute(statement).close()

    books(app).database.write(work)


def age(app, proposal_id, ms):
    c = tables.proposal.c
    change(app, update(tables.proposal).where(c.id == proposal_id).values(created_at=c.created_at - ms))


def orders(page):
    """Return the orders of the rows, as they stand on the page."""
    return [int(found) for found in re.findall(r"\w+\(order: (\d+)[^<]*</a>", page.html)]


def found(browser, query=""):
    page = open_page(browser, f"{PATH}{query}")
    assert page.status == 200, page.text
    return orders(page)


def row(page, order):
    rows = (part.partition("</tr>")[0] for part in page.html.split("<tr>"))
    return next(part for part in rows if f"(order: {order})</a>" in part)


class TestRows:
    def test_they_stand_newest_first_with_who_and_where_they_stand(self, app, eve, ops):
        eve.ask(order=1)
        ops.decide("dismiss", eve.ask(order=2)["proposal_id"], note="not this week")
        page = open_page(ops, PATH)
        assert orders(page) == [2, 1]
        for words in ("Dismissed", "not this week", "Eve", "Olga"):
            assert words in row(page, 2)
        assert "Waits for a decision" in row(page, 1)

    def test_a_row_leads_to_its_proposal(self, eve, ops):
        proposal_id = eve.ask(order=1)["proposal_id"]
        (way,) = re.findall(r'href="([^"]*)">refund\(order: 1\)', open_page(ops, PATH).html)
        assert way == f"/litro/proposals/{proposal_id}"
        assert open_page(ops, way).status == 200

    def test_an_empty_ledger_says_so(self, ops):
        assert "Nothing was ever proposed here." in open_page(ops, PATH).text

    def test_fifty_a_page_and_every_row_once(self, app, eve, ops):
        for order in range(1, 53):
            eve.ask(order=order)
        first = open_page(ops, PATH)
        (way,) = re.findall(r'rel="next" href="([^"]*)"', first.html)
        second = open_page(ops, way.replace("&amp;", "&"))
        assert orders(first) == list(range(52, 2, -1))
        assert orders(second) == [2, 1]
        assert "Newest" in second.text
        assert 'rel="next"' not in second.html

    def test_the_next_page_keeps_the_filter(self, app, eve, ops):
        for order in range(1, 53):
            eve.ask(order=order)
        page = open_page(ops, f"{PATH}?tool=refund&state=proposed&q=order")
        (way,) = re.findall(r'rel="next" href="([^"]*)"', page.html)
        for part in ("tool=refund", "state=proposed", "q=order", "after="):
            assert part in way

    def test_somebody_who_only_approves_is_kept_out(self, app):
        two = Browser(app, "two")
        for path in (PATH, AUDIT, f"{PATH}.csv", f"{PATH}.ndjson"):
            assert open_page(two, path).status == 403

    def test_hostile_words_are_text(self, app, eve, ops):
        app.extensions["people"]["eve"] = Actor("eve", "<script>x</script>", frozenset({"refunds:edit"}))
        proposal_id = eve.ask(order=1, text="<img src=x>{{7*7}}")["proposal_id"]
        ops.decide("dismiss", proposal_id, note="</td><b>{{7*7}}")
        page = open_page(ops, f"{PATH}?q=%3Cimg")
        assert orders(page) == [1]
        assert "<img" not in page.html
        assert "<script>x" not in page.html
        assert "{{7*7}}" in page.text


class TestFilters:
    @pytest.fixture(autouse=True)
    def rows(self, app, eve, ops):
        self.approved = eve.ask(order=1)["proposal_id"]
        ops.decide("approve", self.approved)
        ops.decide("approve", eve.ask(order=0)["proposal_id"])
        ops.decide("dismiss", eve.ask(order=3)["proposal_id"], note="Not This Week")
        Browser(app, "bob").ask("charge", order=4)
        self.expired = eve.ask(order=5)["proposal_id"]
        age(app, self.expired, 3 * DAY)

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("?state=dismissed", [3]),
            ("?state=expired", [5]),
            ("?state=proposed&state=dismissed", [4, 3]),
            ("?outcome=failed", [0]),
            ("?state=executed&outcome=ok", [1]),
            ("?tool=charge", [4]),
            ("?proposer=bob", [4]),
            ("?decider=ops", [3, 0, 1]),
            ("?decider=ops&state=dismissed", [3]),
            ("?q=not+this+week", [3]),
            ("?q=CHARGE", [4]),
            ("?agent=desk&tool=refund&q=order:+1", [1]),
            ("?agent=nobody", []),
            ("?q=%25", []),
            ("?q=&agent=&tool=&state=&from=&to=", [4, 3, 0, 1, 5]),
        ],
    )
    def test_each_narrows_and_all_stand_in_the_url(self, ops, query, expected):
        assert found(ops, query) == expected

    def test_days_are_those_of_utc_both_included(self, app, ops):
        day = books(app).database.time() // DAY
        today, before = (day_text(day - back) for back in (0, 3))
        assert found(ops, f"?from={today}") == [4, 3, 0, 1]
        assert found(ops, f"?from={before}&to={before}") == [5]
        assert found(ops, f"?to={today}") == [4, 3, 0, 1, 5]

    def test_an_id_finds_its_proposal(self, ops):
        assert found(ops, f"?q={self.approved}") == [1]

    def test_states_have_their_counts_under_the_other_filters(self, ops):
        page = open_page(ops, f"{PATH}?proposer=eve&state=dismissed")
        states = page.html.split('aria-label="State"')[1].split("</nav>")[0]
        counts = dict(re.findall(r">([A-Z][a-z ]+) <b>(\d+)</b>", states))
        assert counts == {"All": "4", "Carried out": "2", "Dismissed": "1", "Expired": "1"}

    def test_a_link_to_a_state_keeps_the_other_filters(self, ops):
        page = open_page(ops, f"{PATH}?proposer=eve&q=order&state=dismissed")
        states = page.html.split('aria-label="State"')[1].split("</nav>")[0]
        ways = [way.replace("&amp;", "&") for way in re.findall(r'href="([^"]*)"', states)]
        assert all("proposer=eve" in way and "q=order" in way for way in ways)
        assert [orders(open_page(ops, way)) for way in ways] == [[3, 0, 1, 5], [0, 1], [3], [5]]

    @pytest.mark.parametrize(
        ("query", "name", "way", "expected"),
        [
            ("", "Bob", f"{PATH}?proposer=bob", [4]),
            (
                "?proposer=eve&state=dismissed",
                "Olga",
                f"{PATH}?proposer=eve&state=dismissed&decider=ops",
                [3],
            ),
        ],
    )
    def test_a_name_leads_to_what_that_person_did_under_the_other_filters(
        self, ops, query, name, way, expected
    ):
        page = open_page(ops, PATH + query)
        ways = re.findall(rf'<td><a href="([^"]*)">{name}</a>', page.html)
        assert {html.unescape(each) for each in ways} == {way}
        assert found(ops, way.removeprefix(PATH)) == expected

    def test_the_form_shows_what_was_asked(self, ops):
        page = open_page(ops, f"{PATH}?q=a%22b&proposer=eve&tool=gone_tool&state=void")
        assert 'name="q" value="a&#34;b"' in page.html
        assert "<option selected>gone_tool</option>" in page.html
        assert '<input type="hidden" name="state" value="void">' in page.html

    @pytest.mark.parametrize(
        ("query", "words"),
        [
            ("?state=approved", "no state named 'approved'; there is: proposed"),
            ("?outcome=maybe", "'outcome' must be one of ok, failed"),
            ("?from=yesterday", "'from' must be a day such as 2026-11-30, not 'yesterday'"),
            ("?to=2026-02-30", "'to' must be a day"),
            ("?from=20261130", "'from' must be a day"),
            ("?from=2026-11-30&to=2026-11-29", "'from' (2026-11-30) is after 'to' (2026-11-29)"),
            ("?agent=a&agent=b", "'agent' is given 2 times"),
            (f"?q={'x' * 256}", "'q' must be a text of at most 255 characters"),
            ("?q=%00", "'q' must be a text of at most 255 characters, and without NUL"),
        ],
    )
    @pytest.mark.parametrize("path", [PATH, f"{PATH}.csv"])
    def test_what_cannot_be_is_refused_in_words(self, ops, path, query, words):
        answer = open_page(ops, f"{path}{query}")
        assert answer.status == 400
        assert words in answer.text

    @pytest.mark.parametrize("mark", ["x", "1-%00", ""])
    def test_a_page_that_is_none_is_refused_in_words(self, ops, mark):
        answer = open_page(ops, f"{PATH}?after={mark}")
        assert answer.status == 400
        assert "there is no such page" in answer.text


class TestOffers:
    def test_a_done_one_with_an_inverse_offers_its_reverse(self, eve, ops):
        ops.decide("approve", eve.ask(order=1)["proposal_id"])
        page = open_page(ops, PATH)
        (way,) = re.findall(r'action="([^"]*/reverse)"', row(page, 1))
        answer = open_page(ops, way, {"csrf_token": token(page), "back": "proposal"})
        assert answer.status == 303
        assert "charge(order: 1)" in open_page(ops, answer.location).text

    def test_one_without_an_inverse_and_one_that_failed_offer_nothing(self, app, eve, ops):
        app.extensions["people"]["two"] = Actor("two", "Otto", OPS.permissions | {"litro:admin"})
        Browser(app, "two").decide("approve", Browser(app, "bob").ask("charge", order=1)["proposal_id"])
        ops.decide("approve", eve.ask(order=0)["proposal_id"])
        page = open_page(ops, PATH)
        assert "<form" not in row(page, 1)
        assert "<form" not in row(page, 0)

    def test_an_expired_and_a_dismissed_one_can_be_proposed_again(self, app, eve, ops):
        ops.decide("dismiss", eve.ask(order=1)["proposal_id"])
        age(app, eve.ask(order=2)["proposal_id"], DAY)
        page = open_page(ops, PATH)
        assert all("Propose again" in row(page, order) for order in (1, 2))
        (way,) = re.findall(r'action="([^"]*/again)"', row(page, 2))
        assert open_page(ops, way, {"csrf_token": token(page), "back": "proposal"}).status == 303
        assert orders(open_page(ops, f"{PATH}?state=proposed")) == [2]

    def test_an_open_one_is_decided_on_its_page_and_not_here(self, eve, ops):
        eve.ask(order=1)
        assert "<form" not in row(open_page(ops, PATH), 1)

    def test_whoever_may_not_decide_is_offered_nothing(self, app, eve, ops):
        ops.decide("dismiss", eve.ask(order=1)["proposal_id"])
        assert "<form" not in row(open_page(Browser(app, "ada"), PATH), 1)

    def test_a_tool_that_is_gone_offers_nothing(self, app, eve, ops):
        ops.decide("dismiss", eve.ask(order=1)["proposal_id"])
        change(app, update(tables.proposal).values(tool="gone"))
        assert "<form" not in row(open_page(ops, PATH), 1)


class TestFiles:
    def csv(self, browser, query=""):
        answer = browser.client.get(f"{PATH}.csv{query}", headers={"X-Actor": browser.actor})
        assert answer.status_code == 200
        return list(csv.DictReader(io.StringIO(answer.data.decode("utf-8-sig"), newline="")))

    def ndjson(self, browser, query=""):
        answer = browser.client.get(f"{PATH}.ndjson{query}", headers={"X-Actor": browser.actor})
        assert answer.status_code == 200
        return [json.loads(line) for line in answer.data.splitlines()]

    def test_csv_has_the_filtered_rows_with_times_in_utc_and_arguments_as_they_run(self, eve, ops):
        ops.decide("approve", eve.ask(order=1, text="ä")["proposal_id"])
        eve.ask(order=2)
        (one,) = self.csv(ops, "?state=executed")
        assert (one["state"], one["outcome"], one["decided_by"]) == ("executed", "ok", "ops")
        assert one["arguments"] == '{"order":1,"text":"ä"}'
        assert one["result"] == '{"paid": 1}'
        for name in ("created_at", "claimed_at", "started_at", "settled_at", "expires_at"):
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", one[name]), name
        assert one["note"] == ""

    def test_ndjson_has_the_same_rows_with_null_for_nothing(self, eve, ops):
        eve.ask(order=2)
        (one,) = self.ndjson(ops)
        assert (one["arguments"], one["note"], one["agent"]) == ('{"order":2}', None, "desk")
        assert one.keys() == self.csv(ops)[0].keys()

    @pytest.mark.parametrize(
        "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\r=1", "\n=1", "\uff1d1", '=HYPERLINK("x","y")']
    )
    def test_a_cell_that_a_spreadsheet_would_run_is_text(self, app, eve, ops, text):
        proposal_id = eve.ask(order=1)["proposal_id"]
        change(app, update(tables.proposal).where(tables.proposal.c.id == proposal_id).values(summary=text))
        cell = self.csv(ops)[0]["summary"]
        assert cell.startswith("'")
        assert cell.replace("'", "") == text
        assert self.ndjson(ops)[0]["summary"] == text

    @pytest.mark.parametrize(
        "text", ["a;=1+1;b", "a\t=1+1\tb", "a\n=1+1", "a\r\n@x", 'a;"=1+1";b', "a; \uff1d1;b", "a;;-1;b"]
    )
    def test_no_piece_of_a_cell_runs_where_another_sign_divides_cells(self, app, eve, ops, text):
        proposal_id = eve.ask(order=1)["proposal_id"]
        change(app, update(tables.proposal).where(tables.proposal.c.id == proposal_id).values(summary=text))
        file = open_page(ops, "/litro/ledger.csv").html
        for sign in ";\t":
            cells = [cell for line in csv.reader(io.StringIO(file), delimiter=sign) for cell in line]
            assert not [cell for cell in cells if cell.strip().startswith(("=", "+", "-", "@", "\uff1d"))]
        assert self.ndjson(ops)[0]["summary"] == text

    @pytest.mark.parametrize("text", ["a,b", 'a"b', "a\r\nb", "a;b", "'=1", "1=1"])
    def test_what_csv_must_quote_comes_back_as_it_was(self, app, eve, ops, text):
        proposal_id = eve.ask(order=1)["proposal_id"]
        change(app, update(tables.proposal).where(tables.proposal.c.id == proposal_id).values(summary=text))
        assert self.csv(ops)[0]["summary"] == text

    def test_more_than_one_batch_is_written_whole_and_each_row_once(self, app, eve, ops):
        count = multiply(app, eve.ask(order=1)["proposal_id"], BATCH * 2 + 3)
        ids = [one["id"] for one in self.csv(ops)]
        assert len(ids) == len(set(ids)) == count
        assert ids == [one["id"] for one in self.ndjson(ops)]

    def test_it_is_read_a_batch_at_a_time_while_it_is_sent(self, app, eve, ops):
        multiply(app, eve.ask(order=1)["proposal_id"], BATCH * 2)
        asked = []
        ledger = books(app).ledger
        search = type(ledger).search

        class Watched(type(ledger)):
            __slots__ = ()

            def search(self, *given, **options):
                asked.append(options)
                return search(self, *given, **options)

        ledger.__class__ = Watched
        answer = ops.client.get(f"{PATH}.ndjson", headers={"X-Actor": "ops"}, buffered=False)
        assert len(asked) == 1
        parts = iter(answer.response)
        for _ in range(3):
            next(parts)
        assert len(asked) == 2
        answer.close()

    def test_a_database_that_goes_away_in_the_middle_cuts_the_file_short_and_never_ends_it(
        self, app, eve, ops
    ):
        multiply(app, eve.ask(order=1)["proposal_id"], BATCH * 2)
        answer = ops.client.get(f"{PATH}.ndjson", headers={"X-Actor": "ops"}, buffered=False)
        tables.proposal.drop(books(app).database.engine)
        with pytest.raises(Exception, match="the ledger's database is away"):
            b"".join(answer.response)
        answer.close()

    def test_it_is_an_attachment_named_by_its_day(self, ops):
        answer = ops.client.get(f"{PATH}.csv", headers={"X-Actor": "ops"})
        assert re.fullmatch(
            r'attachment; filename="ledger-\d{4}-\d\d-\d\d\.csv"', answer.headers["Content-Disposition"]
        )
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.mimetype == "text/csv"

    def test_who_takes_it_stands_in_the_log(self, ops, caplog):
        with caplog.at_level("INFO"):
            ops.client.get(f"{PATH}.csv?q=x", headers={"X-Actor": "ops"})
        assert "'ops' takes the ledger as csv" in caplog.text

    def test_there_is_no_other_kind_of_file(self, ops):
        assert open_page(ops, f"{PATH}.xls").status == 404


class TestAudit:
    def test_rows_stand_newest_first_with_where_the_chain_ends(self, app, eve, ops):
        ops.decide("dismiss", eve.ask(order=1)["proposal_id"])
        books(app).ceiling.set("site", Level.READ, by="ops")
        page = open_page(ops, AUDIT)
        assert page.html.index('id="a2"') < page.html.index('id="a1"')
        assert str(books(app).audit.head()) in page.text
        assert re.search(r'href="/litro/proposals/\w+"', page.html)

    def test_rows_are_of_one_kind_when_that_is_asked(self, app, eve, ops):
        ops.decide("dismiss", eve.ask(order=1)["proposal_id"])
        books(app).ceiling.set("site", Level.READ, by="ops")
        page = open_page(ops, f"{AUDIT}?kind=ceiling")
        assert 'id="a2"' in page.html
        assert 'id="a1"' not in page.html
        answer = open_page(ops, f"{AUDIT}?kind=gossip")
        assert (answer.status, "no kind named 'gossip'" in answer.text) == (400, True)

    def test_fifty_a_page(self, app, ops):
        for _ in range(51):
            books(app).ceiling.set("site", Level.READ, by="ops")
        page = open_page(ops, AUDIT)
        (way,) = re.findall(r'rel="next" href="([^"]*)"', page.html)
        second = open_page(ops, way.replace("&amp;", "&"))
        assert re.findall(r'<tr id="a(\d+)"', page.html) == [str(seq) for seq in range(51, 1, -1)]
        assert re.findall(r'<tr id="a(\d+)"', second.html) == ["1"]

    @pytest.mark.parametrize(
        "values", [{"data": b"{"}, {"data": b"\xff"}, {"at": 10**17}, {"subject": "../x?y"}, {"kind": "<b>"}]
    )
    def test_a_row_that_somebody_wrote_over_stands_there_and_breaks_nothing(self, app, ops, values):
        for _ in range(3):
            books(app).ceiling.set("site", Level.READ, by="ops")
        change(app, update(tables.audit).where(tables.audit.c.seq == 2).values(values))
        page = open_page(ops, AUDIT)
        assert page.status == 200
        assert re.findall(r'<tr id="a(\d+)"', page.html) == ["3", "2", "1"]
        assert "<b>" not in page.html.split("<tbody>")[1]
        assert ("destroyed" in page.text) == ("data" in values)

    def test_a_whole_chain_is_said_to_be_whole(self, app, ops):
        books(app).ceiling.set("site", Level.READ, by="ops")
        page = open_page(ops, f"{AUDIT}?verify=1")
        assert "The chain is whole." in page.text

    def test_a_changed_row_is_named(self, app, ops):
        books(app).ceiling.set("site", Level.READ, by="ops")
        change(app, update(tables.audit).values(actor="somebody"))
        page = open_page(ops, f"{AUDIT}?verify=1")
        assert "The chain is not whole" in page.text
        assert "row 1 was changed" in page.text

    def test_a_cut_end_is_seen_by_a_kept_head(self, app, ops):
        books(app).ceiling.set("site", Level.READ, by="ops")
        head = str(books(app).audit.head())
        assert "It has the head that was kept." in open_page(ops, f"{AUDIT}?verify=1&head={head}").text
        cut = update(tables.epoch).where(tables.epoch.c.id == tables.AUDIT).values(value=0)
        change(app, tables.audit.delete(), cut)
        assert "The chain is not whole" in open_page(ops, f"{AUDIT}?verify=1&head={head}").text

    @pytest.mark.parametrize("query", ["?before=0", "?before=x", "?verify=1&head=x", "?verify=1&head=1:0"])
    def test_what_cannot_be_is_refused(self, ops, query):
        assert open_page(ops, f"{AUDIT}{query}").status == 400

    def test_a_long_chain_is_left_to_the_command_line(self, app, ops):
        books(app).ceiling.set("site", Level.READ, by="ops")
        change(app, update(tables.audit).values(seq=20_001))
        page = open_page(ops, AUDIT)
        assert "flask litro audit verify" in page.text
        assert "Verify the whole chain" not in page.text
        assert open_page(ops, f"{AUDIT}?verify=1").status == 400


def token(page):
    return page.html.split('name="csrf_token" value="')[1].split('"')[0]


def multiply(app, proposal_id, count):
    """Write so many copies of a proposal; return how many rows there are then."""
    database = books(app).database
    read = select(tables.proposal).where(tables.proposal.c.id == proposal_id)
    one = dict(database.read(lambda held: held.execute(read).mappings().one()))
    free = {"open_key": None, "slot_key": None, "call_key": None}
    copies = [{**one, **free, "id": f"copy{number}", "created_at": number // 2} for number in range(count)]
    database.write(lambda held: held.execute(insert(tables.proposal), copies).close())
    return count + 1
