/**
 * transcript.js: a session's events as the chat shows them.
 *
 * @module transcript
 */

import { element } from "./dom.js";
import { Turn, said } from "./turn.js";

export class Transcript {
  #root;
  #context;
  #turns = [];
  #pending = null;
  #proposals = new Map();

  /** @param {Element} root @param {object} context what a Turn needs */
  constructor(root, context) {
    this.#root = root;
    this.#context = context;
  }

  get isEmpty() {
    return this.#root.childElementCount === 0;
  }

  /** Whether a message is on its way. */
  get isExpecting() {
    return this.#pending !== null;
  }

  /** Whether a proposal waits for its decision. */
  get isWaiting() {
    return [...this.#proposals.values()].some((proposal) => proposal.isOpen);
  }

  /** What was asked last. */
  get asked() {
    return this.#turns.findLast((turn) => turn.asked)?.asked ?? "";
  }

  clear() {
    for (const turn of this.#turns) turn.leave();
    this.#root.replaceChildren();
    this.#turns = [];
    this.#pending = null;
    this.#proposals.clear();
  }

  /** Show a message that is on its way. */
  expect(text) {
    this.#pending = element("article", "turn pending", said(text, this.#context));
    this.#root.append(this.#pending);
  }

  /** Take it back: it is in the log now, or it did not get there. */
  settle() {
    this.#pending?.remove();
    this.#pending = null;
  }

  add(event) {
    const { seq, kind, payload } = event;
    if (kind === "turn-start") return this.#begin(payload);
    if (kind === "proposal-settled") return this.#decide(payload);
    if (kind === "proposal") return this.#propose(seq, payload);
    this.#last?.add(event);
    if (kind === "message" && payload.role === "user") this.settle();
  }

  /** Show which turn is running now; null when none is. */
  mark(turnId) {
    this.#last?.mark(turnId !== null && this.#last.id === turnId);
  }

  get #last() {
    return this.#turns.at(-1);
  }

  #propose(seq, payload) {
    if (this.#last) this.#proposals.set(payload.proposal_id, this.#last.propose(seq, payload));
  }

  /** A decision comes in any turn or between two; it belongs to its card. */
  #decide(payload) {
    const proposal = this.#proposals.get(payload.proposal_id);
    if (proposal) return proposal.settle(payload);
    const { say } = this.#context;
    this.#last?.say(say("a-proposal", { state: say(`state:${payload.state}`) || payload.state }));
  }

  #begin({ turn_id }) {
    this.#last?.rest();
    this.#turns.push(new Turn(turn_id, this.#context));
    this.#root.insertBefore(this.#last.element, this.#pending);
  }
}
