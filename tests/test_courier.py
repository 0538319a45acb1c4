"""notices/courier.py: a new proposal reaches the receiver, whatever dies, and nobody who does something else waits."""

from __future__ import annotations

import importlib.util
import logging
import queue
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import func, select
from standardwebhooks import Webhook as Verifier

from flask_litro_agent import Actor, ConfigurationError
from flask_litro_agent.core import tables
from flask_litro_agent.core.deliveries import Deliveries
from flask_litro_agent.doctor import examine
from flask_litro_agent.notices import courier as couriers
from flask_litro_agent.notices.courier import PAUSES, Courier
from flask_litro_agent.notices.webhook import Webhook
from flask_litro_agent.providers.http import Limits
from tests.bench import until
from tests.courier_child import propose, site
from tests.databases import Clock, open_database
from tests.doc_pages import files
from tests.ledger_bench import LIMIT, LedgerBench
from tests.proposal_site import EVE, Browser, proposal_site
from tests.receivers import SECRET, closed_port, receiving

ROOT = Path(__file__).parents[1]
QUICK = Limits(connect_seconds=1, idle_seconds=1, total_seconds=2, max_bytes=1024)
START = 90.0
MONTH = 30 * 86_400_000
#: A process whose webhook's receiver hangs; it prints the longest gap of its event hub, in seconds.
HUB = """
from gevent import monkey
monkey.patch_all()
import sys, time, gevent
from pathlib import Path
from tests.courier_child import propose, site

app = site(Path(sys.argv[1]), sys.argv[2])
propose(app, 1)
gaps, end = [], time.monotonic() + 2
while (began := time.monotonic()) < end:
    gevent.sleep(0.01)
    gaps.append(time.monotonic() - began)
print(max(gaps), flush=True)
"""


@pytest.fixture
def app(tmp_path, receiver):
    return site(tmp_path, receiver.url)


def courier_of(app):
    return app.extensions["litro_agent"].books.courier


def deliveries_of(app):
    return app.extensions["litro_agent"].books.deliveries


# --- what is said ---


def test_a_card_is_announced_soon_after_it_was_made(app, receiver):
    proposal_id = Browser(app, "eve").ask(order=7)["proposal_id"]
    (got,) = until(lambda: receiver.got)
    said = Verifier(SECRET).verify(got.body, got.headers)
    data = said["data"]
    stands = app.extensions["litro_agent"].books.ledger.get(proposal_id)
    assert said["type"] == "proposal.recorded"
    assert said["timestamp"] == data["created_at"]
    assert data == {
        "proposal_id": proposal_id,
        "agent": "desk",
        "tool": "refund",
        "permission": "refunds:edit",
        "summary": "refund(order: 7)",
        "proposer": {"id": "eve", "name": "Eve"},
        "four_eyes": False,
        "created_at": data["created_at"],
        "expires_at": data["expires_at"],
        "url": f"https://shop.example/litro/proposals/{proposal_id}",
    }
    assert data["created_at"].endswith("Z")
    assert data["expires_at"] > data["created_at"]
    assert got.headers["content-type"] == "application/json"
    text = got.body.decode()
    for secret in (stands.digest, stands.args_digest, stands.contract_digest, "csrf", "approve"):
        assert secret not in text


def test_it_is_sent_once(app, receiver):
    Browser(app, "eve").ask()
    until(lambda: deliveries_of(app).due_in() is None)
    for _ in range(3):
        courier_of(app).deliver()
    assert len(receiver.got) == 1


def test_an_unknown_outcome_is_announced_with_what_to_look_for(app, receiver):
    proposal_id = Browser(app, "eve").ask(order=13)["proposal_id"]
    until(lambda: receiver.got)
    Browser(app).decide("approve", proposal_id)
    courier_of(app).deliver()
    courier_of(app).deliver()
    recorded, unknown = (got.json for got in receiver.got)
    assert (recorded["type"], unknown["type"]) == ("proposal.recorded", "proposal.unknown")
    assert unknown["data"]["idempotency_key"] == f"litro-{proposal_id}"
    assert unknown["data"]["claimed_at"]
    assert receiver.got[0].id != receiver.got[1].id


def test_without_the_sites_address_there_is_no_link_and_the_report_says_so(tmp_path, receiver):
    app = proposal_site(tmp_path, LITRO_WEBHOOK_URL=receiver.url, LITRO_WEBHOOK_SECRET=SECRET)
    Browser(app, "eve").ask()
    assert until(lambda: receiver.got)[0].json["data"]["url"] is None
    warnings = app.extensions["litro_agent"].report.warnings
    assert any("LITRO_EXTERNAL_URL" in warning for warning in warnings)


def test_a_webhook_without_a_secret_does_not_start(tmp_path):
    with pytest.raises(ConfigurationError, match="LITRO_WEBHOOK_SECRET is not"):
        proposal_site(tmp_path, LITRO_WEBHOOK_URL="https://hooks.example/x")


def test_a_person_whom_the_loader_forgot_has_no_name(app, receiver):
    app.testing = True
    propose(app, 1)
    del app.extensions["people"]["eve"]
    courier_of(app).deliver()
    assert receiver.got[0].json["data"]["proposer"] == {"id": "eve", "name": None}


def test_a_loader_that_fails_costs_the_name_alone(app, receiver, caplog):
    app.testing = True
    propose(app, 1)
    app.extensions["people"].clear()
    app.extensions["people"]["eve"] = "no actor"
    courier_of(app).deliver()
    assert receiver.got[0].json["data"]["proposer"]["name"] is None
    assert "the actor_loader failed" in caplog.text


def test_a_hostile_name_is_text_like_any_other(app, receiver):
    app.testing = True
    name = "</script>\u202e{{7*7}}\n\x1b[31m"
    app.extensions["people"]["eve"] = Actor("eve", name, EVE.permissions)
    propose(app, 1)
    courier_of(app).deliver()
    assert receiver.got[0].json["data"]["proposer"]["name"] == name


# --- nobody waits for it ---


def test_a_slow_receiver_slows_no_request(app, receiver):
    """Inside the requests it would take 15 seconds each: the webhook's own limit."""
    receiver.how = "hang"
    eve = Browser(app, "eve")
    began = time.monotonic()
    for order in range(3):
        eve.ask(order=order, session=f"s{order}")
    waited = time.monotonic() - began
    until(lambda: receiver.got)
    receiver.released.set()
    assert waited < 15


def test_control_sending_inside_the_request_would(app, receiver):
    receiver.delay = 3
    ledger = app.extensions["litro_agent"].books.ledger
    ledger._witnesses = [lambda news: courier_of(app).deliver()]
    began = time.monotonic()
    Browser(app, "eve").ask()
    assert time.monotonic() - began >= 3


def test_a_slow_receiver_holds_up_no_event_hub(tmp_path, receiver):
    receiver.how = "hang"
    command = [sys.executable, "-c", HUB, str(tmp_path), receiver.url]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=START, check=True)
    assert len(receiver.got) == 1
    assert float(run.stdout.split()[-1]) < 1


def test_under_test_nothing_is_sent_of_its_own_accord(app, receiver):
    """A test's transactions belong to the test."""
    app.testing = True
    propose(app, 1)
    Browser(app, "eve").get("x")
    assert courier_of(app)._process().thread is None
    courier_of(app).deliver()
    assert len(receiver.got) == 1


# --- processes ---


@contextmanager
def child(what, folder, url):
    command = [sys.executable, "-m", "tests.courier_child", what, str(folder), url]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def test_what_a_process_could_not_send_before_kill_9_another_sends(tmp_path, receiver):
    with child("record", tmp_path, receiver.url) as died:
        proposal_id = died.stdout.readline().strip()
        died.send_signal(signal.SIGKILL)
        died.wait()
    assert receiver.got == []
    app = site(tmp_path, receiver.url)
    Browser(app, "eve").get("x")  # the first request starts the thread; nothing is recorded here
    (got,) = until(lambda: receiver.got)
    assert got.json["data"]["proposal_id"] == proposal_id


def test_what_a_process_was_sending_at_kill_9_is_sent_again_under_the_same_id(tmp_path, receiver):
    """At least once: the receiver may have taken it, and knows the id."""
    receiver.how = "hang"
    with child("hold", tmp_path, receiver.url) as died:
        died.stdout.readline()
        until(lambda: receiver.got)
        died.send_signal(signal.SIGKILL)
        died.wait()
    receiver.how = ""
    app = site(tmp_path, receiver.url)
    assert courier_of(app).deliver() == pytest.approx(30)  # it is still the dead one's
    assert len(receiver.got) == 1
    database = app.extensions["litro_agent"].books.database
    later = Clock(database.engine, database.time() + 61_000)
    courier = Courier(
        app,
        app.extensions["litro_agent"].settings,
        Deliveries(later),
        Webhook(receiver.url, SECRET),
        name_of=lambda actor_id: None,
    )
    courier.deliver()
    assert [got.id for got in receiver.got] == [receiver.got[0].id] * 2


def test_a_process_that_ends_sends_first(tmp_path, receiver):
    with child("end", tmp_path, receiver.url) as process:
        process.stdout.readline()
        assert process.wait(START) == 0
    assert len(receiver.got) == 1


def test_a_process_that_ends_does_not_wait_long_for_a_receiver(tmp_path, receiver):
    receiver.how = "hang"
    with child("end", tmp_path, receiver.url) as process:
        process.stdout.readline()
        began = time.monotonic()
        assert process.wait(START) == 0
    assert time.monotonic() - began < 8


def test_a_forked_process_has_a_thread_of_its_own(tmp_path, receiver):
    with child("forks", tmp_path, receiver.url) as process:
        assert process.wait(START) == 0
    assert len(receiver.times) == 2


def test_two_processes_send_each_message_once(tmp_path, receiver):
    app = site(tmp_path, receiver.url)
    app.testing = True
    with child("two", tmp_path, receiver.url) as one, child("two", tmp_path, receiver.url) as other:
        for process in (one, other):
            assert process.stdout.readline() == "ready\n"
        for process in (one, other):
            process.stdin.write("\n")
            process.stdin.flush()
        until(lambda: len(receiver.times) == 40, seconds=START)
        until(lambda: deliveries_of(app).due_in() is None)
    assert set(receiver.times.values()) == {1}


# --- a receiver that does not take it: a courier whose time a test moves ---


class Desk:
    """A courier on a ledger with a clock that stands still, and one proposal that waits for a month."""

    def __init__(self, app, folder, url, *, propose=True):
        self.clock = Clock(app.extensions["litro_agent"].books.database.engine, 1_800_000_000_000)
        self.bench = LedgerBench(self.clock, announces=True)
        self.proposal = self.bench.propose(ttl_ms=MONTH) if propose else None
        self.deliveries = Deliveries(self.clock)
        self.courier = Courier(
            app,
            app.extensions["litro_agent"].settings,
            self.deliveries,
            Webhook(url, SECRET, limits=QUICK),
            name_of=lambda actor_id: None,
        )

    def pause(self):
        """Deliver, and go to when it is due again; return how long that was, in seconds."""
        self.courier.deliver()
        due = self.deliveries.due_in()
        self.clock.move(due or 0)
        return None if due is None else due / 1000


@pytest.fixture
def desk(app, tmp_path, receiver):
    return Desk(app, tmp_path, receiver.url)


def test_a_message_is_tried_again_at_growing_pauses_for_most_of_a_day_and_then_given_up(
    desk, receiver, caplog
):
    receiver.status = 500
    pauses = [desk.pause() for _ in range(len(PAUSES) + 1)]
    assert pauses == [*PAUSES, None]
    assert sorted(PAUSES) == list(PAUSES)
    assert 18 * 3600 < sum(PAUSES) < 24 * 3600
    assert (len(receiver.got), len(receiver.times)) == (10, 1)
    assert desk.deliveries.backlog().failed == 1
    last = caplog.records[-1]
    assert last.levelno == logging.ERROR
    assert "it is given up. The inbox still shows it: mend the receiver" in last.getMessage()
    assert desk.proposal.id in last.getMessage()


def test_each_attempt_is_signed_anew_so_that_it_is_not_too_old(desk, receiver):
    receiver.status = 500
    desk.pause()
    desk.pause()
    times = [int(got.headers["webhook-timestamp"]) for got in receiver.got]
    assert times == [1_800_000_000, 1_800_000_005]
    assert receiver.got[0].headers["webhook-signature"] != receiver.got[1].headers["webhook-signature"]


def test_it_arrives_once_the_receiver_is_up_again(app, tmp_path, receiver):
    desk = Desk(app, tmp_path, closed_port())
    desk.pause()
    desk.courier._webhook = Webhook(receiver.url, SECRET)
    assert desk.pause() is None
    assert len(receiver.got) == 1
    assert desk.deliveries.backlog().failed == 0


@pytest.mark.parametrize(
    ("status", "headers", "how"),
    [
        (404, {}, ""),
        (302, {"location": "http://127.0.0.1:1/"}, ""),
        (500, {"content-type": "text/html"}, "die"),
        (204, {}, "garbage"),
        (204, {}, "cut"),
    ],
    ids=["404", "redirect", "dies in its 500", "garbage", "hangs up"],
)
def test_nonsense_is_a_logged_line_and_another_attempt(desk, receiver, caplog, status, headers, how):
    receiver.status, receiver.headers, receiver.how = status, headers, how
    assert desk.pause() == PAUSES[0]
    (line,) = [record for record in caplog.records if record.name == couriers.__name__]
    assert line.levelno == logging.WARNING
    assert receiver.host in line.getMessage()


def test_no_line_has_the_addresss_or_the_keys_secret(desk, receiver, caplog):
    receiver.status = 500
    with caplog.at_level(logging.DEBUG, logger="flask_litro_agent"):
        for _ in range(len(PAUSES) + 1):
            desk.pause()
    assert "canary" not in caplog.text
    assert SECRET.removeprefix("whsec_") not in caplog.text


def test_a_receiver_that_asks_for_a_longer_pause_gets_it(desk, receiver):
    receiver.status, receiver.headers = 429, {"retry-after": "900"}
    assert desk.pause() == 900


def test_a_shorter_pause_or_one_of_a_year_it_does_not_get(desk, receiver):
    receiver.status, receiver.headers = 503, {"retry-after": "0"}
    assert desk.pause() == PAUSES[0]
    receiver.headers = {"retry-after": "31536000"}
    assert desk.pause() == 86_400


def test_gone_ends_it_at_once(desk, receiver):
    receiver.status = 410
    assert desk.pause() is None
    assert desk.deliveries.backlog().failed == 1


@pytest.mark.parametrize("end", ["expired", "dismissed"])
def test_what_is_over_is_not_announced_late(desk, receiver, caplog, end):
    receiver.status = 500
    desk.pause()
    if end == "dismissed":
        desk.bench.dismiss(desk.proposal)
    else:
        desk.clock.move(MONTH)
    receiver.status = 204
    assert desk.pause() is None
    assert len(receiver.got) == 1
    assert "did not arrive in time" in caplog.text


def test_what_was_decided_before_it_could_be_sent_is_dropped_without_a_word(desk, receiver, caplog):
    desk.bench.dismiss(desk.proposal)
    assert desk.pause() is None
    assert receiver.got == []
    assert [record for record in caplog.records if record.name == couriers.__name__] == []


def test_a_dead_receiver_does_not_keep_a_fresh_message_back(app, tmp_path, receiver):
    """The fresh one is tried first, before those that failed already."""
    desk = Desk(app, tmp_path, receiver.url)
    receiver.status = 500
    for _ in range(3):
        desk.pause()
    fresh = desk.bench.propose(ttl_ms=MONTH)
    desk.pause()
    assert [got.json["data"]["proposal_id"] for got in receiver.got[3:]] == [fresh.id, desk.proposal.id]


def test_an_unknown_outcome_is_told_of_for_as_long_as_it_is_one(app, tmp_path, receiver):
    desk = Desk(app, tmp_path, receiver.url, propose=False)
    claim = desk.bench.claimed(ttl_ms=MONTH)
    desk.bench.ledger.start(claim)
    desk.courier.deliver()
    assert receiver.got == []
    desk.clock.move(LIMIT + 10_000)
    receiver.status = 500
    desk.pause()
    receiver.status = 204
    desk.pause()
    desk.clock.move(MONTH)
    desk.pause()
    assert [got.json["type"] for got in receiver.got] == ["proposal.unknown"] * 2
    assert len(receiver.times) == 1


def test_a_database_that_is_away_is_said_once_and_looked_for_again(app, tmp_path, receiver, caplog):
    desk = Desk(app, tmp_path, receiver.url)
    engine = desk.clock._given
    desk.clock._given = lambda: open_database(f"sqlite:///{tmp_path}/none/there.db").engine
    waits = [desk.courier.deliver() for _ in range(3)]
    assert waits == [30.0] * 3
    assert caplog.text.count("messages wait") == 1
    desk.clock._given = engine
    desk.courier.deliver()
    assert len(receiver.got) == 1


def test_a_message_that_cannot_be_made_is_tried_again_and_stops_no_other(app, tmp_path, receiver, caplog):
    desk = Desk(app, tmp_path, receiver.url)
    desk.courier._webhook.signature = None
    assert desk.pause() == PAUSES[0]
    assert "could not be made" in caplog.text


def test_the_thread_ends_with_its_app(tmp_path):
    with receiving() as receiver:
        courier = site(tmp_path, receiver.url).extensions["litro_agent"].books.courier
        courier._poll_seconds = 0.05
        courier.attend()
        thread = courier._process().thread
        del courier
        until(lambda: not _collected(thread))


def _collected(thread):
    import gc

    gc.collect()
    return thread.is_alive()


# --- the operator's tools, and the page of the documentation ---


def findings(app):
    found = examine(app, app.extensions["litro_agent"])
    return {one.message: one.level for one in found if one.message.startswith("webhook")}


def test_doctor_is_content_with_a_receiver_that_takes_what_it_is_sent(app):
    assert findings(app) == {"webhook: the receiver takes what it is sent": "ok"}


def test_doctor_counts_what_did_not_arrive(app, receiver):
    app.testing = True
    receiver.status = 410
    propose(app, 1)
    courier_of(app).deliver()
    receiver.status = 500
    propose(app, 2)
    courier_of(app).deliver()
    ((said, level),) = findings(app).items()
    assert level == "warn"
    assert said.startswith("webhook: 1 messages were given up within a week and 1 wait for another attempt")


def test_doctor_warns_of_messages_that_everybody_can_read(tmp_path):
    found = findings(site(tmp_path, "http://hooks.example/x"))
    assert found.pop("webhook: the receiver takes what it is sent") == "ok"
    assert [(said[:35], level) for said, level in found.items()] == [
        ("webhook: LITRO_WEBHOOK_URL is http:", "warn")
    ]


def test_doctor_says_nothing_of_a_webhook_that_is_not_set(tmp_path):
    assert findings(proposal_site(tmp_path)) == {}


def messages(app):
    query = select(func.count()).select_from(tables.delivery)
    return app.extensions["litro_agent"].books.database.read(
        lambda connection: connection.execute(query).scalar_one()
    )


def test_pruning_takes_old_messages_along_but_none_that_waits(app):
    app.testing = True
    propose(app, 1)
    courier_of(app).deliver()
    propose(app, 2)
    time.sleep(0.01)
    for arguments, left in (
        (["--days", "1"], 2),
        (["--actor", "eve", "--days", "0"], 2),
        (["--days", "0"], 1),
    ):
        result = app.test_cli_runner().invoke(args=["litro", "prune", *arguments])
        assert (result.exit_code, messages(app)) == (0, left)


@contextmanager
def documented(name, folder):
    """Give a file of the page as a module."""
    path = folder / f"{name}.py"
    path.write_text(files("notifications")[path.name])
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, name, module)  # Flask looks there for the app's folder
        spec.loader.exec_module(module)
        yield module


def test_the_receiver_of_the_documentation_takes_what_is_sent(app, receiver, tmp_path):
    said = []
    with documented("receiver", tmp_path) as module:
        client = module.create_receiver(SECRET, said.append).test_client()
    propose(app, 7)
    (got,) = until(lambda: receiver.got)
    signed = {name: value for name, value in got.headers.items() if name.startswith("webhook-")}
    forged = {**signed, "webhook-timestamp": str(int(signed["webhook-timestamp"]) - 1)}
    answers = [
        client.post("/litro", data=got.body, headers=headers, content_type="application/json").status_code
        for headers in (signed, signed, forged)
    ]
    assert answers == [204, 204, 401]
    assert said == [f"Eve asks for refund(order: 7): {got.json['data']['url']}"]


def test_the_mail_of_the_documentation_leads_to_the_card(app, tmp_path):
    waiting = queue.Queue()
    app.config["OPERATORS"] = "ops@shop.example"
    with documented("operators_mail", tmp_path) as module:
        module.mail_operators(app, waiting)
    proposal_id = Browser(app, "eve").ask(order=7)["proposal_id"]
    mail = waiting.get(timeout=5)
    assert (mail["To"], mail["Subject"]) == ("ops@shop.example", "desk asks: refund")
    assert mail.get_content() == f"refund(order: 7)\n\nhttps://shop.example/litro/proposals/{proposal_id}\n"
