"""notices/webhook.py: one signed POST, what counts as taken, and that no receiver can do more than answer."""

from __future__ import annotations

import dataclasses
import time

import pytest
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from flask_litro_agent.notices.webhook import Answer, Webhook
from flask_litro_agent.providers.http import Limits
from tests.receivers import SECRET, closed_port

QUICK = Limits(connect_seconds=1, idle_seconds=0.3, total_seconds=0.6, max_bytes=1024)
BODY = '{"type":"proposal.recorded","data":{"summary":"größer ✓"}}'.encode()


@pytest.fixture
def hook(receiver):
    return Webhook(receiver.url, SECRET, limits=QUICK)


def post(hook, body=BODY, *, at=None):
    return hook.post("m1", body, at=int(time.time()) if at is None else at)


# --- the signature ---


def test_a_stranger_who_knows_the_specification_can_verify_it(receiver, hook):
    assert post(hook) == Answer(True, "answered 204")
    (got,) = receiver.got
    assert Verifier(SECRET).verify(got.body, got.headers)["data"] == {"summary": "größer ✓"}


def test_it_is_the_value_that_the_specification_gives():
    """The example of the specification's own text, so that both libraries cannot err alike."""
    made = Webhook("http://x", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").signature(
        "msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}', at=1614265330
    )
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("changed", ["webhook-id", "webhook-timestamp", "body", "secret"])
def test_whatever_is_changed_on_the_way_shows(receiver, hook, changed):
    post(hook)
    (got,) = receiver.got
    headers, body, secret = dict(got.headers), got.body, SECRET
    match changed:
        case "webhook-id":
            headers["webhook-id"] = "m2"
        case "webhook-timestamp":
            headers["webhook-timestamp"] = str(int(headers["webhook-timestamp"]) + 1)
        case "body":
            body = body.replace(b"recorded", b"approved")
        case "secret":
            secret = SECRET[:-4] + "AAAA"
    with pytest.raises(WebhookVerificationError):
        Verifier(secret).verify(body, headers)


def test_a_message_that_is_played_again_later_is_too_old(receiver, hook):
    post(hook, at=int(time.time()) - 600)
    (got,) = receiver.got
    with pytest.raises(WebhookVerificationError, match="too old"):
        Verifier(SECRET).verify(got.body, got.headers)


# --- what counts as taken ---


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_every_2xx_is_taken(receiver, hook, status):
    receiver.status = status
    assert post(hook).is_taken


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_an_error_is_not_taken_and_may_be_tried_again(receiver, hook, status):
    receiver.status, receiver.answer = status, b"<html>canary</html>"
    assert post(hook) == Answer(False, f"answered {status}")


def test_gone_is_final(receiver, hook):
    receiver.status = 410
    assert post(hook) == Answer(False, "answered 410", is_final=True)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(receiver, hook, status):
    """It could point a signed message with people's data to anywhere."""
    receiver.status, receiver.headers = status, {"location": receiver.url}
    answer = post(hook)
    assert not answer.is_taken
    assert "redirects are not followed" in answer.said
    assert len(receiver.got) == 1


@pytest.mark.parametrize("wish", ["120", "0.5"])
def test_retry_after_is_read(receiver, hook, wish):
    receiver.status, receiver.headers = 503, {"retry-after": wish}
    assert post(hook).retry_after == float(wish)


# --- a receiver that misbehaves ---


def test_nobody_at_the_address(hook):
    assert post(Webhook(closed_port(), SECRET, limits=QUICK)) == Answer(
        False, "could not be reached (network)"
    )


@pytest.mark.parametrize(
    ("how", "said"), [("hang", "timeout"), ("drip", "timeout"), ("cut", "network"), ("garbage", "network")]
)
def test_no_answer_or_none_that_is_http(receiver, hook, how, said):
    receiver.how = how
    assert post(hook) == Answer(False, f"could not be reached ({said})")


def test_one_that_dies_after_its_2xx_has_taken_it(receiver, hook):
    receiver.how, receiver.status = "die", 200
    assert post(hook).is_taken


def test_one_that_dies_after_its_500_has_not(receiver, hook):
    receiver.how, receiver.status = "die", 500
    assert not post(hook).is_taken


def test_an_answer_without_end_is_left_unread(receiver, hook):
    receiver.status, receiver.answer = 200, b"x" * 50_000_000
    began = time.monotonic()
    assert post(hook).is_taken
    assert time.monotonic() - began < 30


def test_a_proxy_in_the_environment_is_not_asked(receiver, hook, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, closed_port())
    assert post(hook).is_taken


def test_an_answer_says_nothing_of_the_address_but_its_host(receiver):
    receiver.status = 500
    hook = Webhook(receiver.url, SECRET, limits=QUICK)
    said = str(dataclasses.asdict(post(hook))) + hook.host
    assert "canary" not in said
    assert hook.host == receiver.host


@pytest.mark.parametrize(
    ("url", "is_private"),
    [("https://hooks.example/x", True), ("http://hooks.example/x", False), ("http://127.0.0.1:1/", True)],
)
def test_http_is_for_this_machine(url, is_private):
    assert Webhook(url, SECRET).is_private is is_private
