// The time that is left, counted by the server's clock. At zero a card loses its buttons: the server would refuse them.

import { close } from "./admin_board.js";

const SOON = 60_000;
const HOUR = 3_600_000;

/** Count every second. */
export function countDown(board) {
  const tick = () => {
    const now = board.now();
    for (const left of board.cards.querySelectorAll("[data-expires]")) show(left, Number(left.dataset.expires) - now, board);
  };
  tick();
  setInterval(tick, 1000);
}

function show(left, ms, board) {
  const card = left.closest("article");
  if (ms <= 0) {
    const gone = card.querySelector(".gone");
    left.textContent = "0:00";
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
