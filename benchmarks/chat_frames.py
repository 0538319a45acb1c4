"""How the chat element draws ten thousand deltas: ``python -m benchmarks.chat_frames [--deltas N] [--sample NAME]``.

It prints, for each sample and for a turn as it comes and as a replay has it, the longest frame and the tasks of the
page that took longer than 50 ms; and before that, how long the page's scripts took to run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

from playwright.sync_api import Page as Tab
from playwright.sync_api import expect, sync_playwright

from tests.browser import ARGUMENTS, find_chromium
from tests.chat_site import ask, finish, part, serve_chat, visit
from tests.fake_wire import FakeWire, Turn

SAMPLES = {
    "prose": ("word ", "words, "),
    "paragraphs": ("Some words of a paragraph. ",) * 7 + ("\n\n",),
    "list": ("- an ", "item ", "of a list\n"),
    "code": ("```\n",) + ("print(", "'x'", ")\n") * 10_000,
    "table": ("| a | b |\n|---|---|\n", *("| one ", "| two |\n") * 20_000),
}
WATCH = """() => {
  globalThis.frames = { longest: 0, count: 0, tasks: [] };
  let before = performance.now();
  const frame = (now) => {
    frames.longest = Math.max(frames.longest, now - before);
    frames.count += 1;
    before = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  new PerformanceObserver((list) => frames.tasks.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: "longtask" });
}"""
SCRIPTS = """() => performance.getEntriesByType("long-animation-frame")
  .flatMap(({ scripts }) => scripts).reduce((sum, { duration }) => sum + duration, 0)"""


def deltas(sample: tuple[str, ...], count: int) -> Callable[[Turn], Iterator[Any]]:
    """Return a script that says so many pieces of the sample, as fast as they are read."""

    def script(turn: Turn) -> Iterator[Any]:
        pieces = [sample[number % len(sample)] for number in range(count)]
        for piece in pieces:
            yield "text-delta", {"text": piece}
        yield "message", {"role": "assistant", "text": "".join(pieces)}

    return script


def measure(tab: Tab, act: Callable[[], None]) -> str:
    act()
    finish(tab)
    tab.wait_for_timeout(500)
    found = tab.evaluate("frames")
    long = ", ".join(f"{task:.0f}" for task in sorted(found["tasks"], reverse=True)[:5])
    return f"longest frame {found['longest']:5.0f} ms, tasks above 50 ms: {long or 'none'}"


def run(tab: Tab, wire: FakeWire, name: str, count: int) -> None:
    wire.script = deltas(SAMPLES[name], count)
    visit(tab, wire)
    tab.evaluate("localStorage.clear()")
    tab.evaluate("document.querySelector('litro-chat').newSession()")
    tab.evaluate(WATCH)
    print(f"{name:11} live    {measure(tab, lambda: ask(tab, name))}", flush=True)
    tab.add_init_script(f"addEventListener('DOMContentLoaded', {WATCH})")
    print(f"{name:11} replay  {measure(tab, lambda: None if tab.reload() else None)}", flush=True)
    assert part(tab, "text").count() == 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deltas", type=int, default=10_000)
    parser.add_argument("--sample", choices=SAMPLES)
    given = parser.parse_args()
    expect.set_options(timeout=120_000)
    wire = FakeWire()
    serve_chat(wire)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(ARGUMENTS))
        tab = browser.new_page()
        visit(tab, wire)
        print(
            f"scripts of an empty page: {tab.evaluate(SCRIPTS):.0f} ms in frames of more than 50 ms",
            flush=True,
        )
        for name in [given.sample] if given.sample else SAMPLES:
            run(browser.new_page(), wire, name, given.deltas)
        browser.close()
    wire.close()


if __name__ == "__main__":
    main()
