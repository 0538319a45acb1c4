/**
 * decisions.js: an operator's decision in the conversation itself.
 *
 * The card is the core's, fetched when it is shown; its digest goes with the decision, and the same view and the same
 * checks answer as on the operator's pages. Whoever is no operator gets no token, and sees no button.
 */

import { button, element } from "./transcript.js";

const SOON = 200; // ms: a replayed conversation has its decision by then
const WHY = {
  permission: "You lack the permission to decide on this.",
  policy: "A policy does not let you decide on this.",
  four_eyes: "You asked for this: somebody else must approve it.",
  stale: "You signed in too long ago to approve this.",
};
const DISMISSIBLE = [null, "four_eyes", "stale"];

/** Offers decisions about proposals whose routes stand beside the client's files. */
export class Decisions {
  #routes;

  constructor(client) {
    this.#routes = new URL("../proposals/", new URL(client, location.href));
  }

  /** Show the proposal's card and its buttons in this place, if whoever looks is an operator and it still waits. */
  offer(id, place) {
    const offer = new Offer(new URL(encodeURIComponent(id), this.#routes), place);
    const timer = setTimeout(() => offer.show(), SOON);
    return () => (clearTimeout(timer), offer.end());
  }
}

class Offer {
  #address;
  #element = element("div", "decision");
  #isOver = false;

  constructor(address, place) {
    this.#address = address;
    place.append(this.#element);
  }

  /** Fetch the card; a page that cannot is one on which nothing is decided. */
  async show() {
    const shown = await this.#fetch().catch(() => null);
    if (this.#isOver || !shown?.csrf_token || shown.state !== "proposed") return;
    this.#draw(shown);
    this.#element.closest("details").open = true;
    this.#timer = setTimeout(() => this.#close("Expired: nobody decided in time."), shown.expires_at - shown.read_at);
  }

  /** It was decided, here or elsewhere. */
  end() {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#element.remove();
  }

  #timer = 0;

  #draw(shown) {
    const changes = shown.changes ?? [];
    const note = element("input", "decision-note");
    note.placeholder = "Note (optional)";
    note.maxLength = 2000;
    note.setAttribute("aria-label", `Note about ${shown.summary}`);
    const send = (what, fields) => this.#send(what, { digest: shown.digest, ...fields }, shown.csrf_token);
    const buttons = element("div", "decision-buttons");
    if (shown.hindrance === null) buttons.append(button("Approve", () => send("approve", {})));
    if (DISMISSIBLE.includes(shown.hindrance)) {
      buttons.append(note, button("Dismiss", () => send("dismiss", { note: note.value })));
    }
    this.#element.replaceChildren(
      element("h3", "", "What would run"),
      fields(shown.lines),
      ...(changes.length ? [element("h3", "", "What would change"), before(changes)] : []),
      ...(shown.can_be_undone === false ? [element("p", "text", "This cannot be undone.")] : []),
      ...(shown.hindrance ? [element("p", "text", WHY[shown.hindrance] ?? shown.hindrance)] : []),
      buttons,
    );
  }

  /** Send a decision once; its effect comes by the log, like everybody's. */
  async #send(what, fields, token) {
    for (const each of this.#element.querySelectorAll("button")) each.disabled = true;
    const headers = { "Content-Type": "application/json", "X-CSRFToken": token };
    const sent = { method: "POST", headers, body: JSON.stringify(fields) };
    try {
      const answer = await fetch(`${this.#address}/${what}`, sent);
      if (!answer.ok) this.#close((await answer.json()).message);
    } catch {
      this.#close("The answer did not come: whether it was decided will be said here.");
    }
  }

  async #fetch() {
    const answer = await fetch(this.#address);
    return answer.ok ? answer.json() : null;
  }

  #close(words) {
    if (this.#isOver) return;
    this.#element.querySelector(".decision-buttons")?.remove();
    this.#element.append(element("p", "text", words));
  }
}

/** The core's own lines: what they say is shown letter by letter. */
function fields(lines) {
  const list = element("dl", "decision-fields");
  for (const line of lines) list.append(element("dt", "", line.name), element("dd", "", value(line)));
  return list;
}

function value(part) {
  switch (part.kind) {
    case "object": return fields(part.parts);
    case "list": return items(part.parts.map(value));
    case "table": return table(part.columns.map((column) => column.text), part.rows.map((row) => row.map(cell)));
    default: return element("span", "", element("code", "", part.text), ...named(part.label), ...(part.marks ?? []).map(mark));
  }
}

function before(changes) {
  const rows = changes.map((change) => [change.label.text, value(change.before), value(change.after)]);
  return table(["", "Before", "After"], rows);
}

function table(columns, rows) {
  const head = element("tr", "", ...columns.map((text) => element("th", "", text)));
  const body = rows.map((row) => element("tr", "", ...row.map((each) => element("td", "", each))));
  return element("div", "decision-table", element("table", "", head, ...body));
}

function items(parts) {
  return element("ol", "", ...parts.map((part) => element("li", "", part)));
}

function cell(part) {
  return part ? value(part) : "";
}

function named(label) {
  return label ? [" ", element("strong", "", label.text)] : [];
}

function mark(name) {
  return element("span", "decision-mark", name);
}
