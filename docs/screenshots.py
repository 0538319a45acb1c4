"""The pictures of the operator's guide: ``python -m docs.screenshots`` plays a Monday in the demo shop and takes them.

A picture changes when a page does and at no other time: days, times and ids are fixed ones before it is taken.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, Page, sync_playwright
from sqlalchemy import insert, update

from flask_litro_agent.core.tables import proposal, usage
from flask_litro_agent.core.usage import DAY_MS
from tests.browser import ARGUMENTS, find_chromium
from tests.shop_desk import Person
from tests.shop_monday import Monday, monday

FOLDER: Final = Path(__file__).parent / "images"
WIDE: Final = {"width": 1100, "height": 760}
PHONE: Final = {"width": 390, "height": 760}
_DECIDED_AFTER: Final = 95_000  # ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One page as one person sees it; ``<state>`` in the path is the id of Monday's proposal of that state."""

    path: str
    username: str = "second"
    size: Mapping[str, int] = field(default_factory=lambda: WIDE)
    scheme: str = "light"
    top: str | None = None


PICTURES: Final = {
    "inbox": Picture(path="/litro/"),
    "card": Picture(path="/litro/proposals/<list>"),
    "chat": Picture(path="/chat/assistant#monday-list", username="operator", top="[part~=decision]"),
    "ledger": Picture(path="/litro/ledger"),
    "ceiling": Picture(path="/litro/ceiling"),
    "usage": Picture(path="/litro/usage"),
    "dark": Picture(path="/litro/proposals/<unknown>", scheme="dark"),
    "phone": Picture(path="/litro/proposals/<open>", size=PHONE),
}

#: Fixes what every run has anew. Moments keep their order, days their distance from today, ids their length.
_POSE: Final = """(today) => {
  const fixed = Date.UTC(2026, 10, 30), day = 86_400_000;
  const shift = (text) => text.replace(/\\d{4}-\\d{2}-\\d{2}/g, (date) =>
    new Date(Date.parse(date) + fixed - Date.parse(today)).toISOString().slice(0, 10));
  const times = [...document.querySelectorAll("time[datetime]")];
  const moments = [...new Set(times.map((time) => time.dateTime))].sort();
  for (const time of times) {
    const at = new Date(fixed + 5 * 60_000 * (108 + moments.indexOf(time.dateTime)));
    time.textContent = time.textContent.replace(/\\d{2}:\\d{2}:\\d{2}/, at.toISOString().slice(11, 19));
  }
  for (const left of document.querySelectorAll("[data-expires]")) {
    left.removeAttribute("data-expires");
    left.textContent = left.textContent.replace(/\\d+:\\d{2}/, "4:12");
  }
  for (const label of document.querySelectorAll("svg text")) {
    const date = `${today.slice(0, 5)}${label.textContent}`;
    if (/^\\d{4}-\\d{2}-\\d{2}$/.test(date)) label.textContent = shift(date).slice(5);
  }
  const ids = new Map();
  const known = (id) => ids.get(id) ?? ids.set(id, name(id.length, ids.size)).get(id);
  const name = (length, nth) => [...Array(length).keys()].map((at) => ((at + 1) * 7 + nth * 5) % 16)
    .map((digit) => digit.toString(16)).join("");
  const shadows = [...document.querySelectorAll("*")].map((one) => one.shadowRoot).filter(Boolean);
  for (const root of [document.body, ...shadows]) {
    const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const before = texts.currentNode.data;
      const after = shift(before).replace(/(?<=\\b[a-z]?)(?=[a-f]*\\d)[0-9a-f]{8,}\\b/g, known);
      if (after !== before) texts.currentNode.data = after;
    }
  }
}"""


def main() -> None:
    """Write every picture anew."""
    os.environ["DEMO_SPEED"] = "0"
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, monday(Path(folder)) as shop, chromium() as browser:
        fill_usage(shop)
        for name, picture in PICTURES.items():
            take(browser, shop, picture).screenshot(path=FOLDER / f"{name}.png", animations="disabled")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser of this machine."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(ARGUMENTS))
        yield browser
        browser.close()


def take(browser: Browser, shop: Monday, picture: Picture) -> Page:
    """Return the page, as it is to be taken."""
    for state in ("open", "list"):
        shop.leave(shop.ids[state], seconds=260)
    tab = browser.new_context(viewport=picture.size, color_scheme=picture.scheme).new_page()
    path = picture.path
    for state, proposal_id in shop.ids.items():
        path = path.replace(f"<{state}>", proposal_id)
    shop.sign_in(tab, picture.username, path)
    if picture.top:
        tab.locator("[part~=decision-buttons]").wait_for()
        tab.locator(picture.top).last.evaluate("one => one.scrollIntoView({ block: 'start' })")
    tab.evaluate(_POSE, tab.evaluate("new Date().toISOString().slice(0, 10)"))
    return tab


def fill_usage(shop: Monday) -> None:
    """Let the shop have had some weeks before this Monday: proposals, decisions and turns on each day."""
    olga, otto = Person(shop.app, "operator"), Person(shop.app, "second")
    for nth in range(24):
        price = 150 + nth
        made = shop.ask(olga, f"Set the price of the Trek 50 to {price} euros", session=f"before-{nth}")
        if nth % 5 != 4:
            otto.decide("dismiss" if nth % 4 == 3 else "approve", made)
        shop.age(made, DAY_MS * (1 + nth * nth % 27))
    database = shop.app.extensions["litro_agent"].books.database
    database.write(_write_turns)
    database.write(_write_delays)


def _write_turns(connection: Any) -> None:
    today = connection.exec_driver_sql("SELECT strftime('%s', 'now')").scalar_one()
    day = int(today) * 1000 // DAY_MS
    for ago in range(1, 30):
        for agent, share in (("assistant", 3), ("concierge", 5)):
            turns = share * (3 + ago * 11 % 7)
            amounts = {
                "input_tokens": 2100 * turns,
                "cached_tokens": 1300 * turns,
                "output_tokens": 180 * turns,
            }
            who = {"day": day - ago, "agent": agent, "actor": "account:3", "model": "scripted"}
            connection.execute(
                insert(usage).values(**who, **amounts, turns=turns, failed=ago % 6 == 0)
            ).close()


def _write_delays(connection: Any) -> None:
    moment = dict.fromkeys(("claimed_at", "settled_at"), proposal.c.created_at + _DECIDED_AFTER)
    decided = update(proposal).where(proposal.c.decided_by.is_not(None), proposal.c.settled_at.is_not(None))
    connection.execute(decided.values(moment)).close()


if __name__ == "__main__":
    main()
