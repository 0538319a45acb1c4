"""How the chat element draws ten thousand deltas: ``python -m benchmarks.chat_frames [--deltas N] [--sample NAME]``.

It prints the page's five longest tasks in ms of processor time, which other work of the machine does not lengthen: for
the page itself, and for each sample as it comes and as a replay has it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from typing import Any

from playwright.sync_api import Browser, expect, sync_playwright
from playwright.sync_api import Page as Tab

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
TRACED = ["toplevel", "devtools.timeline"]


def deltas(sample: tuple[str, ...], count: int) -> Callable[[Turn], Iterator[Any]]:
    """Return a script that says so many pieces of the sample, as fast as they are read."""

    def script(turn: Turn) -> Iterator[Any]:
        pieces = [sample[number % len(sample)] for number in range(count)]
        for piece in pieces:
            yield "text-delta", {"text": piece}
        yield "message", {"role": "assistant", "text": "".join(pieces)}

    return script


def longest_tasks(trace: bytes) -> list[float]:
    """Return the main thread's tasks in ms of its own processor time, the longest first; a frame is one task."""
    events = json.loads(trace)["traceEvents"]
    mains = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name" and _is_main(e)}
    times = [e["tdur"] / 1000 for e in events if "tdur" in e and (e["pid"], e["tid"]) in mains]
    return sorted(times, reverse=True)


def _is_main(event: dict[str, Any]) -> bool:
    return bool(event["args"]["name"] == "CrRendererMain")


def measure(browser: Browser, tab: Tab, act: Callable[[], object], *, turns: int = 1) -> str:
    browser.start_tracing(page=tab, categories=TRACED)
    act()
    finish(tab, turns)
    tab.wait_for_timeout(1000)
    times = longest_tasks(browser.stop_tracing())
    return " ".join(f"{time:5.1f}" for time in times[:5])


def run(browser: Browser, wire: FakeWire, name: str, count: int) -> None:
    tab = browser.new_page()
    wire.script = deltas(SAMPLES[name], count)
    visit(tab, wire)
    print(f"{name:11} live    {measure(browser, tab, lambda: ask(tab, name))}", flush=True)
    print(f"{name:11} replay  {measure(browser, tab, tab.reload)}", flush=True)
    assert part(tab, "text").count() == 1
    tab.context.close()


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
        print(
            f"the page and its scripts  {measure(browser, tab, lambda: visit(tab, wire), turns=0)}",
            flush=True,
        )
        for name in [given.sample] if given.sample else SAMPLES:
            run(browser, wire, name, given.deltas)
        browser.close()
    wire.close()


if __name__ == "__main__":
    main()
