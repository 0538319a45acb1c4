/**
 * transcript.js: a session's events as a page shows them.
 *
 * What a person, a model or a tool wrote reaches the document as text, never as markup.
 */

const ENDS = {
  stopped: "Stopped.",
  failed: "The answer failed.",
  limit: "Stopped at a limit.",
  interrupted: "The answer was interrupted.",
};

const SETTLED = {
  executed: "approved and done",
  failed: "approved, but it could not be done",
  dismissed: "dismissed",
  void: "withdrawn",
  expired: "expired: nobody decided in time",
  outcome_unknown: "approved, but it is unknown whether it was done",
};

export class Transcript {
  #root;
  #name;
  #retry;
  #offer;
  #turn = null;
  #pending = null;
  #proposals = new Map();

  /**
   * `name` is the agent's; `retry(text)` is called when the person wants the last message asked again, and
   * `offer(id, place)` when a proposal waits: what it returns ends the offer.
   */
  constructor(root, { name, retry, offer }) {
    this.#root = root;
    this.#name = name;
    this.#retry = retry;
    this.#offer = offer;
  }

  get isEmpty() {
    return this.#root.childElementCount === 0;
  }

  /** Whether a message is on its way. */
  get isExpecting() {
    return this.#pending !== null;
  }

  clear() {
    this.#root.replaceChildren();
    this.#turn = this.#pending = null;
    for (const card of this.#proposals.values()) card?.withdraw();
    this.#proposals.clear();
  }

  /** Show a message that is on its way. */
  expect(text) {
    this.#pending = element("article", "turn is-pending", said("You", "user", text));
    this.#root.append(this.#pending);
  }

  /** Take it back: it is in the log now, or it did not get there. */
  settle() {
    this.#pending?.remove();
    this.#pending = null;
  }

  add({ kind, payload }) {
    if (kind === "turn-start") return this.#begin(payload);
    if (kind === "proposal-settled") return this.#settled(payload);
    this.#turn?.add(kind, payload);
    if (kind === "proposal") this.#propose(payload);
    if (kind === "message" && payload.role === "user") this.settle();
  }

  /** Show which turn is running now; null when none is. */
  mark(turnId) {
    this.#turn?.mark(turnId !== null && this.#turn.id === turnId);
  }

  #propose({ proposal_id, call_id }) {
    const card = this.#turn?.card(call_id);
    this.#proposals.set(proposal_id, card);
    card?.offer((place) => this.#offer(proposal_id, place));
  }

  /** A decision comes in any turn or between two; it belongs to its card. */
  #settled(payload) {
    const card = this.#proposals.get(payload.proposal_id);
    if (card) return card.decide(payload);
    this.#turn?.answer.append(element("p", "ending", `A proposal was ${decision(payload)}.`));
  }

  #begin({ turn_id }) {
    this.#turn?.leave();
    this.#turn = new Turn(turn_id, this.#name, this.#retry);
    this.#root.insertBefore(this.#turn.element, this.#pending);
  }
}

/** One turn: the person's message, and in their order the answer's texts, reasoning and tool calls. */
class Turn {
  #retry;
  #asked = "";
  #text = null; // where this round's text goes
  #reasoning = null;
  #cards = new Map();
  #usage = { rounds: 0, input: 0, output: 0, model: "" };
  #again = null;

  constructor(id, name, retry) {
    this.id = id;
    this.#retry = retry;
    this.answer = element("div", "answer", element("span", "unseen", `${name}: `));
    this.element = element("article", "turn", this.answer);
  }

  add(kind, payload) {
    if (kind !== "reasoning-delta") this.#reasoning = null;
    switch (kind) {
      case "message": return this.#message(payload);
      case "text-delta": return this.#write(payload.text);
      case "reasoning-delta": return this.#reason(payload.text);
      case "tool-call": return this.#call(payload);
      case "tool-progress": return this.#cards.get(payload.call_id)?.progress(payload.value);
      case "tool-result": return this.#cards.get(payload.call_id)?.settle(payload);
      case "proposal": return this.#cards.get(payload.call_id)?.wait(payload);
      case "ui": return this.#cards.get(payload.call_id)?.settle({ output: payload.data });
      case "usage": return this.#count(payload);
      case "error": return this.answer.append(element("p", "wrong", payload.message));
      case "turn-end": return this.#end(payload);
    }
  }

  card(callId) {
    return this.#cards.get(callId);
  }

  mark(running) {
    this.element.classList.toggle("is-running", running);
  }

  /** Another turn begins: this one is not asked again. */
  leave() {
    this.mark(false);
    this.#again?.remove();
  }

  #message({ role, text }) {
    if (role === "user") {
      this.#asked = text;
      return this.element.prepend(said("You", "user", text));
    }
    this.#text ??= this.#place(element("p", "text"));
    this.#text.textContent = text; // the round's whole text stands for what arrived of it
    if (!text) this.#text.remove();
    this.#text = null;
  }

  #write(text) {
    this.#text ??= this.#place(element("p", "text"));
    this.#text.append(text);
  }

  #reason(text) {
    if (!this.#reasoning) {
      this.#reasoning = element("p", "text");
      this.#place(element("details", "reasoning", element("summary", "", "Reasoning"), this.#reasoning));
    }
    this.#reasoning.append(text);
  }

  #call(payload) {
    const card = new Card(payload);
    this.#cards.set(payload.call_id, card);
    this.#place(card.element);
  }

  #count({ input_tokens = 0, output_tokens = 0, model = "" }) {
    this.#usage.rounds += 1;
    this.#usage.input += input_tokens;
    this.#usage.output += output_tokens;
    this.#usage.model = model;
  }

  #end({ reason }) {
    this.mark(false);
    for (const card of this.#cards.values()) card.leave();
    const { rounds, input, output, model } = this.#usage;
    if (rounds) this.answer.append(element("p", "usage", usageLine(rounds, input, output, model)));
    if (reason === "finished") return;
    const line = element("p", "ending", ENDS[reason] ?? `Ended: ${reason}.`);
    if (!this.#asked) return this.answer.append(line); // a woken turn: nobody asked
    this.#again = button("Retry", () => this.#retry(this.#asked));
    this.answer.append(line);
    line.append(" ", this.#again);
  }

  #place(block) {
    this.answer.append(block);
    return block;
  }
}

/** A tool call: closed at first; its one line says the tool's name and how far it is. */
class Card {
  #state = element("span", "tool-state", "running…");
  #body = element("div", "tool-body");
  #steps = null;
  #withdraw = null; // ends what is offered to an operator

  constructor({ name, input, invalid, raw }) {
    const summary = element("summary", "", element("code", "tool-name", name), this.#state);
    this.element = element("details", "tool", summary, this.#body);
    this.element.dataset.state = "running";
    this.#part(invalid ? "Input (unreadable)" : "Input", element("pre", "", pretty(invalid ? raw : input)));
  }

  progress(value) {
    this.#steps ??= this.#part("Progress", element("ol"));
    this.#steps.append(element("li", "", line(value)));
    this.#state.textContent = line(value);
  }

  settle({ output, error }) {
    this.element.dataset.state = error ? "error" : "done";
    this.#state.textContent = error ? error.message : "done";
    if (!error) return this.#part("Result", element("pre", "", pretty(output)));
    this.#part(`Error: ${error.code}`, element("p", "text", error.message));
    if (error.errors) this.#part("Fields", element("pre", "", pretty(error.errors)));
  }

  /** Nothing is done yet: an operator decides. */
  wait({ summary }) {
    this.element.dataset.state = "waiting";
    this.#state.textContent = "waits for approval";
    this.#part("Proposed", element("p", "text", summary));
  }

  /** `make(place)` offers a decision in this card. */
  offer(make) {
    this.#withdraw = make(this.#body);
  }

  /** Take the offer back. */
  withdraw() {
    this.#withdraw?.();
    this.#withdraw = null;
  }

  decide(payload) {
    this.withdraw();
    this.element.dataset.state = payload.state === "executed" ? "done" : "left";
    this.#state.textContent = decision(payload);
    if (payload.note) this.#part("Note", element("p", "text", payload.note));
  }

  /** The turn is over: what has no result by now gets none. */
  leave() {
    if (this.element.dataset.state !== "running") return;
    this.element.dataset.state = "left";
    this.#state.textContent = "no result";
  }

  #part(title, content) {
    this.#body.append(element("h3", "", title), content);
    return content;
  }
}

export function button(label, act) {
  const made = element("button", "quiet", label);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

export function element(tag, className = "", ...content) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...content);
  return made;
}

function decision({ state }) {
  return SETTLED[state] ?? state;
}

function said(who, className, text) {
  return element("p", `text ${className}`, element("span", "unseen", `${who}: `), text);
}

function pretty(value) {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "nothing");
}

function line(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function usageLine(rounds, input, output, model) {
  const parts = [`${input.toLocaleString()} tokens in`, `${output.toLocaleString()} out`];
  if (rounds > 1) parts.push(`${rounds} rounds`);
  return [...parts, model].filter(Boolean).join(" · ");
}
