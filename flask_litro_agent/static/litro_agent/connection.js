/**
 * connection.js: requests that may fail, hang or be cut, and how long to wait before the next.
 *
 * Nothing here knows what an event means. Every wait and every request ends at once when its signal aborts.
 *
 * @module connection
 */

/** All in milliseconds, but `attempts`: how often in a row we ask without progress. */
export const TIMING = {
  headers: 20_000, // a response's headers must be there by then
  silence: 45_000, // three heartbeats: a connection that is silent for longer is dead
  steady: 5_000, // a response that lived this long was no failure, also when it brought nothing
  apart: 1_000, // two requests of a follower start at least this far apart
  first: 400, // the first pause; each further one is twice as long
  longest: 10_000, // but never longer than this
  retryAfter: 30_000, // a longer Retry-After is thrown: the caller's to wait for
  attempts: 8,
};

/**
 * The server refused: its HTTP `status` (0: it redirected), its `name` for the condition, its sentence; the `turnId`
 * that a SessionBusy names, and `retryAfter` in milliseconds, each or null.
 */
export class AgentHTTPError extends Error {
  /** @param {number} status @param {string} name @param {string} message @param {Headers} [headers] */
  constructor(status, name, message, headers) {
    super(message);
    this.status = status;
    this.name = name;
    this.turnId = status === 409 ? (headers?.get("Litro-Turn") ?? null) : null;
    this.retryAfter = retryAfter(headers?.get("Retry-After"));
  }

  /** Whether the same question may get another answer later. */
  get passing() {
    return this.status >= 500 || [408, 425, 429].includes(this.status);
  }
}

/** The log could not be read to its end: we gave up, or it has a hole. */
export class StreamError extends Error {
  name = "StreamError";
}

/** A line that is missing or unreadable, found in a response. */
export class Hole extends Error {}

/** Nothing came for too long. */
class Silence extends Error {}

/** Whether asking again cannot help. */
export function isFinal(error) {
  return error instanceof AgentHTTPError ? !error.passing : error instanceof StreamError;
}

/** Ask something that may be asked twice; resolve to the body's text. @returns {Promise<string>} */
export async function ask(method, url, options) {
  const link = new Link(options);
  try {
    return await link.ask(method, url);
  } finally {
    link.close();
  }
}

/** What the requests for one purpose share: their end, their patience, and what they tell the page. */
export class Link {
  #control = new AbortController();
  #failures = 0;
  #state = "open";

  /** `endless`: never give up. */
  constructor(options, { signal, endless = false } = {}) {
    this.timing = { ...TIMING, ...options.timing };
    this.attempts = endless ? Infinity : this.timing.attempts;
    this.onstate = options.onstate;
    this.signal = this.#control.signal;
    for (const outer of [options.signal, signal]) if (outer) chain(outer, this.#control);
  }

  /** End every request and every wait. */
  close() {
    this.#control.abort();
  }

  /** Resolve to the call when its headers say that it succeeded. @returns {Promise<Call>} */
  async open(method, url, body) {
    const call = new Call(this);
    await call.open(method, url, body);
    this.#say("open");
    return call;
  }

  async ask(method, url) {
    for (;;) {
      try {
        return await (await this.open(method, url)).response.text();
      } catch (error) {
        this.signal.throwIfAborted();
        if (isFinal(error)) throw error;
        await this.pause(error);
      }
    }
  }

  progressed() {
    this.#failures = 0;
  }

  /** Wait after a response: hardly at all when it only reached the end of its life. */
  async rest(cut, age, follow) {
    const steady = age >= this.timing.steady;
    if (steady && !(cut instanceof Silence)) this.progressed();
    if (cut || !(steady || follow)) return this.pause(cut ?? new StreamError("the stream ended before its turn"));
    return sleep(Math.max(0, this.timing.apart - age), this.signal);
  }

  /** Wait as long as the server asked for, else about twice as long as the last time; throw when it is enough. */
  async pause(error) {
    if (this.#failures >= this.attempts) throw gaveUp(this.attempts, error);
    const backoff = Math.min(this.timing.longest, this.timing.first * 2 ** this.#failures);
    const wait = error.retryAfter ?? backoff * (0.5 + Math.random() / 2);
    if (wait > this.timing.retryAfter) throw error;
    this.#failures += 1;
    this.#say("waiting");
    await sleep(wait, this.signal);
    await this.online();
  }

  /** Wait until the browser has a network. */
  async online() {
    while (navigator.onLine === false) {
      this.#say("offline");
      await until(this.signal, (done) => addEventListener("online", done, { once: true, signal: this.signal }));
    }
  }

  #say(state) {
    if (state !== this.#state) this.onstate?.(state);
    this.#state = state;
  }
}

/** One request and its response; cancelled when it is silent for too long and when it is closed. */
class Call {
  #control = new AbortController();
  #timing;
  #opened = 0;

  constructor({ signal, timing }) {
    this.#timing = timing;
    chain(signal, this.#control);
  }

  /** Milliseconds since the headers came. */
  get age() {
    return performance.now() - this.#opened;
  }

  close() {
    this.#control.abort();
  }

  async open(method, url, body) {
    const headers = { "X-Litro-Agent": "1", ...(body && { "Content-Type": "application/json" }) };
    const init = { method, headers, body, credentials: "same-origin", cache: "no-store", redirect: "manual" };
    try {
      this.response = await this.#within(this.#timing.headers, fetch(url, { ...init, signal: this.#control.signal }));
      this.#opened = performance.now();
      if (!this.response.ok) throw await this.#within(this.#timing.headers, refusal(this.response));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Yield the lines as values. A last line without its end is dropped: the next response has it whole. */
  async *values() {
    if (!this.response.headers.get("Content-Type")?.startsWith("application/x-ndjson"))
      throw new AgentHTTPError(this.response.status, "NotAStream", "the answer is not a session's stream");
    const reader = this.response.body.getReader();
    const decoder = new TextDecoder("utf-8", { fatal: true });
    for (let rest = ""; ; ) {
      const { done, value } = await this.#within(this.#timing.silence, reader.read());
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line.trim()) yield parse(line); // a blank line is a heartbeat
    }
  }

  #within(milliseconds, promise) {
    const timer = setTimeout(() => this.#control.abort(new Silence("the server is silent")), milliseconds);
    return promise.finally(() => clearTimeout(timer));
  }
}

function parse(line) {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new Hole("an unreadable line", { cause: error });
  }
}

async function refusal(response) {
  if (response.type === "opaqueredirect")
    return new AgentHTTPError(0, "Redirected", "the server sends this request elsewhere; are you signed in?");
  const { name, message } = await response.json().catch(() => ({}));
  const sentence = message ?? `the server answered ${response.status}`;
  return new AgentHTTPError(response.status, name ?? "HTTPError", sentence, response.headers);
}

function gaveUp(attempts, error) {
  return new StreamError(`gave up after ${attempts} attempts without progress: ${error.message}`, { cause: error });
}

/** Milliseconds, from seconds or an HTTP date; null for anything else. */
function retryAfter(value) {
  if (!value) return null;
  const wait = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(wait) ? null : Math.max(0, wait);
}

/** Abort `control` when `outer` aborts. */
function chain(outer, control) {
  if (outer.aborted) control.abort(outer.reason);
  else outer.addEventListener("abort", () => control.abort(outer.reason), { signal: control.signal });
}

function sleep(milliseconds, signal) {
  let timer;
  const slept = until(signal, (done) => (timer = setTimeout(done, milliseconds)));
  return slept.finally(() => clearTimeout(timer));
}

function until(signal, begin) {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.throwIfAborted();
    signal.addEventListener("abort", abort, { once: true });
    begin(() => resolve(signal.removeEventListener("abort", abort)));
  });
}
