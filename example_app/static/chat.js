/**
 * chat.js: the page on which a person talks to an agent.
 *
 * What is shown comes from the session's log alone: a reload, a second tab and the tab that asked all see the same.
 * A tab has one stream open at most, and none while nobody looks at it.
 */

import { Decisions } from "./decisions.js";
import { Transcript, button } from "./transcript.js";

const part = (name) => document.getElementById(`chat-${name}`);
const { agent, title, client } = document.getElementById("chat").dataset;
const { agentSession, newSessionId } = await import(client);

const NOTICES = {
  open: "",
  waiting: "Reconnecting…",
  offline: "You are offline. The conversation goes on when you are back.",
};

class Chat {
  #session = null;
  #stream = new AbortController(); // the stream that is open now
  #sending = false;
  #following = false;
  #begun = false; // whether the session may have a log
  #pinned = true; // whether the page follows the answer's end
  #top = 0; // how far down the page was when it last moved
  #decisions = new Decisions(client);
  #transcript = new Transcript(part("log"), {
    name: title,
    retry: (text) => this.send(text),
    offer: (id, place) => this.#decisions.offer(id, place),
  });
  #others = new BroadcastChannel(`litro-chat:${agent}`);

  constructor() {
    this.#others.onmessage = ({ data }) => data === this.id && !this.#following && this.join();
    addEventListener("scroll", () => this.#pin(), { passive: true });
  }

  get isRunning() {
    return this.#sending || this.#session.turn !== null;
  }

  /** Show a session from its first event on; `begun` false: it is new, and has none. */
  open(id, { begun }) {
    this.#take();
    this.id = id;
    this.#begun = begun;
    this.#sending = false;
    this.#transcript.clear();
    const onstate = (state) => this.id === id && notify(NOTICES[state]);
    this.#session = agentSession(agent, id, { lastSeq: 0, onstate });
    notify("");
    this.#refresh();
    this.watch();
  }

  /** Another tab has written to this session. */
  join() {
    this.#begun = true;
    this.watch();
  }

  /** Follow the log while somebody looks at the page. */
  async watch() {
    if (!this.#begun || this.#sending || document.hidden) return;
    const signal = this.#take();
    this.#following = true;
    try {
      await this.#show(this.#session.follow(undefined, { signal }), signal);
    } catch (error) {
      if (!signal.aborted) this.#lose(error);
    }
  }

  /** Nobody looks: let go of the stream, unless it brings an answer that was asked for here. */
  rest() {
    if (this.#sending) return;
    this.#take();
    notify("");
  }

  async send(text) {
    if (this.isRunning) return;
    const signal = this.#take();
    this.#begin(text);
    try {
      await this.#show(this.#session.send(text, { signal }), signal);
    } catch (error) {
      if (!signal.aborted) this.#fail(error, text);
    }
    if (signal.aborted) return;
    this.#sending = false;
    this.#refresh();
    this.watch();
  }

  async stop() {
    part("stop").disabled = true;
    await this.#session.stop().catch((error) => notify(`It could not be stopped: ${error.message}`));
    part("stop").disabled = false;
  }

  #take() {
    this.#stream.abort();
    this.#stream = new AbortController();
    this.#following = false;
    return this.#stream.signal;
  }

  #begin(text) {
    this.#begun = this.#sending = this.#pinned = true;
    remember(this.id);
    notify("");
    this.#transcript.expect(text);
    this.#refresh();
  }

  async #show(events, signal) {
    for await (const event of events) {
      if (signal.aborted) return;
      if (this.#sending && event.kind === "turn-start") this.#others.postMessage(this.id);
      this.#transcript.add(event);
      if (event.kind === "message" && event.payload.role === "assistant") this.#announce(event.payload.text);
      this.#refresh();
    }
  }

  /** A screen reader hears an answer once it is whole, and not when an old one is replayed. */
  #announce(text) {
    if (this.isRunning) part("said").textContent = text;
  }

  #refresh() {
    this.#transcript.mark(this.#session.turn);
    part("start").hidden = !this.#transcript.isEmpty;
    part("stop").hidden = !this.isRunning;
    part("send").hidden = this.isRunning;
    requestAnimationFrame(() => this.#pinned && scrollTo(0, document.documentElement.scrollHeight));
  }

  /** Only a reader who goes up lets go of the end: an answer may have grown since the page moved. */
  #pin() {
    this.#pinned = isAtEnd() || (this.#pinned && scrollY >= this.#top);
    this.#top = scrollY;
  }

  /** The stream is lost for good; a session that nobody has written to is no loss. */
  #lose(error) {
    this.#following = false;
    if (error.status === 404 && this.#transcript.isEmpty) return;
    notify(error.status === 404 ? "This conversation was deleted." : error.message, "Reconnect", () => this.watch());
  }

  /** A message that did not reach the log goes back to where it was written. */
  #fail(error, text) {
    const arrived = !this.#transcript.isExpecting;
    this.#transcript.settle();
    if (!arrived && !part("text").value) part("text").value = text;
    notify(error.name === "SessionBusy" ? "An answer is being written already." : error.message);
  }
}

function notify(text, label, act) {
  part("notice").replaceChildren(text, ...(label ? [" ", button(label, act)] : []));
}

function isAtEnd() {
  return innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
}

function recall() {
  try {
    return localStorage.getItem(`litro-chat:${agent}`);
  } catch {
    return null; // a browser that keeps nothing: the address alone remembers
  }
}

function remember(id) {
  try {
    localStorage.setItem(`litro-chat:${agent}`, id);
  } catch {
    return;
  }
}

/** Show the conversation that the address names, else this browser's last one with this agent, else a new one. */
function visit() {
  const known = location.hash.slice(1) || recall() || "";
  const begun = /^[A-Za-z0-9_-]{1,64}$/.test(known);
  const id = begun ? known : newSessionId();
  history.replaceState(null, "", `#${id}`);
  chat.open(id, { begun });
}

/** Begin another conversation; the browser's back button returns to this one. */
function renew() {
  const id = newSessionId();
  history.pushState(null, "", `#${id}`);
  chat.open(id, { begun: false });
  part("text").focus();
}

function submit() {
  const text = part("text").value.trim();
  if (!text || chat.isRunning) return;
  part("text").value = "";
  chat.send(text);
}

const chat = new Chat();
visit();

part("form").addEventListener("submit", (event) => (event.preventDefault(), submit()));
part("text").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  submit();
});
part("stop").addEventListener("click", () => chat.stop());
part("new").addEventListener("click", renew);
part("start").addEventListener("click", ({ target }) => target.matches("button") && chat.send(target.textContent));
addEventListener("popstate", visit); // the address changed: by the back button, or by hand
addEventListener("keydown", (event) => event.key === "Escape" && chat.isRunning && chat.stop());
document.addEventListener("visibilitychange", () => (document.hidden ? chat.rest() : chat.watch()));
part("send").disabled = false; // a click before this would have sent the form to nowhere, and lost the text
