/**
 * litro.js: a durable session, read in the browser.
 *
 * The log on the server is the truth. Every iterator here hands out its events once, in order and without a hole,
 * over as many responses as that takes; a message is posted once and never again.
 *
 *     const session = agentSession("concierge", newSessionId());
 *     for await (const event of session.send("Which tents do you have?")) show(event);
 *
 * @module litro
 */

import { BASE } from "./base.js";
import { AgentHTTPError, Hole, Link, StreamError, ask, isFinal } from "./connection.js";
import { ComponentError, hydrateUIResult } from "./hydrate.js";

export { AgentHTTPError, ComponentError, StreamError, hydrateUIResult };

/**
 * @template {string} K
 * @template P
 * @typedef {{seq: number, ts: number, kind: K, payload: P}} EventOf
 */
/**
 * One event of the log; `ts` is milliseconds since the epoch. Skip a kind that you do not know: there may be more.
 * @typedef {EventOf<"turn-start", {turn_id: string, agent: string}>
 *   | EventOf<"message", {role: "user" | "assistant", text: string}>
 *   | EventOf<"text-delta" | "reasoning-delta", {text: string}>
 *   | EventOf<"tool-call", {call_id: string, name: string, input?: unknown, invalid?: boolean, raw?: string}>
 *   | EventOf<"tool-progress", {call_id: string, name: string, value: unknown}>
 *   | EventOf<"tool-result", {call_id: string, name: string, output?: unknown,
 *                             error?: {code: string, message: string, errors?: unknown}}>
 *   | EventOf<"ui", {call_id: string} & import("./hydrate.js").UIResult>
 *   | EventOf<"usage", {round: number, input_tokens: number, output_tokens: number, cached_tokens?: number,
 *                       model: string}>
 *   | EventOf<"error", {code: string, message: string, retryable: boolean}>
 *   | EventOf<"turn-end", {turn_id: string, usage?: object,
 *                          reason: "finished" | "failed" | "stopped" | "limit" | "interrupted"}>} AgentEvent
 */
/**
 * What may be set. `onstate` hears how the connection is, at each change. `lastSeq` is the last event that the caller
 * has (0: none, and all are wanted); left out, the first `send` begins with its own turn.
 * @typedef {{base?: string, signal?: AbortSignal, lastSeq?: number,
 *            timing?: Partial<typeof import("./connection.js").TIMING>,
 *            onstate?: (state: "open" | "waiting" | "offline") => void}} Options
 */

const SESSION_ID = /^[A-Za-z0-9_-]{1,64}$/;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/** How often an idle log is read for a message whose POST got no answer: it may still be on its way. */
const LOOKS = 4;

/** The message did not arrive, as far as the log can tell; it was not sent again. */
export class SendFailed extends StreamError {
  name = "SendFailed";
}

/** Return a fresh session id. @returns {string} */
export function newSessionId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(22)), (byte) => ALPHABET[byte % 64]).join("");
}

/**
 * Open a session; nothing is asked before one of its methods is called.
 * @param {string} agent @param {string} id one to 64 of A-Z a-z 0-9 _ - @param {Options} [options]
 */
export function agentSession(agent, id, options = {}) {
  return new AgentSession(sessionUrl(agent, id, options), options);
}

/**
 * Delete a session for good; resolves to false when there was none.
 * @param {string} agent @param {string} id @param {Options} [options] @returns {Promise<boolean>}
 */
export function deleteSession(agent, id, options = {}) {
  return remove(sessionUrl(agent, id, options), options);
}

/**
 * List one page of the caller's own sessions, newest first; `next` is the `cursor` of the next page or null.
 * @param {string} agent @param {Options & {cursor?: string}} [options]
 * @returns {Promise<{sessions: {id: string, created: number, updated: number}[], next: string | null}>}
 */
export async function listSessions(agent, options = {}) {
  const query = options.cursor ? `?after=${encodeURIComponent(options.cursor)}` : "";
  return JSON.parse(await ask("GET", agentUrl(agent, options) + query, options));
}

class AgentSession {
  #url;
  #options;
  #last;
  #posting = null;
  /** The id of the turn that runs now, or null. @type {string | null} */
  turn = null;

  constructor(url, options) {
    this.#url = url;
    this.#options = options;
    this.#last = options.lastSeq ?? null;
  }

  /** The seq of the last event that was handed out; 0 before the first. */
  get lastSeq() {
    return this.#last ?? 0;
  }

  /**
   * Post a message and iterate over what the session's log gets until this turn has ended.
   * @param {string} text @param {{signal?: AbortSignal}} [options] @returns {AsyncIterableIterator<AgentEvent>}
   */
  send(text, { signal } = {}) {
    const link = new Link(this.#options, { signal });
    return leavable(link, this.#send(text, link));
  }

  /**
   * Replay the log, and the turn that is running to its end.
   * @param {number} [from] first seq, default lastSeq + 1 @param {{signal?: AbortSignal}} [options]
   * @returns {AsyncIterableIterator<AgentEvent>}
   */
  resume(from = this.lastSeq + 1, { signal } = {}) {
    const link = new Link(this.#options, { signal });
    return leavable(link, this.#read(new Cursor(from), link));
  }

  /**
   * Replay the log and stay for what comes, whoever causes it, until the caller leaves.
   * @param {number} [from] first seq, default lastSeq + 1 @param {{signal?: AbortSignal}} [options]
   * @returns {AsyncIterableIterator<AgentEvent>}
   */
  follow(from = this.lastSeq + 1, { signal } = {}) {
    const link = new Link(this.#options, { signal, endless: true });
    return leavable(link, this.#read(new Cursor(from, { follow: true }), link));
  }

  /** Ask the running turn to stop, wherever it runs; resolves to false when none does. @returns {Promise<boolean>} */
  async stop() {
    await this.#posting?.catch(() => null);
    return this.turn !== null && remove(`${this.#url}/turn/${encodeURIComponent(this.turn)}`, this.#options);
  }

  async *#send(text, link) {
    const cursor = new Cursor(this.#last === null ? null : this.#last + 1);
    this.#posting = this.#post(text, link);
    const call = await this.#posting.finally(() => (this.#posting = null));
    if (call) cursor.turn = this.turn;
    else cursor.text = text;
    yield* this.#read(cursor, link, call);
  }

  /** Post once. Null when the answer was lost, so that nobody knows whether the turn began. */
  async #post(text, link) {
    for (;;) {
      await link.online();
      try {
        const call = await link.open("POST", this.#url, JSON.stringify({ text }));
        this.turn = turnOf(call.response);
        return call;
      } catch (error) {
        link.signal.throwIfAborted();
        if (isUnanswered(error)) return null;
        if (error.retryAfter === null || !error.passing) throw error;
        await link.pause(error); // it said that the turn did not begin, and when to come again
      }
    }
  }

  /** Yield what the cursor wants, over as many responses as it takes; `call` is one that is open already. */
  async *#read(cursor, link, call = null) {
    for (;;) {
      let cut = null;
      try {
        call ??= await link.open("GET", `${this.#url}?${cursor.query}`);
        const head = this.#enter(call.response, cursor);
        for await (const event of call.values()) {
          if (!cursor.accepts(event, head)) continue;
          link.progressed();
          this.#note(event, head);
          yield event;
          if (cursor.isEndedBy(event) || cursor.isComplete(head)) return;
        }
        if (cursor.isComplete(head)) return;
        cursor.finished(head);
      } catch (error) {
        link.signal.throwIfAborted();
        cut = cursor.excuse(error);
      } finally {
        call?.close();
      }
      await link.rest(cut, call?.age ?? 0, cursor.follow);
      call = null;
    }
  }

  #enter(response, cursor) {
    const head = { turn: turnOf(response), last: Number(response.headers.get("Litro-Last-Seq") ?? NaN) };
    this.turn = head.turn;
    cursor.enter(head);
    return head;
  }

  #note({ seq, kind, payload }, head) {
    this.#last = Math.max(this.lastSeq, seq);
    if (kind === "turn-end" && payload.turn_id === this.turn) this.turn = null;
    if (kind === "turn-start" && !(seq <= head.last)) this.turn = payload.turn_id; // live, not replayed
  }
}

/** Where one reading of the log stands, and when it is done. */
class Cursor {
  #turn = null; // the turn that the last event belonged to
  #hole = null;
  #looks = 0;

  /** `next` is the seq that is due; null: begin at the wanted turn, wherever in the log it stands. */
  constructor(next, { follow = false } = {}) {
    this.next = next;
    this.follow = follow;
    this.turn = null; // the turn whose end is the end
    this.text = null; // or a message that was perhaps lost: its turn is the one that we want
  }

  get query() {
    return `from=${this.next ?? 1}${this.follow ? "&follow=1" : ""}`;
  }

  enter(head) {
    if (!this.follow && this.text === null) this.turn ??= head.turn;
  }

  /** Whether this event is the next to hand out; throws Hole when one before it is missing. */
  accepts(event, head) {
    if (!isEvent(event)) throw new Hole("a line that is no event");
    if (this.next === null && this.#isStart(event, head)) this.next = event.seq;
    if (this.next === null || event.seq < this.next) return false;
    if (event.seq > this.next) throw new Hole(`${event.seq} came where ${this.next} was due`);
    this.next += 1;
    this.#recognise(event);
    return true;
  }

  isEndedBy({ kind, payload }) {
    return this.turn !== null && kind === "turn-end" && payload.turn_id === this.turn;
  }

  /** Whether this was a replay of an idle session, and all of it is here. */
  isComplete(head) {
    if (this.follow || this.turn !== null || this.text !== null) return false;
    return head.turn === null && this.next > head.last;
  }

  /** Note that a response came to its own end; throws SendFailed when the lost message is not in the log. */
  finished(head) {
    if (head.turn !== null || this.text === null || ++this.#looks < LOOKS) return;
    if (this.next !== null) throw new SendFailed("the message did not arrive: it is not in the session's log");
    throw new SendFailed("nobody knows whether the message arrived: read the log before you send it again");
  }

  /** Return the error when asking again may help; throw it when not. */
  excuse(error) {
    if (error instanceof Hole) return this.#excuseHole(error);
    if (error.status === 404 && this.text !== null) return this.#excuseMissing(error);
    if (isFinal(error)) throw error;
    return error;
  }

  #excuseHole(error) {
    if (this.#hole === this.next) throw new StreamError(`the log has a hole: ${error.message}`, { cause: error });
    this.#hole = this.next;
    return error;
  }

  #excuseMissing(error) {
    if (++this.#looks < LOOKS) return error;
    throw new SendFailed("the message did not arrive: there is no such session", { cause: error });
  }

  #isStart({ kind, payload }, head) {
    return kind === "turn-start" && payload.turn_id === (this.turn ?? head.turn);
  }

  #recognise({ kind, payload }) {
    if (kind === "turn-start") this.#turn = payload.turn_id;
    if (this.text === null || kind !== "message" || payload.role !== "user" || payload.text !== this.text) return;
    this.turn = this.#turn;
    this.text = null;
  }
}

/** An iterator whose `return` ends it at once, also while a `next` waits for the server. */
function leavable(link, events) {
  let left = false;
  const end = (step) => (step.done && link.close(), step);
  const fail = (error) => {
    link.close();
    if (!left) throw error;
    return { done: true, value: undefined };
  };
  const leave = (value) => {
    left = true;
    link.close();
    return events.return(value);
  };
  const iterator = { next: () => events.next().then(end, fail), return: leave };
  return Object.assign(iterator, { [Symbol.asyncIterator]: () => iterator });
}

function isEvent(value) {
  return Number.isInteger(value?.seq) && typeof value.kind === "string" && value.payload instanceof Object;
}

/** Whether a POST may have begun its turn although it failed: no answer came, or only a gateway's. */
function isUnanswered(error) {
  if (!(error instanceof AgentHTTPError)) return true;
  return error.retryAfter === null && [502, 503, 504].includes(error.status);
}

async function remove(url, options) {
  try {
    await ask("DELETE", url, options);
    return true;
  } catch (error) {
    if (error.status === 404) return false;
    throw error;
  }
}

function agentUrl(agent, { base = BASE }) {
  return `${base}/agent/${encodeURIComponent(agent)}`;
}

function sessionUrl(agent, id, options) {
  if (!SESSION_ID.test(id)) throw new RangeError("a session id is 1 to 64 of A-Z a-z 0-9 _ -");
  return `${agentUrl(agent, options)}/${id}`;
}

function turnOf(response) {
  const turn = response.headers.get("Litro-Turn");
  return turn === "idle" ? null : turn;
}
