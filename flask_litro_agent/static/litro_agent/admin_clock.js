// The time that is left, counted by the server's clock. At zero a card loses its buttons: the server would refuse them.

import { close } from "./admin_board.js";

const SOON = 60_000;
const HOUR = 3_600_000;

/** Count every second, and what comes into sight at once: to write on two hundred cards costs a second of layout. */
export function countDown(board) {
  const tick = () => {
    const now = board.now();
    const left = (element) => Number(element.dataset.expires) - now;
    const all = [...board.cards.querySelectorAll("[data-expires]")];
    const due = all.filter((element) => left(element) <= 0 || isNear(element)); // reads first: each write unsettles the layout
    for (const element of due) show(element, left(element), board);
  };
  tick();
  setInterval(tick, 1000);
  addEventListener("scroll", () => requestAnimationFrame(tick), { passive: true });
}

/** Whether it is on the screen, or less than a screen away. */
function isNear(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > -innerHeight && top < 2 * innerHeight;
}

function show(left, ms, board) {
  const card = left.closest("article");
  if (ms <= 0) {
    const gone = card.querySelector(".gone");
    if (left.textContent !== "0:00") left.textContent = "0:00";
    if (!card.classList.contains("is-gone")) {
      close(card, gone?.dataset.expired);
      if (card.contains(board.document.activeElement)) board.say(gone?.textContent);
    }
    return;
  }
  left.classList.toggle("soon", ms < SOON);
  const text = board.cards.dataset.left.replace("…", clock(ms));
  if (left.textContent !== text) left.textContent = text;
}

/** Return the time as 0:42, 4:05 or 2 h 05 min. */
export function clock(ms) {
  const seconds = Math.ceil(ms / 1000);
  const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60];
  if (ms < HOUR) return `${minutes}:${String(rest).padStart(2, "0")}`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}
