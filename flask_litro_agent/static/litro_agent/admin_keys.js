// A few keys. None of them decides anything: they move the focus, open a card and show their own list.

const STORE = "litro-keys";
const TYPED_IN = "input, select, textarea, [contenteditable]";

/** Listen for keys, unless this browser's owner has switched them off. */
export function listen(document) {
  const dialog = document.getElementById("keys");
  const toggle = dialog?.querySelector("input[type=checkbox]");
  const opener = document.getElementById("show-keys");
  if (!dialog || !toggle || !opener) return;
  toggle.checked = isOn();
  toggle.addEventListener("change", () => remember(toggle.checked));
  opener.hidden = false;
  opener.addEventListener("click", () => dialog.showModal());
  document.addEventListener("keydown", (event) => isOn() && press(document, dialog, event));
}

function press(document, dialog, event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  if (event.target.closest?.(TYPED_IN) || document.querySelector("dialog[open]")) return;
  const isOnCard = event.target.matches?.("article.card");
  const done = {
    j: () => step(document, 1),
    k: () => step(document, -1),
    "/": () => focus(document.querySelector("#filters select, #filters input:not([type=hidden])")),
    "?": () => dialog.showModal() ?? true,
    ArrowDown: () => isOnCard && step(document, 1),
    ArrowUp: () => isOnCard && step(document, -1),
    Enter: () => isOnCard && open(event.target),
  };
  if (Object.hasOwn(done, event.key) && done[event.key]()) event.preventDefault();
}

function step(document, by) {
  const cards = [...document.querySelectorAll("#cards article.card")];
  const here = cards.findIndex((card) => card.contains(document.activeElement));
  const next = here < 0 ? (by > 0 ? 0 : cards.length - 1) : here + by;
  return focus(cards[next]);
}

function focus(element) {
  element?.focus();
  return Boolean(element);
}

function open(card) {
  const way = card.querySelector("a.open-card");
  way?.click();
  return Boolean(way);
}

function isOn() {
  try {
    return localStorage.getItem(STORE) !== "off";
  } catch {
    return true; // a browser that keeps nothing
  }
}

function remember(on) {
  try {
    localStorage.setItem(STORE, on ? "on" : "off");
  } catch {
    // then they stay as they are
  }
}
