// The cards of a page, and how a newer page's cards take their place: what has not changed stays the very same element,
// with its focus, its typed note and its place on the screen.

const ATTRIBUTES = ["data-mark", "data-now"];

export class Board {
  constructor(document, cards) {
    this.document = document;
    this.cards = cards;
    this.offset = clockOffset(cards.dataset.now, performance.getEntriesByType("navigation")[0]);
  }

  get mark() {
    return this.cards.dataset.mark;
  }

  /** The server's time, in ms. */
  now() {
    return Date.now() - this.offset;
  }

  /** Load the page anew and show it; what is wrong with the answer is thrown. */
  async refresh() {
    const address = new URL(this.document.location.href);
    address.searchParams.delete("decided");
    address.hash = "";
    const answer = await fetch(address, { headers: { Accept: "text/html" }, redirect: "manual" });
    if (!answer.ok) throw new Refused(answer.status);
    this.show(await pageOf(answer), Date.now());
  }

  /** Show a newer page of the same address, which has come at this time of the browser's clock. */
  show(page, at) {
    const fresh = page.getElementById("cards");
    if (!fresh) return;
    if (fresh.dataset.now) this.offset = at - Number(fresh.dataset.now);
    for (const name of ATTRIBUTES) if (fresh.hasAttribute(name)) this.cards.setAttribute(name, fresh.getAttribute(name));
    const held = this.#holdPlace();
    const hadFocus = this.#focused();
    this.#merge([...fresh.children]);
    this.#renewTokens(fresh);
    this.#words(page);
    held();
    this.#keepFocus(hadFocus);
  }

  /** Say it to who listens to the page. */
  say(text) {
    const said = this.document.getElementById("said");
    if (said && text && said.textContent !== text) said.textContent = text;
  }

  /** Show the sentence about what was decided, or take the last one away. */
  notice(page) {
    const notice = page.querySelector("p.notice");
    this.document.querySelector("p.notice")?.remove();
    if (!notice) return;
    const shown = this.document.importNode(notice, true);
    shown.removeAttribute("role"); // it is said below
    shown.classList.add("stays");
    this.cards.before(shown);
    this.say(shown.textContent.trim().replace(/\s+/g, " "));
  }

  #merge(fresh) {
    const wanted = new Set(fresh.map((element) => element.id));
    const here = new Map([...this.cards.children].map((element) => [element.id, element]));
    const wasEmpty = !this.cards.querySelector("article");
    for (const [id, element] of here) if (!wanted.has(id)) this.#retire(element);
    let place = this.cards.firstElementChild;
    for (const element of fresh) {
      while (place?.classList.contains("is-over")) place = place.nextElementSibling;
      const old = here.get(element.id);
      const next = old && this.#stays(old, element) ? old : this.document.importNode(element, true);
      if (next === place) {
        place = place.nextElementSibling;
        continue;
      }
      if (!old && !wasEmpty && next.matches("article")) next.classList.add("is-new");
      this.cards.insertBefore(next, place);
      if (old === place) place = place.nextElementSibling;
      if (next !== old) old?.remove();
    }
  }

  /** Whether the element that is here is kept: it is the same, or somebody writes in it. */
  #stays(old, element) {
    if (isSame(old, element)) return true;
    if (!isWrittenIn(old, this.document.activeElement)) return false;
    if (!element.querySelector("input.note")) close(old, old.querySelector(".gone")?.dataset.decided);
    return true;
  }

  /** Take away what no longer waits; a card in which somebody writes stays, closed, while his words stand there. */
  #retire(element) {
    if (!isWrittenIn(element, this.document.activeElement)) {
      element.remove();
      return;
    }
    close(element, element.querySelector(".gone")?.dataset.decided);
    element.classList.add("is-over");
  }

  #renewTokens(fresh) {
    const field = this.cards.dataset.field;
    const token = fresh.querySelector(`input[name="${CSS.escape(field)}"]`)?.value;
    if (!token) return;
    for (const input of this.document.querySelectorAll(`input[name="${CSS.escape(field)}"]`)) input.value = token;
  }

  #words(page) {
    this.document.title = page.title;
    const [count, fresh] = [this.document.getElementById("count"), page.getElementById("count")];
    if (!count || !fresh || count.textContent === fresh.textContent) return;
    count.textContent = fresh.textContent;
    this.say(fresh.textContent.trim());
  }

  #focused() {
    const active = this.document.activeElement;
    const card = active?.closest?.("article.card");
    const next = card && (sibling(card, "nextElementSibling") ?? sibling(card, "previousElementSibling"));
    return card && { active, card, next };
  }

  /** Give the focus back to what had it; where its card is gone, to the next one. */
  #keepFocus(had) {
    if (!had) return;
    if (had.active.isConnected) {
      if (this.document.activeElement !== had.active) had.active.focus({ preventScroll: true });
      return;
    }
    const next = this.document.getElementById(had.card.id) ?? (had.next?.isConnected ? had.next : null);
    (next ?? this.document.getElementById("main"))?.focus({ preventScroll: next !== null });
    next?.scrollIntoView({ block: "nearest" });
  }

  /** Return what moves the page so that the first card that was seen, and still stands, is where it was. */
  #holdPlace() {
    const seen = [...this.cards.children]
      .map((element) => [element, element.getBoundingClientRect()])
      .filter(([, box]) => box.bottom > 0 && box.top < innerHeight);
    return () => {
      const kept = seen.find(([element]) => element.isConnected);
      if (!kept || scrollY === 0) return;
      const [element, box] = kept;
      scrollBy({ top: element.getBoundingClientRect().top - box.top, behavior: "instant" });
    };
  }
}

/** An answer that is no page to show: 0 stands for one that leads elsewhere, to the sign-in for instance. */
export class Refused extends Error {
  constructor(status) {
    super(`the page was refused: ${status}`);
    this.status = status;
  }
}

/** Return an answer's html as a document. */
export async function pageOf(answer) {
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

/** Take the buttons of a card away, and say why. */
export function close(card, words) {
  card.classList.add("is-gone");
  for (const form of card.querySelectorAll(".actions form")) {
    for (const button of form.querySelectorAll("button")) button.remove();
    for (const input of form.querySelectorAll("input.note")) input.readOnly = true;
    if (!form.querySelector("input.note")?.value) form.remove();
  }
  if (!card.querySelector(".actions form")) card.querySelector(".actions")?.remove();
  const gone = card.querySelector(".gone");
  if (gone) {
    if (words) gone.textContent = words;
    gone.hidden = false;
  }
}

function clockOffset(now, navigation) {
  if (!now) return 0;
  const came = navigation?.responseStart ? performance.timeOrigin + navigation.responseStart : Date.now();
  return came - Number(now);
}

function isSame(old, element) {
  if (old.dataset.version !== undefined) {
    return old.dataset.version === element.dataset.version && !old.classList.contains("is-gone");
  }
  return old.isEqualNode(element);
}

function isWrittenIn(element, active) {
  const notes = [...element.querySelectorAll("input.note")];
  return notes.some((note) => note.value !== "" || note === active);
}

function sibling(card, direction) {
  let element = card[direction];
  while (element && !element.matches("article.card")) element = element[direction];
  return element;
}
