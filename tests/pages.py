"""The operator's pages as a person without JavaScript has them: what stands there, and what a button does."""

from __future__ import annotations

import html as entities
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from tests.proposal_site import FORM, Browser

#: What a browser sends when somebody follows a link or submits a form.
ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def open_page(browser: Browser, path: str, form: dict[str, str] | None = None, **headers: str) -> Page:
    """Load a page, or send a form to it, as a browser does."""
    sent = {"X-Actor": browser.actor, "Accept": ACCEPT, **headers}
    if form is None:
        return Page(browser, browser.client.get(path, headers=sent))
    return Page(browser, browser.client.post(path, data=form, headers=sent, content_type=FORM))


class Page:
    """One answer."""

    def __init__(self, browser: Browser, answer: Any) -> None:
        self._browser = browser
        self.status: int = answer.status_code
        self.headers = answer.headers
        self.location: str | None = answer.headers.get("Location")
        self.html: str = answer.text
        self._read = _Reader.read(self.html)

    @property
    def title(self) -> str:
        found = re.search(r"<title>(.*?)</title>", self.html, re.DOTALL)
        return entities.unescape(found[1]).strip() if found else ""

    @property
    def text(self) -> str:
        return self._read.text

    @property
    def notice(self) -> str:
        found = re.search(r'<p class="notice.*?</p>', self.html, re.DOTALL)
        return _Reader.read(found[0]).text if found else ""

    @property
    def ids(self) -> list[str]:
        """The proposals' ids in the order of their cards."""
        return [card.id for card in self._cards()]

    def card(self, proposal_id: str) -> Card:
        return next(card for card in self._cards() if card.id == proposal_id)

    def heading_before(self, proposal_id: str) -> str:
        before = self.html[: self.html.index(f'id="card-{proposal_id}"')]
        return _Reader.read(re.findall(r"<h2[^>]*>.*?</h2>", before, re.DOTALL)[-1]).text

    def _cards(self) -> list[Card]:
        found = re.finditer(r'<article [^>]*id="card-(\w+)".*?</article>', self.html, re.DOTALL)
        return [Card(self._browser, match[1], match[0]) for match in found]


class Card:
    """One card and its forms."""

    def __init__(self, browser: Browser, proposal_id: str, html: str) -> None:
        self._browser = browser
        self.id = proposal_id
        self.html = html
        self._read = _Reader.read(html)

    @property
    def text(self) -> str:
        return self._read.text

    @property
    def buttons(self) -> list[str]:
        return [button.label for form in self._read.forms for button in form.buttons]

    def press(self, label: str, **typed: str) -> Page:
        """Submit the form of this button, with what was typed into it."""
        form, button = next(
            (form, button) for form in self._read.forms for button in form.buttons if button.label == label
        )
        return open_page(self._browser, form.action, {**form.fields, **button.fields, **typed})


@dataclass
class _Button:
    fields: dict[str, str]
    words: str = ""

    @property
    def label(self) -> str:
        """The words that everybody sees: what is for the ear alone begins with a colon."""
        return " ".join(self.words.split(":")[0].split())


@dataclass
class _Form:
    action: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[_Button] = field(default_factory=list)


class _Reader(HTMLParser):
    """Reads the words and the forms of a piece of a page."""

    def __init__(self) -> None:
        super().__init__()
        self._words: list[str] = []
        self.forms: list[_Form] = []
        self._button: _Button | None = None
        self._hidden: str | None = None

    @classmethod
    def read(cls, html: str) -> _Reader:
        reader = cls()
        reader.feed(html)
        return reader

    @property
    def text(self) -> str:
        return " ".join("".join(self._words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if "hidden" in given:
            self._hidden = tag
        if tag == "form":
            self.forms.append(_Form(given.get("action") or ""))
        if tag == "input" and self.forms and given.get("name"):
            self.forms[-1].fields[given["name"] or ""] = given.get("value") or ""
        if tag == "button" and self.forms:
            fields = {given["name"]: given.get("value") or ""} if given.get("name") else {}
            self._button = _Button({str(name): value for name, value in fields.items()})
            self.forms[-1].buttons.append(self._button)

    def handle_endtag(self, tag: str) -> None:
        if tag == "button":
            self._button = None
        if tag == self._hidden:
            self._hidden = None

    def handle_data(self, data: str) -> None:
        if self._hidden is None:
            self._words.append(data)
        if self._button is not None:
            self._button.words += data
