"""Behind nginx: lines pass one by one, silence is no end, a client that leaves is noticed, the host is the client's."""

import contextlib
import http.client
import os
import shutil
import signal
import socket
import subprocess
import zlib

import pytest

from tests.servers import Server, serve, spelt, until

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(NGINX is None, reason="nginx is missing: apt-get install nginx-light"),
]

HEARTBEAT = 0.5
TAILS = 2
FORWARDED = "proxy_set_header X-Forwarded-Host $http_host;"
GZIP = "gzip on; gzip_types application/x-ndjson; gzip_min_length 1; gzip_proxied any;"
SITES = {
    "plain": FORWARDED,
    "gzip": f"{FORWARDED} {GZIP}",
    "short timeout": f"{FORWARDED} proxy_read_timeout 1s;",
    "control: buffering": f"{FORWARDED} {GZIP} proxy_ignore_headers X-Accel-Buffering;",
    "control: too short timeout": f"{FORWARDED} proxy_read_timeout 200ms;",
    "control: no host": "",
}
CONFIG = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  {servers}
}}
"""
SERVER = """
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://127.0.0.1:{upstream}; {directives} }}
  }}
"""


def free_ports(count):
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]


@contextlib.contextmanager
def run_nginx(folder, upstream):
    """Run nginx with each of the SITES on a port of its own, and return a Server for each."""
    ports = dict(zip(SITES, free_ports(len(SITES)), strict=True))
    servers = [
        SERVER.format(port=port, upstream=upstream.port, directives=SITES[name])
        for name, port in ports.items()
    ]
    config = folder / "nginx.conf"
    config.write_text(CONFIG.format(folder=folder, servers="".join(servers)))
    process = subprocess.Popen(
        [NGINX, "-c", str(config), "-e", str(folder / "nginx.log")], start_new_session=True
    )
    sites = {name: Server(process, folder / "nginx.log", port=port) for name, port in ports.items()}
    try:
        until(lambda: all(map(_answers, sites.values())) or process.poll() is not None)
        assert process.poll() is None, sites["plain"].log
        yield sites
    finally:
        for site in sites.values():
            site.hang_up()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _answers(site):
    try:
        return site.ask("GET", "/").status == 200
    except (OSError, http.client.HTTPException):
        return False


@pytest.fixture(scope="module")
def nginx(tmp_path_factory):
    settings = {
        "LITRO_HEARTBEAT_SECONDS": HEARTBEAT,
        "LITRO_STREAM_SECONDS": 300,
        "LITRO_MAX_ACTOR_TAILS": TAILS,
        "LITRO_TRUSTED_PROXIES": 1,
    }
    with (
        serve("gevent", tmp_path_factory.mktemp("site"), **settings) as upstream,
        run_nginx(tmp_path_factory.mktemp("nginx"), upstream) as sites,
    ):
        yield sites


@pytest.fixture(autouse=True)
def hang_up(nginx):
    yield
    for site in nginx.values():
        site.hang_up()


def test_lines_pass_one_by_one_with_the_default_configuration(nginx, tmp_path):
    rounds, latches = spelt("a b c d", tmp_path)
    stream = nginx["plain"].post("plain", *rounds)
    assert stream.words(latches) == ["a", "b", "c", "d"]
    assert stream.next("turn-end")["payload"]["reason"] == "finished"


class Compressed:
    """A compressed answer, read as far as it has come."""

    def __init__(self, site, session, rounds, **how):
        self.stream = site.post(session, *rounds, headers={"Accept-Encoding": "gzip"}, **how)
        assert self.stream.headers["Content-Encoding"] == "gzip"
        self._unzip = zlib.decompressobj(wbits=31)
        self._text = b""

    def wait_for(self, text):
        """Read until the text has come; TimeoutError when the connection is silent for too long."""
        while text not in self._text:
            data = self.stream.response.read1(65536)
            assert data, self._text
            self._text += self._unzip.decompress(data)


def test_compressed_lines_pass_one_by_one(nginx, tmp_path):
    rounds, latches = spelt("a b c d", tmp_path)
    answer = Compressed(nginx["gzip"], "gzip", rounds)
    for word, latch in zip("abcd", latches, strict=True):
        answer.wait_for(b'{"text":"%b "}' % word.encode())
        latch.touch()
    answer.wait_for(b'"turn-end"')


def test_control_a_proxy_that_buffers_delivers_everything_at_the_end(nginx, tmp_path):
    """What X-Accel-Buffering prevents: the first word does not come before the second is said."""
    rounds, latches = spelt("a b", tmp_path)
    site = nginx["control: buffering"]
    with contextlib.closing(site.connect(seconds=2)) as connection, pytest.raises(TimeoutError):
        Compressed(site, "buffered", rounds, connection=connection).wait_for(b'{"text":"a "}')
    for latch in latches:
        latch.touch()
    assert b'{"text":"b "}' in nginx["plain"].replay("buffered")


def test_a_heartbeat_keeps_a_silent_stream_alive(nginx):
    stream = nginx["short timeout"].post("silent", [["sleep", 2.5], ["say", "x"]])
    assert [event["kind"] for event in stream][-1] == "turn-end"
    assert stream.heartbeats >= 3


def test_control_a_timeout_shorter_than_the_heartbeat_cuts_a_silent_stream_and_loses_nothing(nginx):
    stream = nginx["control: too short timeout"].post("silenced", [["sleep", 1.5], ["say", "x"]])
    assert "turn-end" not in [event["kind"] for event in stream]
    assert nginx["plain"].events("silenced")[-1]["payload"]["reason"] == "finished"


def test_a_client_that_leaves_is_noticed_through_the_proxy(nginx):
    site = nginx["plain"]
    list(site.post("idle", [["say", "x"]], actor="bob"))
    tails = [site.follow("idle", "?from=99&follow=1", actor="bob") for _ in range(TAILS)]
    assert site.status("idle", "?follow=1", actor="bob") == 503
    tails[0].leave()
    seconds = until(lambda: site.status("idle", "?follow=1", actor="bob") == 200)
    print(f"\nnginx: departure noticed after {seconds:.2f} s")


@pytest.mark.parametrize(
    ("name", "origin", "status"),
    [
        ("plain", "http://{host}", 200),
        ("plain", "http://evil.example", 403),
        ("control: no host", "http://{host}", 403),
    ],
)
def test_a_page_of_the_host_that_the_proxy_names_may_ask(name, origin, status, nginx):
    site = nginx[name]
    headers = {"Origin": origin.format(host=f"127.0.0.1:{site.port}")}
    assert site.post("origin", [["say", "x"]], headers=headers).status == status


def test_a_forged_forwarded_host_does_not_pass_the_proxy(nginx):
    headers = {"Origin": "http://evil.example", "X-Forwarded-Host": "evil.example"}
    assert nginx["plain"].post("forged", [["say", "x"]], headers=headers).status == 403
