"""axe-core, as a judge of pages.

What it finds is what a person with a screen reader, a keyboard or weak eyes would stumble over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from playwright.sync_api import Page as Tab

from tests import npm

VERSION = "4.14.1"
_LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_RUN = """async (how) => {
  const only = how.rules ? { type: "rule", values: how.rules } : { type: "tag", values: how.levels };
  const { violations, incomplete, passes } = await axe.run(document, { runOnly: only, resultTypes: ["violations"] });
  return {
    looked: passes.length + violations.length + incomplete.length,
    found: violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${help}: ${target.join(" ")}: ${failureSummary}`)),
  };
}"""


def source() -> str:
    """Return the text of axe.min.js; the test is skipped where it cannot be had."""
    return (npm.package("axe-core", VERSION) / "axe.min.js").read_text("utf-8")


def judge(tab: Tab, axe: str, *, rules: Sequence[str] | None = None) -> Iterator[str]:
    """Yield what is wrong with the page as it is drawn now, one line for each element."""
    if not tab.evaluate("() => 'axe' in window"):
        tab.evaluate(axe)  # by the browser's own protocol, which no Content-Security-Policy holds
    judged = tab.evaluate(_RUN, {"rules": rules, "levels": _LEVELS})
    assert judged["looked"] > 0, "axe had no rule for this page"
    yield from judged["found"]
