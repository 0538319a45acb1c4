/**
 * card.js: a proposal's card, drawn from the core's own lines. What they say is shown letter by letter.
 *
 * @module card
 */

import { element } from "./dom.js";

/** What would run, as names and values. @param {object[]} lines */
export function fields(lines) {
  const list = element("dl", "fields");
  for (const line of lines) list.append(element("dt", "", line.name), element("dd", "", value(line)));
  return list;
}

/** What would change. @param {object[]} found @param {(key: string) => string} say */
export function changes(found, say) {
  const rows = found.map((change) => [change.label.text, value(change.before), value(change.after)]);
  return table(["", say("before"), say("after")], rows);
}

function value(part) {
  switch (part.kind) {
    case "object":
      return fields(part.parts);
    case "list":
      return element("ol", "", ...part.parts.map((each) => element("li", "", value(each))));
    case "table":
      return table(
        part.columns.map((column) => column.text),
        part.rows.map((row) => row.map((cell) => (cell ? value(cell) : ""))),
      );
    default:
      return line(part);
  }
}

function line({ text, label, marks = [] }) {
  const name = label ? [" ", element("strong", "", label.text)] : [];
  return element("span", "", element("code", "", text), ...name, ...marks.map((mark) => element("span", "mark", mark)));
}

function table(columns, rows) {
  const head = element("tr", "", ...columns.map((text) => element(text ? "th" : "td", "", text)));
  const body = rows.map((row) => element("tr", "", ...row.map((each) => element("td", "", each))));
  const place = element("div", "table", element("table", "", element("thead", "", head), element("tbody", "", ...body)));
  place.tabIndex = 0;
  return place;
}
