"""Who is asking now, and the same person by id later.

A site's two loaders say it; whoever they do not know is a visitor, with an id in Flask's signed session and no
permission. The one rule: what cannot be trusted is an error or a visitor, never a stronger or another actor.
"""

from __future__ import annotations

import dataclasses
import math
import re
import secrets
import time
from collections.abc import Callable, Collection, Mapping, Set
from datetime import datetime
from typing import Any, Final

from flask import Flask, current_app, g, has_app_context, session
from flask.sessions import NullSession

from flask_litro_agent.contracts import Actor
from flask_litro_agent.errors import ConfigurationError

__all__ = [
    "ActorLoader",
    "AuthenticatedAt",
    "FlaskLogin",
    "FlaskSecurity",
    "Identity",
    "RequestLoader",
    "is_visitor_id",
    "note_token_actor",
    "token_actor",
    "visitor_id",
]

RequestLoader = Callable[[], Actor | None]
ActorLoader = Callable[[str], Actor | None]
AuthenticatedAt = Callable[[], float | datetime | None]

_SESSION_KEY: Final = "litro_visitor"
_PROOF_KEY: Final = "litro_authenticated_at"
_VISITOR_PREFIX: Final = "visitor:"
_VISITOR: Final = re.compile(r"visitor:[A-Za-z0-9_-]{22}")
_LONGEST_ID: Final = 255
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


class Identity:
    """Answers both questions by a site's loaders, and checks what they return.

    What a loader raises is passed on; what it should not have returned raises ConfigurationError.
    """

    def __init__(
        self,
        request_loader: RequestLoader | None = None,
        actor_loader: ActorLoader | None = None,
        authenticated_at: AuthenticatedAt | None = None,
    ) -> None:
        self._request_loader = request_loader
        self._actor_loader = actor_loader
        self._authenticated_at = authenticated_at

    @property
    def has_actor_loader(self) -> bool:
        """Whether people with an account can be found again by their id."""
        return self._actor_loader is not None

    @property
    def has_authenticated_at(self) -> bool:
        """Whether the site says when somebody last proved who he is."""
        return self._authenticated_at is not None

    def authenticated_at(self) -> float | None:
        """Return when who makes this request last proved who he is, in seconds since the epoch; None for never."""
        return None if self._authenticated_at is None else _moment(self._authenticated_at())

    def current(self) -> Actor:
        """Return who makes this request: the site's actor, or the visitor that its session names."""
        loaded = self._request_loader() if self._request_loader else None
        return _visitor(_own_visitor_id()) if loaded is None else _checked(loaded, "request_loader")

    def by_id(self, actor_id: str) -> Actor | None:
        """Return the actor of this id as of now, None for an unknown one; needs no request.

        The site is never asked for a visitor, nor for an id that no actor can have.
        """
        if actor_id.startswith(_VISITOR_PREFIX):
            return _visitor(actor_id) if _VISITOR.fullmatch(actor_id) else None
        if self._actor_loader is None or _id_fault(actor_id):
            return None
        loaded = self._actor_loader(actor_id)
        return None if loaded is None else _same(_checked(loaded, "actor_loader"), actor_id)


def visitor_id(session: Mapping[str, Any]) -> str | None:
    """Return the id of the visitor that this Flask session names; None when it names none, or a malformed one."""
    value = session.get(_SESSION_KEY)
    return value if isinstance(value, str) and _VISITOR.fullmatch(value) else None


def is_visitor_id(actor_id: str) -> bool:
    """Whether this is the id of somebody without an account."""
    return _VISITOR.fullmatch(actor_id) is not None


def token_actor() -> Actor | None:
    """Return whom the token of this request names; None in a request that came without one.

    An agent's ``access()`` asks it: over MCP nobody is signed in, and the site's session is not read.
    """
    return g.get("litro_token_actor") if has_app_context() else None


def note_token_actor(actor: Actor) -> None:
    """Keep, for the rest of this request, whom its token names."""
    g.litro_token_actor = actor


class FlaskLogin:
    """Both loaders of a site with Flask-Login: ``LitroAgent(identity=FlaskLogin(permissions=...))``.

    An actor's id is ``user.get_id()``. ``permissions`` and ``name`` are asked with the user; Flask-Login itself
    knows no permissions, so without ``permissions`` a user holds none. Where the site sets LITRO_APPROVAL_FRESHNESS,
    the time of ``login_user`` and ``confirm_login`` is kept in the session, since Flask-Login does not keep it.
    """

    def __init__(
        self,
        *,
        permissions: Callable[[Any], Collection[str]] = lambda user: frozenset(),
        name: Callable[[Any], str] | None = None,
    ) -> None:
        flask_login = _flask_login()
        self._permissions = permissions
        self._name = name or _login_name
        for signal in (flask_login.user_logged_in, flask_login.user_login_confirmed):
            signal.connect(_keep_proof)

    def request_loader(self) -> Actor | None:
        """Return the signed-in user of this request."""
        _login_manager()
        return self._actor(_flask_login().current_user)

    def actor_loader(self, actor_id: str) -> Actor | None:
        """Return the user that the login manager's ``user_loader`` finds by this id."""
        load = _login_manager().user_callback
        if load is None:
            raise ConfigurationError(
                "FlaskLogin: the LoginManager has no user_loader, which finds users by id"
            )
        return self._actor(load(actor_id))

    def authenticated_at(self) -> float | None:
        """Return when this session's user signed in or confirmed it; None for one whom a cookie remembers."""
        return session.get(_PROOF_KEY) if _flask_login().login_fresh() else None

    def _actor(self, user: Any) -> Actor | None:
        if not _signed_in(user):
            return None
        return Actor(user.get_id(), self._name(user), _frozen(self._permissions(user), "FlaskLogin"))


class FlaskSecurity:
    """Both loaders of a site with Flask-Security: a user's permissions are those of all its roles.

    An actor's id is the user's ``key`` column. ``fs_uniquifier`` is always there but Flask-Security changes it with
    the password, and conversations belong to the id: name a text column that is unique, lasting and never reused,
    where the site has one.
    """

    def __init__(self, *, key: str = "fs_uniquifier", name: Callable[[Any], str] | None = None) -> None:
        _flask_login()
        self._key = key
        self._name = name or _security_name

    def request_loader(self) -> Actor | None:
        """Return the signed-in user of this request."""
        _datastore()
        return self._actor(_flask_login().current_user)

    def actor_loader(self, actor_id: str) -> Actor | None:
        """Return the active user that the datastore finds by this id."""
        # Flask-Security's own user_loader reads the request's session: it cannot be asked by a turn
        return self._actor(_datastore().find_user(**{self._key: actor_id}))

    def authenticated_at(self) -> float | None:
        """Return when this session's user last signed in or verified, as Flask-Security keeps it (``fs_paa``)."""
        return session.get("fs_paa")

    def _actor(self, user: Any) -> Actor | None:
        if not _signed_in(user):
            return None
        held = {permission for role in user.roles for permission in role.get_permissions()}
        return Actor(str(getattr(user, self._key)), self._name(user), _frozen(held, "FlaskSecurity"))


def _own_visitor_id() -> str:
    known = visitor_id(session)
    if known:
        return known
    if isinstance(session, NullSession):
        raise ConfigurationError(
            "set SECRET_KEY: somebody without an account is told apart by Flask's signed session"
        )
    session[_SESSION_KEY] = fresh = _VISITOR_PREFIX + secrets.token_urlsafe(16)
    return fresh


def _visitor(actor_id: str) -> Actor:
    return Actor(actor_id, "Visitor")


def _checked(loaded: object, loader: str) -> Actor:
    if type(loaded) is not Actor:  # a subclass could answer `may` in its own way
        raise ConfigurationError(f"{loader} must return an Actor or None, not {type(loaded).__name__}")
    fault = _id_fault(loaded.id) or _name_fault(loaded.name)
    if fault:
        raise ConfigurationError(f"{loader} returned an Actor that cannot stand: {fault}")
    return dataclasses.replace(loaded, permissions=_frozen(loaded.permissions, loader))


def _moment(told: object) -> float | None:
    """Return the time as a number; ConfigurationError for what is none, and for a time that names no zone."""
    match told:
        case None:
            return None
        case bool():
            pass
        case int() | float() if math.isfinite(told):
            return float(told)
        case datetime() if told.utcoffset() is not None:
            return told.timestamp()
    raise ConfigurationError(
        "authenticated_at must return seconds since the epoch, a datetime with its zone, or None; "
        f"not {type(told).__name__}"
    )


def _same(actor: Actor, actor_id: str) -> Actor:
    if actor.id != actor_id:
        raise ConfigurationError(f"actor_loader was asked for {actor_id!r} and returned {actor.id!r}")
    return actor


def _id_fault(actor_id: object) -> str | None:
    if not isinstance(actor_id, str):
        return f"its id must be a text, not {type(actor_id).__name__}: write str(user.id)"
    if not 1 <= len(actor_id) <= _LONGEST_ID:
        return f"its id must have 1 to {_LONGEST_ID} characters, not {len(actor_id)}"
    if actor_id.startswith(_VISITOR_PREFIX):
        return (
            "its id starts with 'visitor:', which is kept for people without an account; return None for them"
        )
    if _UNSTORABLE.search(actor_id):
        return "its id holds a NUL character or a lone surrogate"
    if actor_id.endswith(" "):
        return "its id ends in a space, which not every database tells from the id without it"
    return None


def _name_fault(name: object) -> str | None:
    if not isinstance(name, str):
        return f"its name must be a text, not {type(name).__name__}"
    return "its name holds a NUL character or a lone surrogate" if _UNSTORABLE.search(name) else None


def _frozen(permissions: object, source: str) -> frozenset[str]:
    if not isinstance(permissions, (Set, list, tuple)):
        raise ConfigurationError(
            f"{source}: permissions must be a set or a list of texts, not {type(permissions).__name__}"
        )
    if not all(isinstance(permission, str) and permission for permission in permissions):
        raise ConfigurationError(f"{source}: every permission must be a non-empty text")
    return frozenset(permissions)


def _keep_proof(app: Flask, **signal: Any) -> None:
    if app.config.get("LITRO_APPROVAL_FRESHNESS") is not None:
        session[_PROOF_KEY] = time.time()


def _flask_login() -> Any:
    try:
        import flask_login  # an optional dependency; Flask-Security brings it along
    except ImportError:
        raise ConfigurationError(
            "this identity needs a package that is not installed: pip install flask-login (or flask-security)"
        ) from None
    return flask_login


def _login_manager() -> Any:
    manager = getattr(current_app, "login_manager", None)
    if manager is None:
        raise ConfigurationError("FlaskLogin: this app has no LoginManager; call login_manager.init_app(app)")
    return manager


def _datastore() -> Any:
    security = current_app.extensions.get("security")
    if security is None:
        raise ConfigurationError(
            "FlaskSecurity: this app has no Security; call security.init_app(app, datastore)"
        )
    return security.datastore


def _signed_in(user: Any) -> bool:
    return user is not None and bool(user.is_authenticated and user.is_active)


def _login_name(user: Any) -> str:
    names = (getattr(user, attribute, None) for attribute in ("name", "username"))
    return next((name for name in names if isinstance(name, str) and name), str(user.get_id()))


def _security_name(user: Any) -> str:
    return str(user.calc_username())
