"""What an upstream says when it refuses, as one error that may be shown."""

from __future__ import annotations

import json
import time
from email.utils import formatdate
from typing import Any

import pytest
import responses

from flask_litro_agent.contracts import ProviderError
from flask_litro_agent.providers.openai_compatible import openai_compatible
from flask_litro_agent.providers.refusals import read_refusal
from flask_litro_agent.testing.providers import collect

KEY = "canary/0123456789+abcdef="


def error(status: int, body: Any = "", **headers: str) -> ProviderError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read_refusal(
        status, {name.replace("_", "-"): value for name, value in headers.items()}, raw, secrets=[KEY]
    )


@pytest.mark.parametrize(
    ("status", "message", "code", "retryable"),
    [
        (400, "This model's maximum context length is 8192 tokens", "context_overflow", False),
        (500, "the request exceeds the available context size", "context_overflow", False),
        (413, "Request too large", "context_overflow", False),
        (413, "Request too large: tokens per minute (TPM) limit 6000", "rate_limit", True),
        (429, "You exceeded your current quota, please check your plan", "quota", False),
        (429, "context length rate", "rate_limit", True),
        (402, "pay", "quota", False),
        (400, "API key not valid. Please pass a valid API key.", "auth", False),
        (403, "forbidden", "auth", False),
        (404, "nothing here", "not_found", False),
        (400, "model 'demo' not found", "not_found", False),
        (400, "unknown parameter", "bad_request", False),
        (422, "unknown parameter", "bad_request", False),
        (408, "", "timeout", True),
        (409, "conflict", "server", True),
        (500, "", "server", True),
        (503, "The engine is currently overloaded", "overloaded", True),
        (524, "", "server", True),
        (302, "", "configuration", False),
    ],
)
def test_status_and_words_give_the_code(status: int, message: str, code: str, retryable: bool) -> None:
    refused = error(status, {"error": {"message": message}})
    assert (refused.code, refused.retryable, refused.status) == (code, retryable, status)


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "said so"}},
        {"error": "said so"},
        {"message": "said so"},
        {"detail": "said so"},
        {"detail": [{"msg": "said so"}]},
        {"error": {"error": {"message": "said so"}}},
        {"errors": [{"message": "said so"}]},
        [{"error": {"message": "said so"}}],
        b"said so",
    ],
)
def test_the_sentence_is_found_in_any_shape(body: Any) -> None:
    assert "said so" in error(400, body).message


@pytest.mark.parametrize(
    "body", [b"<html><h1>502</h1></html>", b"\n<!DOCTYPE html>", {"error": "<html><b>no"}]
)
def test_a_page_is_not_passed_on(body: Any) -> None:
    assert "<" not in error(502, body).message


@pytest.mark.parametrize(
    "said", [f"bad key {KEY}", "Incorrect key sk-proj-ab***xyz0", "got Authorization: Bearer abc.def"]
)
def test_no_key_is_passed_on(said: str) -> None:
    message = error(401, {"error": {"message": said}}).message
    assert KEY not in message
    assert "xyz0" not in message
    assert "abc.def" not in message


def test_a_long_sentence_of_many_lines_is_cut_to_one() -> None:
    message = error(400, {"error": {"message": "a\n\x1b[31m" * 10_000}}).message
    assert message.isprintable()
    assert len(message) < 420


def test_deep_and_odd_bodies_are_read_without_a_crash() -> None:
    for body in (
        b"[" * 100_000,
        b"\xff\xfe",
        {"error": {"message": {"message": [[[]]]}}},
        {"error": {"code": [1]}},
        b"null",
    ):
        assert error(400, body).code == "bad_request"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after_ms": "1500", "retry_after": "9"}, 1.5),
        ({"retry_after": "7"}, 7),
        ({"retry_after": "0.5"}, 0.5),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "-1"}, None),
        ({"retry_after": "Wed, 99 Foo 2026"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert error(429, **headers).retry_after == seconds


def test_a_date_to_retry_after_is_seconds_from_now() -> None:
    after = error(429, retry_after=formatdate(time.time() + 30, usegmt=True)).retry_after
    assert after is not None
    assert 25 < after <= 31


def test_the_server_decides_about_retrying() -> None:
    assert not error(503, x_should_retry="false").retryable
    assert error(400, x_should_retry="true").retryable


def test_the_request_id_is_named() -> None:
    assert error(500, request_id="req_1").message.endswith("[request req_1]")
    assert "req" not in error(500, request_id="req\u2028<script>").message.removeprefix("the model's server")


def test_patterns_are_linear_in_a_hostile_sentence() -> None:
    began = time.process_time()
    error(400, {"error": {"message": "model" * 5_000 + "input length" * 2_000 + "api-key is " * 2_000}})
    assert time.process_time() - began < 2


@responses.activate
def test_a_refused_stream_option_is_left_out_once() -> None:
    url = "http://llm.invalid/v1/chat/completions"
    responses.add("POST", url, status=400, json={"error": {"message": "unknown field stream_options"}})
    responses.add("POST", url, status=400, json={"error": {"message": "unknown field stream_options"}})
    (refused,) = collect(openai_compatible("demo", base_url="http://llm.invalid/v1", api_key=KEY))
    assert isinstance(refused, ProviderError)
    assert refused.code == "bad_request"
    bodies = [json.loads(call.request.body or "") for call in responses.calls]  # type: ignore[union-attr]
    assert ["stream_options" in body for body in bodies] == [True, False]
