/**
 * proposal.js: a change that an agent wants to make, and the decision about it.
 *
 * The card is the core's, fetched when it is shown; its digest goes with the decision, and the same view and the same
 * checks answer as on the operator's pages. Whoever is no operator gets no token, and sees no button.
 *
 * @module proposal
 */

import { changes, fields } from "./card.js";
import { button, element } from "./dom.js";

const SOON = 200; // ms: a replayed conversation has its decision by then
const DISMISSIBLE = [null, "four_eyes", "stale"];

export class Proposal {
  #address;
  #say;
  #summary;
  #state;
  #time = element("span", "time-left");
  #decision = element("div", "decision");
  #timer = 0;
  #isOver = false;

  /**
   * @param {{proposal_id: string, name: string, summary: string}} payload
   * @param {{say: Function, base: string}} context
   */
  constructor({ proposal_id, name, summary }, { say, base }) {
    this.#address = `${base}/proposals/${encodeURIComponent(proposal_id)}`;
    this.#say = say;
    this.#summary = summary;
    this.#state = element("span", "proposal-state", say("waits"));
    const head = element("p", "proposal-head", this.#state, " ", this.#time);
    this.element = element("section", "proposal", head, element("p", "proposal-summary", summary), this.#decision);
    this.element.setAttribute("aria-label", say("proposal"));
    this.element.dataset.tool = name;
    this.element.dataset.state = "waiting";
    this.#timer = setTimeout(() => this.#ask(), SOON);
  }

  get isOpen() {
    return !this.#isOver;
  }

  /** It was decided, here or elsewhere. @param {{state: string, note?: string}} payload */
  settle({ state, note }) {
    this.leave();
    this.#decision.remove();
    this.#tell(state);
    if (note) this.element.append(element("p", "note", note));
  }

  /** Nobody looks at it any more. */
  leave() {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#time.remove();
  }

  #tell(state) {
    this.element.dataset.state = state;
    this.#state.textContent = this.#say(`state:${state}`) || state;
  }

  /** Fetch the card; without one nothing is decided here, and the log says what is decided elsewhere. */
  async #ask() {
    const card = await this.#fetch().catch(() => null);
    if (this.#isOver || !card) return;
    if (card.state !== "proposed") return this.settle(card);
    this.#count(card.expires_at - card.read_at);
    if (card.csrf_token) this.#draw(card);
  }

  /** Show how much time is left; the server's clock alone counts, and this one only runs beside it. */
  #count(left) {
    const end = performance.now() + left;
    const show = () => {
      const seconds = Math.ceil((end - performance.now()) / 1000);
      if (seconds <= 0) return this.settle({ state: "expired" });
      this.#time.textContent = this.#say("left-time", { time: minutes(seconds) });
      this.#timer = setTimeout(show, 1000);
    };
    show();
  }

  #draw(card) {
    const { changes: changed = [], hindrance, can_be_undone: undoable } = card;
    this.#decision.replaceChildren(
      element("h3", "", this.#say("would-run")),
      fields(card.lines),
      ...(changed?.length ? [element("h3", "", this.#say("would-change")), changes(changed, this.#say)] : []),
      ...(undoable === false ? [element("p", "hint", this.#say("no-undo"))] : []),
      ...(hindrance ? [element("p", "hint", this.#say(`hindrance:${hindrance}`) || hindrance)] : []),
      this.#buttons(card),
    );
  }

  #buttons({ digest, csrf_token: token, hindrance }) {
    const note = element("input", "note-input");
    note.placeholder = this.#say("note");
    note.maxLength = 2000;
    note.setAttribute("aria-label", this.#say("note-about", { summary: this.#summary }));
    const place = element("div", "decision-buttons");
    const approve = () => this.#send("approve", { digest }, token);
    const dismiss = () => this.#send("dismiss", { digest, note: note.value }, token);
    if (hindrance === null) place.append(button(this.#say("approve"), "button approve", approve));
    if (DISMISSIBLE.includes(hindrance)) place.append(note, button(this.#say("dismiss"), "button dismiss", dismiss));
    return place;
  }

  /** Send a decision once; its effect comes by the log, like everybody's. */
  async #send(what, body, token) {
    for (const each of this.#decision.querySelectorAll("button")) each.disabled = true;
    const headers = { "Content-Type": "application/json", "X-CSRFToken": token };
    try {
      const answer = await fetch(`${this.#address}/${what}`, { method: "POST", headers, body: JSON.stringify(body) });
      if (!answer.ok) this.#close((await answer.json()).message);
    } catch {
      this.#close(this.#say("decision-lost"));
    }
  }

  async #fetch() {
    const answer = await fetch(this.#address, { cache: "no-store" });
    return answer.ok ? answer.json() : null;
  }

  #close(words) {
    if (this.#isOver) return;
    this.#decision.querySelector("[part~=decision-buttons]")?.remove();
    this.#decision.append(element("p", "hint", words));
  }
}

function minutes(seconds) {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
