"""What stands before every route: which guard speaks first, and what each says."""

from __future__ import annotations

import json

import pytest
from werkzeug.middleware.proxy_fix import ProxyFix

from tests.asking import HEADER, ROUTE, delete, events, get, on_disk, post, site, write_agent

PAGE = "http://localhost"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    return site(tmp_path_factory.mktemp("guards")).test_client()


class TestTheOrder:
    """A request that is wrong in everything is answered by the first guard; mend it, and the next one speaks."""

    steps = (
        (
            {
                "path": "/__litro/agent/nobody/not an id",
                "headers": {"Sec-Fetch-Site": "cross-site", "X-Locked-Out": "1", "X-Actor": "ann"},
                "data": b"{" * 300_000,
                "content_type": "text/plain",
            },
            403,
        ),
        ({"headers": {"X-Locked-Out": "1", "X-Actor": "ann"}}, 403),  # our header is still missing
        ({"headers": {**HEADER, "X-Locked-Out": "1", "X-Actor": "ann"}}, 400),
        ({"path": "/__litro/agent/nobody/s1"}, 404),
        ({"path": "/__litro/agent/desk/s1"}, 401),
        ({"headers": {**HEADER, "X-Actor": "ann"}}, 415),
        ({"content_type": "application/json"}, 413),
        ({"data": b"{" * 100}, 400),
        ({"data": b'{"text": "hello"}'}, 409),
        ({"path": "/__litro/agent/desk/s2"}, 200),
    )

    def test_each_guard_waits_for_the_one_before_it(self, client):
        busy = post(client, json.dumps([[["sleep", 20]]]))
        request, seen = {}, []
        for mended, _ in self.steps:
            request.update(mended)
            response = client.post(
                request["path"],
                headers=request["headers"],
                data=request["data"],
                content_type=request["content_type"],
            )
            seen.append(response.status_code)
            response.get_data()
        delete(client, turn=busy.headers["Litro-Turn"])
        busy.get_data()
        assert seen == [status for _, status in self.steps]

    @pytest.mark.parametrize("method", ["GET", "DELETE"])
    def test_the_other_methods_keep_the_same_order(self, client, method):
        ask = {"GET": client.get, "DELETE": client.delete}[method]
        locked = {**HEADER, "X-Locked-Out": "1"}
        seen = [
            ask("/__litro/agent/nobody/a b", headers={**locked, "Origin": "null"}).status_code,
            ask("/__litro/agent/nobody/a b", headers=locked).status_code,
            ask("/__litro/agent/nobody/s1", headers=locked).status_code,
            ask("/__litro/agent/desk/s1?from=x", headers=locked).status_code,
            ask("/__litro/agent/desk/s1", headers=HEADER).status_code,
        ]
        assert seen == [403, 400, 404, 401, 404]


class TestFetchGates:
    def test_every_refusal_has_one_body(self, client):
        refused = [
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "canary"},
            {"Origin": "null"},
            {"Origin": "https://canary.example"},
            {"Host": "a@b"},
            {"X-Litro-Agent": "canary"},
        ]
        answers = {post(client, headers=headers).data for headers in refused}
        assert len(answers) == 1
        assert json.loads(answers.pop()) == {
            "name": "Forbidden",
            "message": "this request did not come from a page of this site; "
            "POST and DELETE need the header X-Litro-Agent: 1",
            "status": 403,
        }

    @pytest.mark.parametrize(
        ("headers", "reason"),
        [
            ({"Host": "evil.example"}, "LITRO_HOSTS is ('localhost',)"),
            ({"Origin": "http://evil.example"}, "Origin is 'http://evil.example'"),
        ],
        ids=["host", "origin"],
    )
    def test_the_log_says_what_did_not_match(self, tmp_path, caplog, headers, reason):
        post(site(tmp_path, LITRO_HOSTS=["localhost"]).test_client(), headers=headers)
        assert reason in caplog.text

    @pytest.mark.parametrize("value", ["same-origin", "none"])
    def test_a_page_of_this_site_is_let_in(self, client, value):
        assert b"turn-end" in post(client, headers={"Sec-Fetch-Site": value, "Origin": PAGE}).data

    @pytest.mark.parametrize(
        "value", ["", "SAME-ORIGIN", "same-site", "cross-site", " none", "none,none", "1"]
    )
    def test_any_other_fetch_site_is_refused(self, client, value):
        assert post(client, headers={"Sec-Fetch-Site": value}).status_code == 403

    @pytest.mark.parametrize("value", ["0", "", "true", "1, 1", " 1 x"])
    def test_our_header_has_one_value(self, client, value):
        assert post(client, headers={"X-Litro-Agent": value}).status_code == 403

    @pytest.mark.parametrize("ask", [post, delete])
    def test_a_change_needs_our_header(self, client, ask):
        assert ask(client, headers={"X-Litro-Agent": ""}).status_code == 403

    def test_reading_needs_no_header_of_ours(self, client):
        post(client).get_data()
        assert get(client).status_code == 200
        assert client.get(ROUTE, headers={"X-Actor": "ann"}).status_code == 200


class TestHosts:
    def test_a_listed_host_without_a_port_is_let_in_on_any_port(self, tmp_path):
        client = site(tmp_path, LITRO_HOSTS=["shop.example"]).test_client()
        hosts = ("shop.example", "SHOP.example", "shop.example:8443")
        assert [
            post(client, session="s" + str(at), headers={"Host": host}).status_code
            for at, host in enumerate(hosts)
        ] == [200] * 3

    def test_a_listed_port_is_the_only_one(self, tmp_path):
        client = site(tmp_path, LITRO_HOSTS=["127.0.0.1:8000"]).test_client()
        hosts = ("127.0.0.1:8000", "127.0.0.1", "127.0.0.1:8001", "localhost:8000")
        assert [get(client, headers={"Host": host}).status_code for host in hosts] == [404, 403, 403, 403]

    def test_the_list_is_asked_for_the_forwarded_host(self, tmp_path):
        client = site(tmp_path, LITRO_HOSTS=["shop.example"], LITRO_TRUSTED_PROXIES=1).test_client()
        inner = {"Host": "10.0.0.7:8000"}
        assert get(client, headers={**inner, "X-Forwarded-Host": "shop.example"}).status_code == 404
        assert get(client, headers={**inner, "X-Forwarded-Host": "evil.example"}).status_code == 403
        assert get(client, headers=inner).status_code == 403

    def test_flasks_own_list_refuses_too(self, tmp_path):
        client = site(tmp_path, TRUSTED_HOSTS=["shop.example"]).test_client()
        assert get(client, headers={"Host": "shop.example"}).status_code == 404
        assert get(client, headers={"Host": "evil.example"}).status_code == 400


class TestProxies:
    forwarded = "shop.example"

    def ask(self, app, forwarded, origin):
        headers = {"Host": "10.0.0.7:8000", "Origin": origin, "X-Forwarded-Host": forwarded}
        return get(app.test_client(), headers=headers).status_code

    @pytest.mark.parametrize(
        ("proxies", "forwarded", "status"),
        [
            (1, "shop.example", 404),
            (1, "evil.example, shop.example", 404),
            (1, "shop.example, evil.example", 403),
            (1, "shop.example,", 403),
            (1, "", 403),
            (2, "shop.example, inner.example", 404),
            (2, "evil.example, shop.example, inner.example", 404),
            (2, "shop.example", 403),
            (0, "shop.example", 403),
        ],
    )
    def test_the_nth_value_from_the_right_is_the_host(self, tmp_path, proxies, forwarded, status):
        app = site(tmp_path, LITRO_TRUSTED_PROXIES=proxies)
        assert self.ask(app, forwarded, "https://shop.example") == status

    def test_without_the_header_the_host_is_the_host(self, tmp_path):
        client = site(tmp_path, LITRO_TRUSTED_PROXIES=1).test_client()
        assert (
            get(client, headers={"Host": "shop.example", "Origin": "https://shop.example"}).status_code == 404
        )

    def test_the_sites_own_proxy_fix_is_believed(self, tmp_path):
        app = site(tmp_path)
        app.wsgi_app = ProxyFix(app.wsgi_app, x_host=1, x_proto=1)
        assert self.ask(app, "shop.example", "http://shop.example") == 404
        assert self.ask(app, "evil.example, shop.example", "http://shop.example") == 404
        assert self.ask(app, "shop.example, evil.example", "http://shop.example") == 403

    def test_a_page_without_encryption_is_no_page_of_an_encrypted_site(self, tmp_path):
        app = site(tmp_path)
        app.wsgi_app = ProxyFix(app.wsgi_app, x_host=1, x_proto=1)
        headers = {"Host": "shop.example", "X-Forwarded-Proto": "https"}
        client = app.test_client()
        assert get(client, headers={**headers, "Origin": "https://shop.example"}).status_code == 404
        assert get(client, headers={**headers, "Origin": "http://shop.example"}).status_code == 403


class TestAccess:
    """``access()`` of an agent speaks for itself on every route."""

    def ask_all(self, client, **options):
        return [
            post(client, **options),
            get(client, **options),
            delete(client, **options),
            delete(client, turn="t1", **options),
            client.get("/__litro/agent/door", headers={"X-Actor": "ann"}),
        ]

    def door(self, tmp_path, access, head=""):
        write_agent(tmp_path / "agents", "door", access=access, head=head)
        return site(tmp_path, LITRO_AGENTS=str(tmp_path / "agents")).test_client()

    @pytest.mark.parametrize(
        ("access", "status"),
        [
            ("abort(401)", 401),
            ("abort(403)", 403),
            ("abort(410)", 410),
            ("return False", 403),
            ("return 0", 403),
            ("return 1", 403),
            ("return 'yes'", 403),
            ("return redirect('/sign-in')", 403),
            ("raise AgentError('members only', status=402)", 402),
            ("raise RuntimeError('canary-secret')", 500),
        ],
    )
    def test_a_closed_door_is_closed_on_every_route(self, tmp_path, access, status):
        head = "from flask import abort, redirect\nfrom flask_litro_agent import AgentError"
        client = self.door(tmp_path, access, head)
        answers = self.ask_all(client, agent="door")
        assert [answer.status_code for answer in answers] == [status] * 5
        assert not any(b"canary" in answer.data for answer in answers)

    @pytest.mark.parametrize("access", ["return None", "return True", "pass"])
    def test_nothing_to_say_lets_in(self, tmp_path, access):
        answers = self.ask_all(self.door(tmp_path, access), agent="door")
        assert [answer.status_code for answer in answers] == [200, 200, 204, 404, 200]

    def test_a_redirect_passes_through(self, tmp_path):
        head = "from flask import abort, redirect"
        answer = post(self.door(tmp_path, "abort(redirect('/sign-in'))", head), agent="door")
        assert (answer.status_code, answer.headers["Location"]) == (302, "/sign-in")

    def test_a_response_of_the_agent_passes_through(self, tmp_path):
        head = "from flask import abort, make_response"
        client = self.door(tmp_path, "abort(make_response('pay first', 402, {'X-Price': '7'}))", head)
        answer = get(client, agent="door")
        assert (answer.status_code, answer.data, answer.headers["X-Price"]) == (402, b"pay first", "7")
        assert answer.headers["Cache-Control"] == "no-store"

    def test_nothing_is_written_behind_a_closed_door(self, tmp_path):
        client = self.door(tmp_path, "return False")
        self.ask_all(client, agent="door")
        assert not list((tmp_path / "sessions").rglob("*.jsonl"))

    def test_access_sees_the_request(self, tmp_path):
        head = "from flask import abort, request"
        client = self.door(tmp_path, "request.headers.get('X-Actor') == 'ann' or abort(401)", head)
        assert post(client, agent="door").status_code == 200
        assert post(client, agent="door", actor="bob").status_code == 401


class TestBodies:
    def send(self, client, data, content_type="application/json", **options):
        headers = {**HEADER, "X-Actor": "ann"}
        return client.post(f"{ROUTE}/s1", data=data, content_type=content_type, headers=headers, **options)

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"", "the body is not JSON"),
            (b"[]", "must be a JSON object"),
            (b"null", "must be a JSON object"),
            (b'"text"', "must be a JSON object"),
            (b"{}", "it has nothing"),
            (b'{"text": null}', "'text' must be a text"),
            (b'{"text": 7}', "'text' must be a text"),
            (b'{"text": ["a"]}', "'text' must be a text"),
            (b'{"text": ""}', "'text' is empty"),
            (b'{"text": " \\n\\t "}', "'text' is empty"),
            (b'{"Text": "a"}', "it has 'Text'"),
            (b'{"text": "a", "history": []}', "it has 'history'"),
            (b'{"text": "a", "text": "b"}', "appears twice"),
            (b'{"text": "a"} x', "not JSON"),
            (b'{"text": "\\ud800"}', "lone surrogate"),
            (b'{"text": "a\\u0000b"}', "NUL"),
            (b'\xef\xbb\xbf{"text": "a"}', "byte order mark"),
            (b'{"text": "\xff"}', "UTF-8"),
            ('{"text": "a"}'.encode("utf-16"), "UTF-8"),
        ],
    )
    def test_a_wrong_body_is_said_in_a_sentence(self, client, data, message):
        answer = self.send(client, data)
        assert (answer.status_code, answer.json["name"]) == (400, "BadRequest")
        assert message in answer.json["message"]

    @pytest.mark.parametrize(
        "content_type", ["application/json", "application/json; charset=utf-8", "Application/JSON"]
    )
    def test_json_is_json(self, client, content_type):
        assert b"turn-end" in self.send(client, b'{"text": "hello"}', content_type).data

    def test_the_text_is_kept_to_the_letter(self, client):
        text = '  "\u202e" 💥 \u2028 <b>&amp; \\u0041 \t\n'
        assert events(post(client, text))[1]["payload"] == {"role": "user", "text": text}

    def test_a_body_of_exactly_the_limit_is_read(self, tmp_path):
        client = site(tmp_path, LITRO_MAX_BODY=2048).test_client()
        body = b'{"text": "' + b"x" * (2048 - 12) + b'"}'
        assert len(body) == 2048
        assert b"turn-end" in self.send(client, body).data
        assert self.send(client, body + b" ").status_code == 413

    def test_the_sites_own_larger_limit_does_not_widen_ours(self, tmp_path):
        client = site(tmp_path, LITRO_MAX_BODY=2048, MAX_CONTENT_LENGTH=10**9).test_client()
        assert self.send(client, b" " * 3000).status_code == 413

    def test_what_is_refused_leaves_no_trace(self, tmp_path):
        client = site(tmp_path).test_client()
        for data in (b"", b"{}", b'{"text": 7}', b'{"text": "a", "seq": 1}', b"x" * 300_000):
            self.send(client, data)
        assert on_disk(tmp_path) == {}


class TestNumbers:
    @pytest.mark.parametrize(
        "query",
        [
            "from=",
            "from=0",
            "from=-1",
            "from=+1",
            "from=1.0",
            "from=1e3",
            "from=0x1",
            "from=%201",
            "from=1%0a",
            "from=１",
            "from=null",
            "from=1_000",
            "from=" + "9" * 16,
            "from=" + "9" * 5000,
            "from=1&from=2",
            "from[]=1&from=x",
            "follow=2",
            "follow=true",
            "follow=",
            "follow=1&follow=1",
        ],
    )
    def test_a_number_in_the_query_is_a_plain_one_or_refused(self, client, query):
        post(client).get_data()
        answer = get(client, query="?" + query)
        assert (answer.status_code, answer.json["name"]) == (400, "BadRequest")
        assert query.partition("=")[0].removesuffix("[]") in answer.json["message"]

    @pytest.mark.parametrize(
        "query", ["limit=0", "limit=201", "limit=x", "after=x", "after=", "after=W10=", "after=%ff"]
    )
    def test_a_list_has_a_limit_and_a_cursor_of_its_own(self, client, query):
        assert client.get(f"{ROUTE}?{query}", headers={"X-Actor": "ann"}).status_code == 400
