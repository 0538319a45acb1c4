/**
 * prose.js: a text that grows, drawn as markdown.
 *
 * The work stays in proportion to the text: a block is drawn once when the next one begins, and only the last, open one
 * is drawn again as it grows; a long one only after it grew by a share of itself, and what came since stands behind it
 * as it is.
 *
 * @module prose
 */

import { soon } from "./frames.js";
import { blocks, nodes } from "./markdown.js";

const LONG = 2_000; // characters: an open block up to here is drawn in every frame
const GROWTH = 1.25; // a longer one when it has grown by this
const LONGEST = 3_000; // a longer one, unless it is code, is cut at a line's end, or a paragraph at a space
const CHUNK = 8_000; // so much is parsed at a time
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:/m;
const CONTAINERS = ["UL", "OL", "LI", "BLOCKQUOTE", "PRE", "CODE", "P", "H3", "H4"];

/** How many characters were parsed and drawn since the page was loaded: for those who measure. */
export const work = { parsed: 0, drawn: 0 };

export class Prose {
  #root;
  #text = "";
  #isWhole = false;
  #done = 0; // where the blocks end that are drawn for good
  #ready = []; // blocks that wait to be drawn for good
  #open = null; // the last block, which may still grow
  #opened = []; // its nodes
  #drawn = 0; // how long it was when it was drawn
  #rest = document.createTextNode(""); // what came since then
  #links = Object.create(null); // what the blocks before define
  #head = ""; // of a table that was cut: its first two lines
  #tell = null; // hears of the whole
  #isBehind = false; // whether there is more to parse

  /** @param {Element} root */
  constructor(root) {
    this.#root = root;
  }

  get text() {
    return this.#text;
  }

  /** @param {string} text */
  append(text) {
    this.#text += text.replaceAll("\r", "");
    soon(this);
  }

  /**
   * Nothing more comes; the text is this one, whatever came of it.
   * @param {string} [text] @param {((words: string) => void) | null} [tell] hears what it says when it is drawn
   */
  finish(text = this.#text, tell = null) {
    const whole = text.replaceAll("\r", "");
    const defines = DEFINITION.test(whole); // perhaps for a link that stands before it
    if (whole !== this.#text || defines) this.#restart(whole);
    if (defines) blocks(whole, this.#links);
    this.#isWhole = true;
    this.#tell = tell;
    soon(this);
  }

  /** Draw what is due; true when a frame did not suffice. */
  run(isOver) {
    do {
      if (!this.#ready.length && this.#isDue()) this.#read();
      while (this.#ready.length) {
        this.#close(this.#ready.shift());
        if (isOver() && (this.#ready.length || this.#isBehind)) return true;
      }
    } while (this.#isBehind);
    this.#drawOpen();
    if (this.#isWhole) this.#tell?.(this.#root.textContent);
    this.#tell = null;
    return false;
  }

  #restart(text) {
    this.#undrawOpen();
    this.#root.replaceChildren();
    this.#text = text;
    this.#done = 0;
    this.#ready = [];
    this.#links = Object.create(null);
    this.#head = "";
    this.#isBehind = false;
  }

  /** Whether the open block has grown enough to be drawn again. */
  #isDue() {
    const length = this.#text.length - this.#done;
    return this.#isWhole || this.#isBehind || this.#drawn <= LONG || length >= this.#drawn * GROWTH;
  }

  /** Find the next blocks of what is not drawn for good; the last one may still grow. */
  #read() {
    const rest = this.#text.slice(this.#done);
    let found, last;
    for (let size = CHUNK; ; size *= 2) {
      this.#isBehind = size < rest.length;
      found = this.#parse(rest.slice(0, size));
      last = this.#isWhole && !this.#isBehind ? found.length : found.findLastIndex(({ type }) => type !== "space");
      if (last > 0 || !this.#isBehind) break;
    }
    this.#ready = found.slice(0, Math.max(0, last));
    this.#open = found[last] ?? null;
    for (const block of this.#ready) if (block.type === "def") this.#links[block.tag] ??= block;
  }

  #parse(text) {
    work.parsed += text.length;
    const links = Object.assign(Object.create(null), this.#links);
    return text ? parts(text, links, this.#head) : [];
  }

  #close(block) {
    this.#undrawOpen();
    this.#done += block.raw.length;
    this.#head = block.head ?? "";
    this.#root.append(draw(block));
  }

  #drawOpen() {
    if (this.#isDue()) this.#redrawOpen();
    const rest = this.#text.slice(this.#done + this.#drawn);
    this.#rest.data = rest.trim() && rest;
  }

  #redrawOpen() {
    this.#undrawOpen();
    if (!this.#open) return;
    const drawn = draw(this.#open);
    this.#opened = [...drawn.childNodes];
    this.#drawn = this.#open.raw.length;
    this.#root.append(drawn);
    innermost(this.#root).append(this.#rest);
  }

  #undrawOpen() {
    for (const node of this.#opened) node.remove();
    this.#opened = [];
    this.#rest.remove();
    this.#drawn = 0;
  }
}

function draw(block) {
  work.drawn += block.raw.length;
  return nodes([block]);
}

/** The blocks of a text, a long one in parts; `head` is that of the table whose rows come first. */
function parts(text, links, head = "") {
  const [first, ...others] = blocks(head + text, links);
  return [{ ...first, raw: first.raw.slice(head.length) }, ...others].flatMap((block) => cut(block, links, head));
}

function cut(block, links, head) {
  const place = placeOfCut(block);
  if (place === 0 || place === block.raw.length) return [block];
  const [before, after] = [block.raw.slice(0, place), block.raw.slice(place)];
  const own = block.type === "table" ? head || before.split("\n", 2).join("\n") + "\n" : "";
  return [...parts(before, links, head).map((part) => ({ ...part, head: own })), ...parts(after, links, own)];
}

function placeOfCut({ type, raw }) {
  if (type === "code" || raw.length <= LONGEST) return 0;
  const space = type === "paragraph" ? raw.indexOf(" ", LONGEST) + 1 : 0;
  const line = raw.indexOf("\n", LONGEST) + 1;
  return space && line ? Math.min(space, line) : space || line;
}

/** Where a reader expects the next word. */
function innermost(root) {
  let place = root;
  while (CONTAINERS.includes(place.lastElementChild?.tagName)) place = place.lastElementChild;
  return place;
}
