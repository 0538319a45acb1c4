from __future__ import annotations

import dataclasses
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import flask_login
import pytest
from flask import Flask, jsonify, session
from flask_security import RoleMixin, Security, SQLAlchemyUserDatastore, hash_password
from flask_security import UserMixin as SecurityUserMixin
from flask_sqlalchemy import SQLAlchemy
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.pool import StaticPool

from flask_litro_agent.contracts import Actor
from flask_litro_agent.errors import ConfigurationError
from flask_litro_agent.identity import FlaskLogin, FlaskSecurity, Identity, visitor_id

VISITOR = "visitor:" + "a" * 22


@pytest.fixture
def app() -> Flask:
    app = Flask(__name__)
    app.config.update(SECRET_KEY="for the tests", TESTING=True)
    return app


def current(app: Flask, identity: Identity) -> Actor:
    with app.test_request_context():
        return identity.current()


# what the site's loaders say


def test_the_request_loaders_actor_is_the_current_one(app: Flask) -> None:
    ann = Actor("7", "Ann", frozenset({"orders:read"}), {"tenant": "north"})
    assert current(app, Identity(lambda: ann)) == ann


def test_a_known_actor_leaves_the_session_alone(app: Flask) -> None:
    with app.test_request_context():
        Identity(lambda: Actor("7", "Ann")).current()
        assert not session.modified


def test_the_actor_loader_finds_the_same_actor_without_a_request() -> None:
    ann = Actor("7", "Ann", frozenset({"orders:read"}))
    assert Identity(None, {"7": ann}.get).by_id("7") == ann


def test_an_unknown_id_is_nobody() -> None:
    assert Identity(None, {}.get).by_id("7") is None


def test_without_an_actor_loader_nobody_is_known_by_id() -> None:
    assert Identity(lambda: Actor("7", "Ann")).by_id("7") is None


@pytest.mark.parametrize("kind", [list, tuple, set, frozenset])
def test_permissions_may_come_in_any_collection_and_are_frozen(app: Flask, kind: type) -> None:
    actor = current(app, Identity(lambda: Actor("7", "Ann", kind(["a:read", "b:*"]))))
    assert actor.permissions == frozenset({"a:read", "b:*"})
    assert type(actor.permissions) is frozenset


def test_later_changes_of_the_sites_own_set_change_nothing(app: Flask) -> None:
    held = {"a:read"}
    actor = current(app, Identity(lambda: Actor("7", "Ann", held)))
    held.add("everything")
    assert not actor.may("everything")


# what a loader must not return


def with_(**changes: Any) -> Actor:
    return dataclasses.replace(Actor("7", "Ann"), **changes)


class Stronger(Actor):
    def may(self, permission: str) -> bool:
        return True


IMPOSSIBLE = {
    "an id of a visitor": (with_(id=VISITOR), "kept for people without an account"),
    "an id that only begins as a visitor's": (with_(id="visitor:1"), "kept for people without an account"),
    "an empty id": (with_(id=""), "1 to 255 characters, not 0"),
    "an id of 256 characters": (with_(id="x" * 256), "1 to 255 characters, not 256"),
    "an id with NUL": (with_(id="a\x00b"), "NUL character"),
    "an id that ends in a space": (with_(id="ada "), "ends in a space"),
    "an id with a lone surrogate": (with_(id="a\udc80"), "lone surrogate"),
    "a number as id": (with_(id=7), r"must be a text, not int: write str\(user.id\)"),
    "no id": (with_(id=None), "must be a text, not NoneType"),
    "no name": (with_(name=None), "its name must be a text, not NoneType"),
    "a name with NUL": (with_(name="a\x00"), "its name holds a NUL"),
    "permissions in one text": (with_(permissions="orders:read"), "a set or a list of texts, not str"),
    "no permissions": (with_(permissions=None), "a set or a list of texts, not NoneType"),
    "permissions as a mapping": (with_(permissions={"orders:read": True}), "not dict"),
    "a generator of permissions": (with_(permissions=iter(["a"])), "not list_iterator"),
    "a permission that is no text": (with_(permissions=[1]), "every permission must be a non-empty text"),
    "an empty permission": (with_(permissions=[""]), "every permission must be a non-empty text"),
    "a text": ("7", "must return an Actor or None, not str"),
    "true": (True, "must return an Actor or None, not bool"),
    "false": (False, "must return an Actor or None, not bool"),
    "an actor's class": (Actor, "must return an Actor or None, not type"),
    "a kind of actor of the site's own": (Stronger("7", "Ann"), "must return an Actor or None, not Stronger"),
    "something that looks like an actor": (
        SimpleNamespace(id="7", name="Ann", permissions=frozenset()),
        "must return an Actor or None, not SimpleNamespace",
    ),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_an_impossible_actor_is_an_error_and_nobody(app: Flask, case: str) -> None:
    loaded, sentence = IMPOSSIBLE[case]
    with app.test_request_context():
        with pytest.raises(ConfigurationError, match=sentence) as raised:
            Identity(lambda: loaded).current()
        assert str(raised.value).startswith("request_loader")
        assert visitor_id(session) is None


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_an_impossible_actor_is_an_error_by_id_too(case: str) -> None:
    loaded, sentence = IMPOSSIBLE[case]
    with pytest.raises(ConfigurationError, match=sentence) as raised:
        Identity(None, lambda actor_id: loaded).by_id("7")
    assert str(raised.value).startswith("actor_loader")


def test_the_longest_id_is_255_characters(app: Flask) -> None:
    assert current(app, Identity(lambda: Actor("é" * 255, "Ann"))).id == "é" * 255


def test_another_actor_than_the_one_asked_for_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="asked for '7' and returned '1'"):
        Identity(None, lambda actor_id: Actor("1", "Root")).by_id("7")


ANY_ID = st.text("ab:\x00\ud800", max_size=3) | st.sampled_from([VISITOR, "visitor:a"]) | st.text()


@settings(deadline=None)
@given(asked=ANY_ID, returned=ANY_ID)
def test_by_id_never_answers_with_another_id(asked: str, returned: str) -> None:
    try:
        found = Identity(None, lambda actor_id: Actor(returned, "Somebody")).by_id(asked)
    except ConfigurationError:
        assert asked != returned
    else:
        assert found is None or found.id == asked


@pytest.mark.parametrize(
    "actor_id", ["", "x" * 256, "a ", "a\x00b", "a\ud800", "visitor:", "visitor:short", VISITOR]
)
def test_the_site_is_never_asked_for_an_id_that_it_cannot_have(actor_id: str) -> None:
    asked: list[str] = []
    Identity(None, lambda actor_id: asked.append(actor_id)).by_id(actor_id)
    assert asked == []


def test_a_request_loader_that_raises_makes_nobody_a_visitor(app: Flask) -> None:
    def broken() -> Actor | None:
        raise LookupError("the directory is down")

    with app.test_request_context():
        with pytest.raises(LookupError, match="the directory is down"):
            Identity(broken).current()
        assert visitor_id(session) is None


def test_what_the_actor_loader_raises_is_passed_on() -> None:
    def broken(actor_id: str) -> Actor | None:
        raise LookupError("the directory is down")

    with pytest.raises(LookupError, match="the directory is down"):
        Identity(None, broken).by_id("7")


# visitors


@pytest.mark.parametrize("identity", [Identity(), Identity(lambda: None)], ids=["no loader", "unknown"])
def test_somebody_without_an_account_is_a_visitor_without_permissions(app: Flask, identity: Identity) -> None:
    actor = current(app, identity)
    assert actor.name == "Visitor"
    assert actor.permissions == frozenset()
    assert visitor_id({"litro_visitor": actor.id}) == actor.id


def test_a_visitor_stays_the_same_for_a_whole_session_and_differs_from_others(app: Flask) -> None:
    app.add_url_rule("/who", view_func=lambda: Identity().current().id)
    ann, ben = app.test_client(), app.test_client()
    first = ann.get("/who").text
    assert ann.get("/who").text == first
    assert ben.get("/who").text != first


def test_a_visitor_is_made_only_when_asked_for(app: Flask) -> None:
    app.add_url_rule("/", view_func=lambda: "hello")
    assert "Set-Cookie" not in app.test_client().get("/").headers


def test_one_request_makes_one_visitor(app: Flask) -> None:
    with app.test_request_context():
        assert Identity().current() == Identity().current()


def test_a_changed_cookie_is_a_new_visitor(app: Flask) -> None:
    app.add_url_rule("/who", view_func=lambda: Identity().current().id)
    client = app.test_client()
    first = client.get("/who").text
    signed = client.get_cookie("session")
    assert signed is not None
    head, rest = signed.value[0], signed.value[1:]
    client.set_cookie("session", ("f" if head != "f" else "g") + rest)
    assert client.get("/who").text != first


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        "",
        "7",
        "a" * 22,
        "visitor:",
        "visitor:" + "a" * 21,
        "visitor:" + "a" * 23,
        VISITOR + "\n",
        "visitor:" + "a" * 21 + "é",
        "visitor:" + "a" * 21 + "/",
        [VISITOR],
        {"id": VISITOR},
    ],
)
def test_a_malformed_visitor_in_the_session_is_replaced(app: Flask, value: object) -> None:
    with app.test_request_context():
        session["litro_visitor"] = value
        assert visitor_id(session) is None
        fresh = Identity().current().id
        assert fresh != value
        assert visitor_id(session) == fresh


def test_visitor_ids_have_128_bits_and_no_odd_character(app: Flask) -> None:
    made = {current(app, Identity()).id for _ in range(200)}
    assert len(made) == 200
    assert all(visitor_id({"litro_visitor": one}) for one in made)


def test_a_visitor_comes_back_by_id_without_asking_the_site() -> None:
    def never(actor_id: str) -> Actor | None:
        raise AssertionError("the site was asked for a visitor")

    assert Identity(None, never).by_id(VISITOR) == Actor(VISITOR, "Visitor")


def test_a_malformed_visitor_id_is_nobody() -> None:
    assert Identity(None, lambda actor_id: Actor(actor_id, "Root")).by_id(VISITOR + "\n") is None


def test_an_app_without_a_secret_key_says_what_to_set() -> None:
    with pytest.raises(ConfigurationError, match="set SECRET_KEY"):
        current(Flask(__name__), Identity())


def test_an_app_without_a_secret_key_serves_those_whom_it_knows() -> None:
    assert current(Flask(__name__), Identity(lambda: Actor("7", "Ann"))).id == "7"


# Flask-Login


class Member(flask_login.UserMixin):
    def __init__(self, id: str, username: str = "", *, active: bool = True) -> None:
        self.id = id
        self.username = username
        self.active = active
        self.permissions = {"orders:own"}

    @property
    def is_active(self) -> bool:
        return self.active


MEMBERS = {"7": Member("7", "ann"), "8": Member("8", "ben", active=False), "9": Member("9")}


@pytest.fixture
def club(app: Flask) -> Flask:
    manager = flask_login.LoginManager(app)
    manager.user_loader(MEMBERS.get)
    return app


def of(adapter: FlaskLogin | FlaskSecurity) -> Identity:
    return Identity(adapter.request_loader, adapter.actor_loader)


def signed_in(club: Flask, member: Member, identity: Identity) -> Actor:
    with club.test_request_context():
        flask_login.login_user(member, force=True)
        return identity.current()


def test_flask_login_names_the_signed_in_user(club: Flask) -> None:
    identity = of(FlaskLogin(permissions=lambda user: user.permissions))
    assert signed_in(club, MEMBERS["7"], identity) == Actor("7", "ann", frozenset({"orders:own"}))


def test_flask_login_knows_the_user_of_a_later_request(club: Flask) -> None:
    club.add_url_rule("/in", "in", lambda: str(flask_login.login_user(MEMBERS["7"])))
    club.add_url_rule("/who", "who", lambda: of(FlaskLogin()).current().id)
    client = club.test_client()
    client.get("/in")
    assert client.get("/who").text == "7"


def test_flask_login_finds_the_same_actor_by_id_in_an_app_context_alone(club: Flask) -> None:
    identity = of(FlaskLogin(permissions=lambda user: user.permissions))
    then = signed_in(club, MEMBERS["7"], identity)
    with club.app_context():
        assert identity.by_id("7") == then


def test_flask_login_has_no_permissions_of_its_own(club: Flask) -> None:
    assert signed_in(club, MEMBERS["7"], of(FlaskLogin())).permissions == frozenset()


def test_flask_login_makes_an_anonymous_user_a_visitor(club: Flask) -> None:
    assert current(club, of(FlaskLogin())).name == "Visitor"


def test_flask_login_makes_a_deactivated_user_a_visitor_and_unknown_by_id(club: Flask) -> None:
    assert signed_in(club, MEMBERS["8"], of(FlaskLogin())).name == "Visitor"
    with club.app_context():
        assert of(FlaskLogin()).by_id("8") is None


def test_flask_login_does_not_know_an_unknown_id(club: Flask) -> None:
    with club.app_context():
        assert of(FlaskLogin()).by_id("no such user") is None


def test_flask_login_shows_the_name_that_the_site_gives(club: Flask) -> None:
    identity = of(FlaskLogin(name=lambda user: user.username.title()))
    assert signed_in(club, MEMBERS["7"], identity).name == "Ann"


def test_flask_login_shows_the_id_of_a_user_without_a_name(club: Flask) -> None:
    assert signed_in(club, MEMBERS["9"], of(FlaskLogin())).name == "9"


def test_flask_login_refuses_permissions_in_one_text(club: Flask) -> None:
    identity = of(FlaskLogin(permissions=lambda user: "orders:own"))
    with pytest.raises(ConfigurationError, match="FlaskLogin: permissions must be a set or a list"):
        signed_in(club, MEMBERS["7"], identity)


def test_flask_login_without_a_login_manager_says_so(app: Flask) -> None:
    with pytest.raises(ConfigurationError, match="this app has no LoginManager"):
        current(app, of(FlaskLogin()))


def test_flask_login_without_a_user_loader_says_so(app: Flask) -> None:
    flask_login.LoginManager(app)
    with app.app_context(), pytest.raises(ConfigurationError, match="has no user_loader"):
        of(FlaskLogin()).by_id("7")


# Flask-Security


class Shop:
    """A site with Flask-Security on an in-memory database: Ann is a clerk and an editor, Ben is deactivated."""

    def __init__(self, app: Flask) -> None:
        app.config.update(
            SQLALCHEMY_DATABASE_URI="sqlite://",
            SQLALCHEMY_ENGINE_OPTIONS={"poolclass": StaticPool},
            SECURITY_PASSWORD_SALT="salt",
            SECURITY_PASSWORD_HASH="plaintext",
            SECURITY_PASSWORD_SCHEMES=["plaintext"],
            WTF_CSRF_ENABLED=False,
        )
        self.app = app
        self.db = SQLAlchemy(app)
        self.users = SQLAlchemyUserDatastore(self.db, *models(self.db))
        Security(app, self.users)
        with app.app_context():
            self.db.create_all()
            self._fill()

    def _fill(self) -> None:
        roles = {"clerk": ["orders:read"], "editor": ["pages:*", "orders:read"], "guest": None}
        for name, permissions in roles.items():
            self.users.create_role(name=name, permissions=permissions)
        for email, active in {"ann@shop.example": True, "ben@shop.example": False}.items():
            self.users.create_user(
                email=email,
                handle=email[:3],
                active=active,
                password=hash_password("secret-words"),
                roles=["clerk", "editor", "guest"],
            )
        self.db.session.commit()

    def id_of(self, email: str) -> str:
        with self.app.app_context():
            return str(self.users.find_user(email=email).fs_uniquifier)


def models(db: SQLAlchemy) -> tuple[Any, Any]:
    links = db.Table(
        "links",
        db.Column("user_id", db.ForeignKey("user.id")),
        db.Column("role_id", db.ForeignKey("role.id")),
    )

    class Role(db.Model, RoleMixin):
        id = db.Column(db.Integer, primary_key=True)
        name = db.Column(db.String(80), unique=True)
        permissions = db.Column(db.JSON)

    class User(db.Model, SecurityUserMixin):
        id = db.Column(db.Integer, primary_key=True)
        email = db.Column(db.String(255), unique=True)
        handle = db.Column(db.String(80), unique=True)
        password = db.Column(db.String(255))
        active = db.Column(db.Boolean)
        fs_uniquifier = db.Column(db.String(64), unique=True, nullable=False)
        roles = db.relationship(Role, secondary=links)

    return User, Role


@pytest.fixture
def shop(app: Flask) -> Iterator[Shop]:
    shop = Shop(app)
    yield shop
    with app.app_context():
        shop.db.engine.dispose()


def log_in(shop: Shop, identity: Identity) -> Any:
    shop.app.add_url_rule("/who", view_func=lambda: told(identity.current()))
    client = shop.app.test_client()
    answer = client.post("/login", data={"email": "ann@shop.example", "password": "secret-words"})
    assert answer.status_code == 302
    return client


def told(actor: Actor) -> dict[str, Any]:
    return {"id": actor.id, "name": actor.name, "permissions": sorted(actor.permissions)}


def test_flask_security_gives_the_permissions_of_all_roles(shop: Shop) -> None:
    client = log_in(shop, of(FlaskSecurity()))
    assert client.get("/who").json == {
        "id": shop.id_of("ann@shop.example"),
        "name": "ann@shop.example",
        "permissions": ["orders:read", "pages:*"],
    }


def test_flask_security_finds_the_same_actor_by_id_in_an_app_context_alone(shop: Shop) -> None:
    identity = of(FlaskSecurity())
    then = log_in(shop, identity).get("/who").json
    with shop.app.app_context():
        found = identity.by_id(then["id"])
    assert found is not None
    assert told(found) == then


def test_flask_security_sees_a_right_that_was_taken_away(shop: Shop) -> None:
    ann = shop.id_of("ann@shop.example")
    with shop.app.app_context():
        shop.users.remove_role_from_user(shop.users.find_user(email="ann@shop.example"), "editor")
        shop.db.session.commit()
    with shop.app.app_context():
        found = of(FlaskSecurity()).by_id(ann)
    assert found is not None
    assert found.permissions == frozenset({"orders:read"})


def test_flask_security_keeps_no_object_of_the_database(shop: Shop) -> None:
    with shop.app.app_context():
        found = of(FlaskSecurity()).by_id(shop.id_of("ann@shop.example"))
    assert found is not None
    assert {type(value) for value in (found.id, found.name, *found.permissions)} == {str}
    assert type(found.permissions) is frozenset


def test_flask_security_does_not_know_a_deactivated_user(shop: Shop) -> None:
    with shop.app.app_context():
        assert of(FlaskSecurity()).by_id(shop.id_of("ben@shop.example")) is None


def test_flask_security_does_not_know_an_unknown_id(shop: Shop) -> None:
    with shop.app.app_context():
        assert of(FlaskSecurity()).by_id("no such user") is None


def test_flask_security_makes_an_anonymous_user_a_visitor(shop: Shop) -> None:
    assert current(shop.app, of(FlaskSecurity())).name == "Visitor"


def test_flask_security_takes_the_id_from_the_named_column(shop: Shop) -> None:
    identity = of(FlaskSecurity(key="handle"))
    assert log_in(shop, identity).get("/who").json["id"] == "ann"
    with shop.app.app_context():
        found = identity.by_id("ann")
    assert found is not None
    assert found.name == "ann@shop.example"


def test_an_id_from_a_lasting_column_outlives_a_new_password(shop: Shop) -> None:
    before = shop.id_of("ann@shop.example")
    with shop.app.app_context():
        shop.users.set_uniquifier(shop.users.find_user(email="ann@shop.example"))
        shop.db.session.commit()
        assert of(FlaskSecurity()).by_id(before) is None
        assert of(FlaskSecurity(key="handle")).by_id("ann") is not None


def test_flask_security_without_a_security_object_says_so(app: Flask) -> None:
    with pytest.raises(ConfigurationError, match="this app has no Security"):
        current(app, of(FlaskSecurity()))


# when somebody last proved who he is


def proof_of(adapter: FlaskLogin | FlaskSecurity) -> Identity:
    return Identity(adapter.request_loader, adapter.actor_loader, adapter.authenticated_at)


def test_without_a_function_nobody_has_ever_proved_it(app: Flask) -> None:
    with app.test_request_context():
        assert Identity().authenticated_at() is None
    assert not Identity().has_authenticated_at


@pytest.mark.parametrize(
    ("told", "read"),
    [
        (None, None),
        (7, 7.0),
        (1.5, 1.5),
        (datetime(1970, 1, 1, 1, tzinfo=UTC), 3600.0),
        (datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 0.0),
    ],
)
def test_the_time_may_be_a_number_or_a_datetime_with_its_zone(told: Any, read: float | None) -> None:
    assert Identity(authenticated_at=lambda: told).authenticated_at() == read


@pytest.mark.parametrize("told", [True, "7", math.nan, math.inf, datetime(2026, 1, 1), b"7", [7]])
def test_a_proof_that_is_no_time_is_an_error(told: Any) -> None:
    with pytest.raises(ConfigurationError, match="authenticated_at must return seconds"):
        Identity(authenticated_at=lambda: told).authenticated_at()


@pytest.fixture
def strict_club(club: Flask) -> Flask:
    """A club that asks for a fresh sign-in, with a page for each way in and out."""
    club.config["LITRO_APPROVAL_FRESHNESS"] = 300
    identity = proof_of(FlaskLogin())
    ways: dict[str, Any] = {
        "in": lambda: flask_login.login_user(MEMBERS["7"], remember=True),
        "stale": lambda: flask_login.login_user(MEMBERS["7"], fresh=False),
        "confirm": flask_login.confirm_login,
        "out": flask_login.logout_user,
        "proof": identity.authenticated_at,
    }
    for name, way in ways.items():
        club.add_url_rule(f"/{name}", name, lambda way=way: jsonify(way()))
    return club


def test_flask_login_says_when_this_sessions_user_signed_in(strict_club: Flask) -> None:
    client = strict_club.test_client()
    assert client.get("/proof").json is None
    before = time.time()
    client.get("/in")
    assert before <= client.get("/proof").json <= time.time()


def test_flask_login_counts_a_user_whom_a_cookie_remembers_as_never(strict_club: Flask) -> None:
    client = strict_club.test_client()
    client.get("/in")
    client.delete_cookie("session")
    assert client.get("/proof").json is None
    client.get("/confirm")
    assert client.get("/proof").json == pytest.approx(time.time(), abs=30)


@pytest.mark.parametrize("way", ["stale", "out"])
def test_flask_login_says_never_for_one_who_proved_nothing(strict_club: Flask, way: str) -> None:
    client = strict_club.test_client()
    client.get("/in")
    client.get(f"/{way}")
    assert client.get("/proof").json is None


def test_flask_login_keeps_nothing_where_nobody_asks(club: Flask) -> None:
    FlaskLogin()
    with club.test_request_context():
        flask_login.login_user(MEMBERS["7"])
        assert "litro_authenticated_at" not in session


def test_flask_security_says_when_somebody_signed_in_and_nothing_after_the_sign_out(shop: Shop) -> None:
    identity = proof_of(FlaskSecurity())
    shop.app.add_url_rule("/proof", "proof", lambda: jsonify(identity.authenticated_at()))
    before = time.time()
    client = log_in(shop, identity)
    assert before <= client.get("/proof").json <= time.time()
    client.post("/logout")
    assert client.get("/proof").json is None


# optional packages


@pytest.mark.parametrize("adapter", [FlaskLogin, FlaskSecurity])
def test_an_adapter_without_its_package_says_what_to_install(
    adapter: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "flask_login", None)
    with pytest.raises(ConfigurationError, match="pip install flask-login"):
        adapter()


def test_the_module_loads_neither_package_by_itself() -> None:
    program = (
        "import sys, flask_litro_agent.identity; "
        "print([name for name in sys.modules if name in ('flask_login', 'flask_security')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
