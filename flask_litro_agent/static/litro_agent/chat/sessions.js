/**
 * sessions.js: the caller's own sessions, to open one or to delete it.
 *
 * @module sessions
 */

import { deleteSession, listSessions } from "../litro.js";
import { button, element } from "./dom.js";

export class Sessions {
  #context;
  #list = element("ul", "session-list");
  #more;
  #note = element("p", "hint");
  #cursor = undefined;

  /** @param {{agent: string, base: string, lang: string, say: Function, current: () => string,
   *           open: (id: string) => void, gone: (id: string) => void}} context */
  constructor(context) {
    const { say } = (this.#context = context);
    const heading = element("h2", "sessions-title", say("sessions"));
    const close = button(say("close"), "button quiet close", () => this.element.close());
    this.#more = button(say("more"), "button quiet more", () => this.#load());
    this.#note.setAttribute("role", "status");
    const head = element("div", "sessions-head", heading, close);
    this.element = element("dialog", "sessions", head, this.#list, this.#note, this.#more);
    this.element.setAttribute("aria-label", say("sessions"));
  }

  show() {
    this.#list.replaceChildren();
    this.#cursor = undefined;
    this.element.showModal();
    this.#load();
  }

  async #load() {
    const { agent, base, say } = this.#context;
    this.#more.hidden = true;
    try {
      const page = await listSessions(agent, { base, cursor: this.#cursor });
      this.#list.append(...page.sessions.map((session) => this.#row(session)));
      this.#cursor = page.next;
      this.#more.hidden = page.next === null;
      this.#note.textContent = this.#list.childElementCount ? "" : say("none");
    } catch (error) {
      this.#note.textContent = error.message;
    }
  }

  #row({ id, updated }) {
    const { lang, say, current, open } = this.#context;
    const when = new Date(updated).toLocaleString(lang, { dateStyle: "medium", timeStyle: "short" });
    const choose = button(when, "button quiet session", () => (this.element.close(), open(id)));
    choose.setAttribute("aria-label", say("open", { when }));
    const row = element("li", "session-row", choose);
    if (id === current()) row.append(element("span", "hint", say("current")));
    const remove = button(say("delete"), "button quiet delete", () => this.#ask(remove, id, row));
    row.append(remove);
    return row;
  }

  /** The first press asks, the second deletes. */
  async #ask(remove, id, row) {
    const { agent, base, say, gone } = this.#context;
    if (!remove.dataset.sure) {
      remove.dataset.sure = "yes";
      remove.textContent = say("sure");
      return;
    }
    remove.disabled = true;
    try {
      await deleteSession(agent, id, { base });
      row.remove();
      gone(id);
    } catch (error) {
      this.#note.textContent = say("not-deleted", error);
    }
  }
}
