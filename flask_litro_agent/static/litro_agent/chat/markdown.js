/**
 * markdown.js: what a model wrote, as nodes that run nothing and load nothing from elsewhere.
 *
 * The text is parsed, html in it stays text, and the result is sanitised after parsing. Then the last word about every
 * address is ours: a link leads to the web, mail or a telephone, and an image is one of this site's own or none.
 *
 * @module markdown
 */

import { policy } from "../trusted.js";
import { Lexer, Marked } from "../vendor/marked.js";
import createPurifier from "../vendor/purify.js";
import { element } from "./dom.js";

const OPTIONS = { gfm: true, breaks: true };
const LINKS = ["http:", "https:", "mailto:", "tel:"];
const TAGS =
  "a blockquote br code del em h3 h4 hr img li ol p pre strong table tbody td th thead tr ul";
const ATTRIBUTES = ["align", "alt", "data-depth", "href", "src", "start", "title"];

const marked = new Marked(OPTIONS, {
  renderer: {
    html: ({ text, block }) => (block ? `<p>${escape(text)}</p>` : escape(text)),
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
    code: ({ text }) => `<pre><code>${escape(text)}</code></pre>`,
    heading({ tokens, depth }) {
      const level = depth < 4 ? 3 : 4; // the page has its own outline: an answer's headings stand below it
      return `<h${level} data-depth="${depth}">${this.parser.parseInline(tokens)}</h${level}>`;
    },
  },
});
const purifier = createPurifier(globalThis.window);

purifier.setConfig({
  ALLOWED_TAGS: TAGS.split(" "),
  ALLOWED_ATTR: ATTRIBUTES,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
  TRUSTED_TYPES_POLICY: policy,
});

/**
 * Split a text into its blocks; `links` are the addresses that the text before it defined, and gets those of this one.
 * @param {string} text @param {Record<string, object>} [links] @returns {{type: string, raw: string}[]}
 */
export function blocks(text, links = Object.create(null)) {
  const lexer = new Lexer({ ...marked.defaults });
  lexer.tokens.links = links;
  return [...lexer.lex(text)];
}

/** Return blocks as nodes. @param {object[]} tokens @returns {DocumentFragment} */
export function nodes(tokens) {
  const fragment = purifier.sanitize(marked.parser(tokens));
  for (const link of fragment.querySelectorAll("a")) tame(link);
  for (const image of fragment.querySelectorAll("img")) vet(image);
  for (const table of fragment.querySelectorAll("table")) frame(table);
  return fragment;
}

function tame(link) {
  const address = parse(link.getAttribute("href"));
  if (!address || !LINKS.includes(address.protocol)) return link.removeAttribute("href");
  link.rel = "noopener noreferrer";
  if (address.origin !== location.origin) link.target = "_blank";
}

/** Keep an image of this site; a query could carry something out by way of a redirect, so it is a link then. */
function vet(image) {
  const address = parse(image.getAttribute("src"));
  if (address?.origin === location.origin && !address.search) {
    image.loading = "lazy";
    return;
  }
  const link = element("a", "", image.alt || "🖼");
  if (address) link.href = address.href;
  image.replaceWith(link);
  tame(link);
}

/** A wide table scrolls by itself, also by keyboard. */
function frame(table) {
  const place = element("div", "table");
  place.tabIndex = 0;
  table.replaceWith(place);
  place.append(table);
}

function parse(address) {
  return address !== null && URL.canParse(address, document.baseURI) ? new URL(address, document.baseURI) : null;
}

function escape(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
