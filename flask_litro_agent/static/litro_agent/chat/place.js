/**
 * place.js: where the chat remembers its session, and where the reader stands.
 *
 * @module place
 */

const ID = /^[A-Za-z0-9_-]{1,64}$/;
const NEAR = 80; // px from the end: a reader there wants to follow it

/** The session that this browser had last with an agent. */
export class Memory {
  #key;

  constructor(agent) {
    this.#key = `litro-chat:${agent}`;
  }

  recall() {
    try {
      return known(localStorage.getItem(this.#key));
    } catch {
      return ""; // a browser that keeps nothing
    }
  }

  remember(id) {
    try {
      localStorage.setItem(this.#key, id);
    } catch {
      return;
    }
  }
}

/** The id that the page's address names; empty when it names none. */
export function addressed() {
  return known(location.hash.slice(1));
}

function known(id) {
  return ID.test(id ?? "") ? id : "";
}

/** Keeps the end of the log in view, in its own scrolling box or in the page, until the reader goes up. */
export class Pin {
  #log;
  #host;
  #isSet = true;
  #top = 0;

  /** `log` scrolls, or the page does; `turns` is what grows in it. */
  constructor({ log, turns }, host, signal) {
    this.#log = log;
    this.#host = host;
    const growth = new ResizeObserver(() => this.#follow());
    growth.observe(turns);
    signal.addEventListener("abort", () => growth.disconnect());
    for (const each of [log, document]) {
      each.addEventListener("scroll", () => this.#note(), { passive: true, signal });
    }
  }

  set() {
    this.#isSet = true;
    this.#follow();
  }

  /** Go to the end, if the reader was there. */
  #follow() {
    if (!this.#isSet || this.#distance < 1) return;
    if (this.#isBox) this.#log.scrollTop = this.#log.scrollHeight;
    else scrollBy({ top: this.#distance, behavior: "instant" });
  }

  get #isBox() {
    return this.#log.scrollHeight > this.#log.clientHeight + 1;
  }

  get #distance() {
    const { scrollHeight, clientHeight, scrollTop } = this.#log;
    if (this.#isBox) return scrollHeight - clientHeight - scrollTop;
    return this.#host.getBoundingClientRect().bottom - innerHeight;
  }

  /** Only a reader who goes up lets go of the end: an answer may have grown since the page moved. */
  #note() {
    const top = this.#isBox ? this.#log.scrollTop : scrollY;
    this.#isSet = this.#distance <= NEAR || (this.#isSet && top >= this.#top);
    this.#top = top;
  }
}
