"""axe-core, as a judge of pages: fetched by npm when a test first needs it, and kept outside the repository.

What it finds is what a person with a screen reader, a keyboard or weak eyes would stumble over.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Page as Tab

VERSION = "4.14.1"
_FOLDER = Path(tempfile.gettempdir()) / "litro-axe-core"
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
    kept = _FOLDER / f"axe-{VERSION}.min.js"
    if not kept.exists():
        _fetch(kept)
    return kept.read_text("utf-8")


def judge(tab: Tab, axe: str, *, rules: Sequence[str] | None = None) -> Iterator[str]:
    """Yield what is wrong with the page as it is drawn now, one line for each element."""
    if not tab.evaluate("() => 'axe' in window"):
        tab.evaluate(axe)  # by the browser's own protocol, which no Content-Security-Policy holds
    judged = tab.evaluate(_RUN, {"rules": rules, "levels": _LEVELS})
    assert judged["looked"] > 0, "axe had no rule for this page"
    yield from judged["found"]


def _fetch(kept: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("axe-core is missing: apt-get install npm")
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        packed = subprocess.run(
            [npm, "pack", "--silent", f"axe-core@{VERSION}"], cwd=folder, capture_output=True, text=True
        )
        if packed.returncode != 0:
            pytest.skip(f"axe-core is missing: npm pack axe-core@{VERSION} needs the network")
        with tarfile.open(Path(folder) / packed.stdout.strip()) as archive:
            archive.extract("package/axe.min.js", folder, filter="data")
        Path(folder, "package", "axe.min.js").replace(kept)
