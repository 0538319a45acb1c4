"""The two parsers of hosts and origins: one strict grammar, nothing repaired."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_litro_agent.web.origins import Host, Origin, parse_host, parse_origin

HOSTS = [
    ("shop.example", Host("shop.example", None)),
    ("Shop.Example:8000", Host("shop.example", 8000)),
    ("127.0.0.1:65535", Host("127.0.0.1", 65535)),
    ("[::1]:5000", Host("[::1]", 5000)),
    ("[::FFFF:127.0.0.1]", Host("[::ffff:127.0.0.1]", None)),
    ("localhost", Host("localhost", None)),
    ("xn--bcher-kva.example", Host("xn--bcher-kva.example", None)),
    ("a", Host("a", None)),
]
NO_HOSTS = [
    "",
    " ",
    "my_app:5000",
    "a@b",
    "user:pw@shop.example",
    "shop.example:",
    "shop.example:0",
    "shop.example:65536",
    "shop.example:99999",
    "shop.example:000080",
    "shop.example:80:80",
    "shop.example:８０",
    "shop.example/",
    "shop.example#x",
    "shop.example?x",
    "shop.example\\x",
    "shop.example.",
    ".shop.example",
    "shop..example",
    "-shop.example",
    "shop.example-",
    "shop.example, evil.example",
    "shop.example evil.example",
    "shop.example\n",
    "\tshop.example",
    "shop%2eexample",
    "bücher.example",
    "ſhop.example",
    "[::1",
    "::1",
    "[::1]x",
    "[fe80::1%eth0]",
    "[]",
    "*",
    "x" * 254,
    "http://shop.example",
]
NO_ORIGINS = [
    "",
    "null",
    "NULL",
    "file://",
    "file:///etc/passwd",
    "https://",
    "//shop.example",
    "shop.example",
    "https:shop.example",
    "https:/shop.example",
    "https:///shop.example",
    "https://shop.example/",
    "https://shop.example/path",
    "https://shop.example?",
    "https://shop.example#",
    "https://shop.example\\@evil.example",
    "https://evil.example#shop.example",
    "https://shop.example@evil.example",
    "https://shop.example:99999",
    "https://shop.example:",
    "https://[::1",
    "https://shop.example https://evil.example",
    "https://shop.example,https://evil.example",
    "https://shop.example, https://evil.example",
    " https://shop.example",
    "https://shop.example\n",
    "ftp://shop.example",
    "ws://shop.example",
    "blob:https://shop.example",
    "chrome-extension://abcdef",
    "javascript://shop.example",
    "https://" + "x" * 400,
]


@pytest.mark.parametrize(("text", "host"), HOSTS)
def test_a_host_is_read_in_lower_case_with_its_port(text, host):
    assert parse_host(text) == host


@pytest.mark.parametrize("text", NO_HOSTS)
def test_what_is_not_exactly_one_host_is_none(text):
    assert parse_host(text) is None


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("http://shop.example", Origin("http", "shop.example", 80)),
        ("HTTPS://Shop.Example", Origin("https", "shop.example", 443)),
        ("http://127.0.0.1:5000", Origin("http", "127.0.0.1", 5000)),
        ("https://[::1]:8443", Origin("https", "[::1]", 8443)),
    ],
)
def test_an_origin_always_knows_its_port(text, origin):
    assert parse_origin(text) == origin


@pytest.mark.parametrize("text", NO_ORIGINS)
def test_what_is_not_exactly_one_web_origin_is_none(text):
    assert parse_origin(text) is None


@pytest.mark.parametrize("text", NO_HOSTS)
def test_an_origin_has_a_host_by_the_same_grammar(text):
    assert parse_origin(f"https://{text}") is None


@pytest.mark.parametrize(
    ("origin", "host", "secure", "ours"),
    [
        ("http://shop.example", "shop.example", False, True),
        ("http://shop.example", "shop.example:80", False, True),
        ("https://shop.example", "shop.example", True, True),
        ("https://shop.example", "shop.example:443", True, True),
        ("https://shop.example:8443", "shop.example:8443", True, True),
        # a proxy ended the encryption and the app was not told
        ("https://shop.example", "shop.example", False, True),
        ("http://shop.example", "shop.example", True, False),
        ("http://shop.example", "shop.example:443", False, False),
        ("https://shop.example", "shop.example:80", False, False),
        ("http://shop.example:8000", "shop.example", False, False),
        ("http://shop.example", "shop.example:8000", False, False),
        ("http://www.shop.example", "shop.example", False, False),
        ("http://shop.example", "www.shop.example", False, False),
    ],
)
def test_an_origin_belongs_to_a_host_by_name_and_port(origin, host, secure, ours):
    assert parse_origin(origin).is_of(parse_host(host), secure=secure) is ours


@given(st.text(max_size=60) | st.from_regex(r"[a-z.:\[\]@/#\\0-9]{0,30}"))
def test_any_text_is_read_without_an_exception(text):
    host = parse_host(text)
    origin = parse_origin(text)
    assert host is None or (host.name.isascii() and host.name == host.name.lower())
    assert origin is None or origin.scheme in ("http", "https")


@given(st.from_regex(r"https?://[a-z0-9.@:\\#-]{1,25}", fullmatch=True))
def test_what_is_accepted_the_standard_library_reads_alike(text):
    origin = parse_origin(text)
    if origin is not None:
        other = urlsplit(text)
        assert (other.scheme, other.hostname) == (origin.scheme, origin.name.strip("[]"))
        assert other.port in (None, origin.port)
        assert (other.username, other.path, other.query, other.fragment) == (None, "", "", "")


@given(
    st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?(\.[a-z0-9]{1,8}){0,3}", fullmatch=True),
    st.integers(1, 65535),
)
def test_a_plain_host_name_with_a_port_is_read(name, port):
    assert parse_host(f"{name}:{port}") == Host(name, port)
    assert parse_origin(f"https://{name}:{port}") == Origin("https", name, port)
