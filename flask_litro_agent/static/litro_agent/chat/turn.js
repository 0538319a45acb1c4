/**
 * turn.js: one turn: the person's message and, in their order, the answer's texts, reasoning, calls and components.
 *
 * What a person or a tool wrote reaches the document as text; a model's text passes through markdown.js.
 *
 * @module turn
 */

import { Call } from "./call.js";
import { Component } from "./component.js";
import { button, element, unseen } from "./dom.js";
import { Proposal } from "./proposal.js";
import { Prose } from "./prose.js";

export class Turn {
  #context;
  #answer;
  #blocks = []; // {seq, element}: what a turn-reset may take back
  #prose = null; // where this round's text goes
  #reasoning = null;
  #calls = new Map();
  #components = [];
  #proposals = [];
  #texts = [];
  #usage = { rounds: 0, input: 0, output: 0, model: "" };
  #actions = null;
  /** What the person asked; empty when nobody did. */
  asked = "";

  /** `context` is the transcript's: {say, name, base, host, lang, retry, copy, announcer, showsUsage}. */
  constructor(id, context) {
    this.id = id;
    this.#context = context;
    this.#answer = element("div", "answer", unseen("h2", context.say("agent", { name: context.name })));
    this.element = element("article", "turn", this.#answer);
  }

  add({ seq, kind, payload }) {
    if (kind !== "reasoning-delta") this.#reasoning = null;
    switch (kind) {
      case "message":
        return this.#message(seq, payload);
      case "text-delta":
        return this.#write(seq).append(payload.text);
      case "reasoning-delta":
        return this.#reason(seq, payload.text);
      case "tool-call":
        return this.#call(seq, payload);
      case "tool-progress":
        return this.#calls.get(payload.call_id)?.progress(payload.value);
      case "tool-result":
        return this.#calls.get(payload.call_id)?.settle(payload);
      case "ui":
        return this.#show(seq, payload);
      case "usage":
        return this.#count(payload);
      case "error":
        return this.#answer.append(element("p", "error", payload.message));
      case "turn-reset":
        return this.#reset(payload.from_seq);
      case "turn-end":
        return this.#end(payload);
    }
  }

  /** Show a proposal in its place, and return it. */
  propose(seq, payload) {
    this.#calls.get(payload.call_id)?.wait();
    const proposal = new Proposal(payload, this.#context);
    this.#proposals.push(proposal);
    this.#place(seq, proposal.element);
    return proposal;
  }

  /** Say something that belongs to no block of this turn. */
  say(words) {
    this.#answer.append(element("p", "ending", words));
  }

  mark(running) {
    this.element.toggleAttribute("data-running", running);
  }

  /** Another turn begins: this one is not asked again. */
  rest() {
    this.mark(false);
    for (const again of this.#actions?.querySelectorAll("[part~=again]") ?? []) again.remove();
  }

  /** The turn is taken from the page. */
  leave() {
    for (const each of [...this.#proposals, ...this.#components]) each.leave();
  }

  #message(seq, { role, text }) {
    if (role === "user") {
      this.asked = text;
      return this.element.prepend(said(text, this.#context));
    }
    if (text) {
      this.#texts.push(text);
      this.#write(seq).finish(text, this.#context.announcer()); // the round's whole text stands for what arrived of it
    }
    this.#prose = null;
  }

  #write(seq) {
    if (!this.#prose) {
      const place = this.#place(seq, element("div", "text"));
      place.dir = "auto";
      this.#prose = new Prose(place);
    }
    return this.#prose;
  }

  #reason(seq, text) {
    if (!this.#reasoning) {
      this.#reasoning = element("p", "reasoning-text");
      this.#reasoning.dir = "auto";
      const head = element("summary", "", this.#context.say("reasoning"));
      this.#place(seq, element("details", "reasoning", head, this.#reasoning));
    }
    this.#reasoning.append(text);
  }

  #call(seq, payload) {
    const call = new Call(payload, this.#context);
    this.#calls.set(payload.call_id, call);
    this.#place(seq, call.element);
  }

  #show(seq, payload) {
    this.#calls.get(payload.call_id)?.settle({ output: payload.data });
    const component = new Component(payload, this.#context);
    this.#components.push(component);
    this.#place(seq, component.element);
  }

  #count({ input_tokens = 0, output_tokens = 0, model = "" }) {
    this.#usage.rounds += 1;
    this.#usage.input += input_tokens;
    this.#usage.output += output_tokens;
    this.#usage.model = model;
  }

  /** Another process took the turn over: what came of the unfinished round is void. */
  #reset(from) {
    this.#prose?.finish();
    this.#prose = null;
    for (const block of this.#blocks.filter(({ seq }) => seq >= from)) block.element.remove();
    this.#blocks = this.#blocks.filter(({ seq }) => seq < from);
  }

  #end({ reason }) {
    const { say, showsUsage } = this.#context;
    this.mark(false);
    this.#prose?.finish();
    for (const call of this.#calls.values()) call.leave();
    if (showsUsage && this.#usage.rounds) this.#answer.append(element("p", "usage", this.#usageLine()));
    if (reason !== "finished") this.say(say(`end:${reason}`) || say("end", { reason }));
    this.#offer(reason);
  }

  #offer(reason) {
    const { say, retry, copy } = this.#context;
    const words = this.#texts.join("\n\n");
    this.#actions = element("div", "actions");
    if (words) {
      const copying = button(say("copy"), "button quiet copy", () => copy(words, copying));
      this.#actions.append(copying);
    }
    if (this.asked) {
      const again = say(reason === "finished" ? "regenerate" : "retry");
      this.#actions.append(button(again, "button quiet again", () => retry(this.asked)));
    }
    this.#answer.append(this.#actions);
  }

  #usageLine() {
    const { say, lang } = this.#context;
    const { rounds, input, output, model } = this.#usage;
    const parts = [say("usage", { input: input.toLocaleString(lang), output: output.toLocaleString(lang) })];
    if (rounds > 1) parts.push(say("rounds", { count: rounds }));
    return [...parts, model].filter(Boolean).join(" · ");
  }

  #place(seq, block) {
    this.#blocks.push({ seq, element: block });
    this.#answer.append(block);
    return block;
  }
}

/** A person's message. */
export function said(text, { say }) {
  const words = element("p", "user", text);
  words.dir = "auto";
  return element("div", "question", unseen("h2", say("you")), words);
}
