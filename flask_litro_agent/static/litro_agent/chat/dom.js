/**
 * dom.js: elements with their `part`, by which the sheet and the host page find them. Content is text, never markup.
 *
 * @module dom
 */

/** @param {string} tag @param {string} [part] @param {...(Node | string)} content */
export function element(tag, part = "", ...content) {
  const made = document.createElement(tag);
  if (part) made.setAttribute("part", part);
  made.append(...content);
  return made;
}

/** @param {string} words @param {string} part @param {() => void} act */
export function button(words, part, act) {
  const made = element("button", part, words);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

/** Words for those who hear the page. */
export function unseen(tag, words) {
  const made = element(tag, "", words);
  made.className = "unseen";
  return made;
}

/** A value as people read it. */
export function pretty(value) {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "–");
}
