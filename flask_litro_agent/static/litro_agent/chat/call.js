/**
 * call.js: a tool's call as one quiet line; opened, it has what went in and what came out.
 *
 * @module call
 */

import { element, pretty } from "./dom.js";

export class Call {
  #say;
  #state;
  #body = element("div", "tool-body");
  #steps = null;

  /** @param {{name: string, input?: unknown, invalid?: boolean, raw?: string}} payload */
  constructor({ name, input, invalid, raw }, { say }) {
    this.#say = say;
    this.#state = element("span", "tool-state", say("running"));
    const title = element("span", "tool-name", say(`tool:${name}`) || name);
    this.element = element("details", "tool", element("summary", "tool-head", title, this.#state), this.#body);
    this.element.dataset.state = "running";
    this.#part(say(invalid ? "unreadable" : "input"), text(pretty(invalid ? raw : input)));
  }

  progress(value) {
    this.#steps ??= this.#part(this.#say("progress"), element("ol"));
    const step = typeof value === "string" ? value : JSON.stringify(value);
    this.#steps.append(element("li", "", step));
    this.#state.textContent = step;
  }

  settle({ output, error }) {
    this.#tell(error ? "error" : "done", error ? error.message : this.#say("done"));
    if (!error) return this.#part(this.#say("result"), text(pretty(output)));
    this.#part(this.#say("error", error), element("p", "", error.message));
    if (error.errors) this.#part(this.#say("fields"), text(pretty(error.errors)));
  }

  /** Nothing is done yet: an operator decides. */
  wait() {
    this.#tell("waiting", this.#say("proposed"));
  }

  /** The turn is over: what has no result by now gets none. */
  leave() {
    if (this.element.dataset.state === "running") this.#tell("left", this.#say("left"));
  }

  #tell(state, words) {
    this.element.dataset.state = state;
    this.#state.textContent = words;
  }

  #part(title, content) {
    this.#body.append(element("h3", "", title), content);
    return content;
  }
}

/** A long one scrolls by itself, also by keyboard. */
function text(words) {
  const made = element("pre", "", words);
  made.tabIndex = 0;
  return made;
}
