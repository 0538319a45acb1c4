/**
 * conversation.js: one session of the chat, and the one stream that a tab has open for it.
 *
 * What is heard comes from the session's log alone: a reload, a second tab and the tab that asked all hear the same.
 * There is no stream while nobody looks at the page, and none when nothing has happened for a while.
 *
 * @module conversation
 */

import { agentSession } from "../litro.js";

const IDLE = 60_000; // ms without an event, a running turn or an open proposal: then the stream is let go of
const SLICE = 8; // ms that events may take in a row: then the page gets its turn

/**
 * Who listens: `event(event)`, `state(name)` of the connection, `change()` when a turn may have begun or ended,
 * `lost(error)` when the stream is, `failed(error, text)` when a message was, and `waits()`: is a proposal open?
 * @typedef {{event: Function, state: Function, change: Function, lost: Function, failed: Function,
 *            waits: () => boolean}} Listener
 */

export class Conversation {
  #agent;
  #base;
  #listener;
  #session = null;
  #stream = new AbortController(); // the stream that is open now
  #sending = false;
  #following = false;
  #begun = false; // whether the session may have a log
  #idle = 0;
  #others;

  /** @param {string} agent @param {string} base @param {Listener} listener */
  constructor(agent, base, listener) {
    this.#agent = agent;
    this.#base = base;
    this.#listener = listener;
    this.#others = new BroadcastChannel(`litro-chat:${agent}`);
    this.#others.onmessage = ({ data }) => data === this.id && !this.#following && this.#join();
  }

  get isRunning() {
    return this.#sending || this.turn !== null;
  }

  /** The running turn's id, or null. */
  get turn() {
    return this.#session?.turn ?? null;
  }

  /** Hear a session from its first event on; `begun` false: it is new, and has none. */
  open(id, { begun }) {
    this.#take();
    this.id = id;
    this.#begun = begun;
    this.#sending = false;
    const onstate = (state) => this.id === id && this.#listener.state(state);
    this.#session = agentSession(this.#agent, id, { lastSeq: 0, base: this.#base, onstate });
    this.watch();
  }

  /** Follow the log while somebody looks at the page. */
  async watch() {
    if (!this.#begun || this.#sending || this.#following || document.hidden) return;
    const signal = this.#take();
    this.#following = true;
    this.#stir();
    try {
      await this.#hear(this.#session.follow(undefined, { signal }), signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#following = false;
      this.#listener.lost(error);
    }
  }

  /** Let go of the stream, unless it brings an answer that was asked for here. */
  rest() {
    if (this.#sending) return;
    this.#take();
    this.#listener.state("open");
  }

  /** Post a message; false when a turn is running already. */
  async send(text) {
    if (this.isRunning) return false;
    const signal = this.#take();
    this.#begun = this.#sending = true;
    this.#listener.change();
    try {
      await this.#hear(this.#session.send(text, { signal }), signal);
    } catch (error) {
      if (!signal.aborted) this.#listener.failed(error, text);
    }
    if (signal.aborted) return true;
    this.#sending = false;
    this.#listener.change();
    this.watch();
    return true;
  }

  stop() {
    return this.#session.stop();
  }

  /** Nobody listens any more. */
  close() {
    this.#take();
    this.#others.close();
  }

  /** Another tab has written to this session. */
  #join() {
    this.#begun = true;
    this.watch();
  }

  #take() {
    clearTimeout(this.#idle);
    this.#stream.abort();
    this.#stream = new AbortController();
    this.#following = false;
    return this.#stream.signal;
  }

  async #hear(events, signal) {
    let began = performance.now();
    for await (const event of events) {
      if (signal.aborted) return;
      if (this.#sending && event.kind === "turn-start") this.#others.postMessage(this.id);
      this.#stir();
      this.#listener.event(event);
      this.#listener.change();
      if (document.hidden || performance.now() - began < SLICE) continue;
      await new Promise((go) => setTimeout(go));
      began = performance.now();
    }
  }

  #stir() {
    clearTimeout(this.#idle);
    if (this.#following) this.#idle = setTimeout(() => this.#tire(), IDLE);
  }

  #tire() {
    if (this.isRunning || this.#listener.waits()) return this.#stir();
    this.rest();
  }
}
