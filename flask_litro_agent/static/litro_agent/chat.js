/**
 * chat.js: `<litro-chat agent="concierge">`, a conversation with an agent as one element of a page.
 *
 *     <script type="module" src="/__litro/static/chat.js"></script>
 *     <litro-chat agent="concierge"></litro-chat>
 *
 * @module chat
 */

import { BASE } from "./base.js";
import { Conversation } from "./chat/conversation.js";
import { button } from "./chat/dom.js";
import { soon } from "./chat/frames.js";
import { speaker } from "./chat/messages.js";
import { Memory, Pin, addressed } from "./chat/place.js";
import { Sessions } from "./chat/sessions.js";
import { Transcript } from "./chat/transcript.js";
import { draw } from "./chat/view.js";
import { newSessionId } from "./litro.js";

/** The element; it is defined when this module is loaded. */
export class LitroChat extends HTMLElement {
  static observedAttributes = ["agent", "session", "label", "lang", "messages"];

  #messages = {};
  #life = null; // ends what listens
  #parts = null;
  #conversation = null;
  #transcript = null;
  #memory = null;
  #pin = null;
  #say = speaker("en");
  #isLive = false; // whether what is heard happens now

  /** The session's id; setting it opens that session. */
  get session() {
    return this.#conversation?.id ?? this.getAttribute("session") ?? "";
  }

  set session(id) {
    this.open(id);
  }

  /** The running turn's id, or null. */
  get turn() {
    return this.#conversation?.turn ?? null;
  }

  /** Whether an answer is being written. */
  get running() {
    return this.#conversation?.isRunning ?? false;
  }

  /** The host page's own words; a key of the catalogue stands for what is left out. */
  get messages() {
    return this.#messages;
  }

  set messages(words) {
    this.#messages = { ...words };
    this.#renew();
  }

  /** Open a session of the caller's. @param {string} id */
  open(id) {
    this.#go(id, { begun: true });
  }

  /** Begin another session; the browser's back button returns to this one when the address names it. */
  newSession() {
    const id = newSessionId();
    if (this.hasAttribute("address")) history.pushState(null, "", `#${id}`);
    this.#go(id, { begun: false });
    this.focus();
  }

  /** Post a message; resolves to false when a turn is running or there is nothing to say. @param {string} text */
  async send(text) {
    const words = String(text).trim();
    if (!words || !this.#conversation || this.running) return false;
    this.#memory.remember(this.session);
    this.#pin.set();
    this.#notify("");
    this.#transcript.expect(words);
    return this.#conversation.send(words);
  }

  /** Ask the running turn to stop. */
  async stop() {
    if (!this.running) return;
    const { stop } = this.#parts;
    stop.disabled = true;
    await this.#conversation.stop().catch((error) => this.#notify(this.#say("not-stopped", error)));
    stop.disabled = false;
  }

  /** Ask the last question once more. */
  regenerate() {
    return this.send(this.#transcript?.asked ?? "");
  }

  focus() {
    this.#parts?.text.focus();
  }

  connectedCallback() {
    if (!this.shadowRoot) this.attachShadow({ mode: "open" });
    this.#begin();
    if (this.hasAttribute("autofocus")) this.focus();
  }

  disconnectedCallback() {
    this.#end();
  }

  attributeChangedCallback(name, before, now) {
    if (before === now || !this.#life) return;
    if (name === "session") return now && now !== this.session && this.open(now);
    if (name !== "agent") return this.#renew();
    this.#end();
    this.#begin();
  }

  #renew() {
    if (!this.#life) return;
    const id = this.session;
    this.#end();
    this.#begin(id);
  }

  #begin(id = "") {
    const agent = this.getAttribute("agent");
    if (!agent) throw new TypeError('<litro-chat> needs the name of an agent: <litro-chat agent="concierge">');
    this.#life = new AbortController();
    const { signal } = this.#life;
    this.#say = speaker(this.#language, { ...this.#ownWords, ...this.#messages });
    this.#parts = draw(this.shadowRoot, this.#say);
    this.#memory = new Memory(agent);
    this.#pin = new Pin(this.#parts, this, signal);
    this.#transcript = new Transcript(this.#parts.turns, this.#context);
    this.#conversation = new Conversation(agent, this.#base, this.#listener);
    this.#listen(signal);
    if (id) this.#go(id, { begun: true });
    else this.#visit();
  }

  #end() {
    this.#life?.abort();
    this.#life = null;
    this.#conversation?.close();
    this.#transcript?.clear();
  }

  get #base() {
    return this.getAttribute("base") ?? BASE;
  }

  get #language() {
    return this.closest("[lang]")?.lang || navigator.language || "en";
  }

  get #label() {
    return this.getAttribute("label") ?? this.#say("name");
  }

  /** The words of the attribute: a JSON object. */
  get #ownWords() {
    return JSON.parse(this.getAttribute("messages") ?? "{}");
  }

  get #context() {
    return {
      host: this,
      say: this.#say,
      name: this.#label,
      base: this.#base,
      lang: this.#language,
      showsUsage: this.hasAttribute("usage"),
      retry: (text) => this.send(text),
      copy: (text, pressed) => this.#copy(text, pressed),
      announcer: () => this.#announcer(),
    };
  }

  get #listener() {
    return {
      event: (event) => this.#hear(event),
      state: (state) => this.#tellState(state),
      change: () => soon(this.#refreshing),
      lost: (error) => this.#lose(error),
      failed: (error, text) => this.#fail(error, text),
      waits: () => this.#transcript.isWaiting,
    };
  }

  #refreshing = { run: () => this.#refresh() };

  #listen(signal) {
    const { form, text, stop, again, sessions } = this.#parts;
    const list = this.#sessionList();
    this.shadowRoot.append(list.element);
    form.addEventListener("submit", (event) => this.#submit(event, text), { signal });
    text.addEventListener("keydown", (event) => this.#press(event), { signal });
    stop.addEventListener("click", () => this.stop(), { signal });
    again.addEventListener("click", () => this.newSession(), { signal });
    sessions.addEventListener("click", () => list.show(), { signal });
    this.addEventListener("submit", (event) => this.#submitOwn(event), { signal });
    this.addEventListener("click", (event) => this.#askSuggested(event), { signal });
    for (const kind of ["pointerdown", "focusin"]) this.addEventListener(kind, () => this.#conversation.watch(), { signal });
    addEventListener("keydown", (event) => event.key === "Escape" && this.#escape(event), { signal });
    addEventListener("popstate", () => this.hasAttribute("address") && this.#visit(), { signal });
    document.addEventListener("visibilitychange", () => this.#look(), { signal });
  }

  #sessionList() {
    return new Sessions({
      agent: this.getAttribute("agent"),
      base: this.#base,
      lang: this.#language,
      say: this.#say,
      current: () => this.session,
      open: (id) => this.#choose(id),
      gone: (id) => id === this.session && this.newSession(),
    });
  }

  /** Show the session that the page names, else this browser's last one with this agent, else a new one. */
  #visit() {
    const address = this.hasAttribute("address");
    const id = (address && addressed()) || this.getAttribute("session") || this.#memory.recall();
    const chosen = id || newSessionId();
    if (address) history.replaceState(null, "", `#${chosen}`);
    this.#go(chosen, { begun: Boolean(id) });
  }

  #choose(id) {
    if (this.hasAttribute("address")) history.pushState(null, "", `#${id}`);
    this.#memory.remember(id);
    this.open(id);
  }

  #go(id, { begun }) {
    if (!this.#conversation) return this.setAttribute("session", id);
    this.#transcript.clear();
    this.#notify("");
    this.#pin.set();
    this.#conversation.open(id, { begun });
    this.#refresh();
    this.#tell("session", { id });
  }

  #hear(event) {
    const { kind, payload } = event;
    this.#transcript.add(event);
    this.#tell("event", event);
    if (kind === "turn-start") this.#start(payload);
    if (kind === "turn-end") this.#finish(payload);
  }

  /** Say how the connection is; hardly anybody needs to hear that it is well. */
  #tellState(state) {
    this.#notify(state === "open" ? "" : this.#say(state));
    this.#tell("state", { state });
  }

  #start(payload) {
    this.#isLive = payload.turn_id === this.turn;
    if (this.#isLive) this.#parts.said.textContent = this.#typing;
    this.#tell("turn-start", payload);
  }

  #finish(payload) {
    const { said } = this.#parts;
    if (said.textContent === this.#typing) said.textContent = "";
    this.#tell("turn-end", payload);
  }

  /** A screen reader hears an answer once it is drawn whole, and not when an old one is replayed. */
  #announcer() {
    return this.#isLive ? (words) => (this.#parts.said.textContent = words.trim()) : null;
  }

  get #typing() {
    return this.#say("typing", { name: this.#label });
  }

  /** The stream is lost for good; a session that nobody has written to is no loss. */
  #lose(error) {
    if (error.status === 404 && this.#transcript.isEmpty) return;
    const words = error.status === 404 ? this.#say("deleted") : error.message;
    this.#notify(words, this.#say("reconnect"), () => this.#conversation.watch());
    this.#tell("error", { error });
  }

  /** A message that did not reach the log goes back to where it was written. */
  #fail(error, text) {
    const { text: box } = this.#parts;
    if (this.#transcript.isExpecting && !box.value) box.value = text;
    this.#transcript.settle();
    this.#notify(error.name === "SessionBusy" ? this.#say("busy") : error.message);
    this.#tell("error", { error });
  }

  #tell(name, detail) {
    this.dispatchEvent(new CustomEvent(`litro:${name}`, { bubbles: true, composed: true, detail }));
  }

  #refresh() {
    const { empty, stop, send } = this.#parts;
    this.#transcript.mark(this.turn);
    empty.hidden = !this.#transcript.isEmpty;
    stop.hidden = !this.running;
    send.hidden = this.running;
  }

  #notify(text, label, act) {
    const again = label ? [" ", button(label, "button quiet reconnect", act)] : [];
    this.#parts.notice.replaceChildren(text, ...again);
  }

  async #copy(text, pressed) {
    await navigator.clipboard.writeText(text);
    pressed.textContent = this.#say("copied");
    setTimeout(() => (pressed.textContent = this.#say("copy")), 2000);
  }

  #submit(event, box) {
    event.preventDefault();
    if (this.running || !box.value.trim()) return;
    this.send(box.value);
    box.value = "";
  }

  /** A form in the slot `composer` posts its field `text`. */
  #submitOwn(event) {
    if (event.target.slot !== "composer") return;
    this.#submit(event, event.target.elements.namedItem("text"));
  }

  #press(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.#submit(event, this.#parts.text);
  }

  #askSuggested({ target }) {
    const asked = target.closest?.('[slot="empty"] [data-ask], [slot="empty"][data-ask]');
    if (asked) this.send(asked.dataset.ask || asked.textContent);
  }

  #escape(event) {
    if (!event.defaultPrevented && !this.shadowRoot.querySelector("dialog[open]")) this.stop();
  }

  #look() {
    if (document.hidden) this.#conversation.rest();
    else this.#conversation.watch();
  }
}

customElements.define("litro-chat", LitroChat);
