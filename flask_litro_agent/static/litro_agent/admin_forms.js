// Sends a decision without leaving the page, so that the other cards keep their place and their notes. The form is the
// same, and so is the answer: a page with the notice, or a page that says why nothing was done, shown in a dialog.

import { pageOf } from "./admin_board.js";

/** Take over the forms of the cards; a form that was sent is not sent twice. */
export function sendInPlace(board) {
  board.cards.addEventListener("submit", (event) => {
    event.preventDefault();
    const form = event.target;
    if (form.dataset.sent) return;
    form.dataset.sent = "yes";
    send(board, form, event.submitter).finally(() => delete form.dataset.sent);
  });
}

async function send(board, form, submitter) {
  const card = form.closest("article");
  card.setAttribute("aria-busy", "true");
  try {
    const body = new URLSearchParams(new FormData(form, submitter));
    const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "text/html" } });
    await (answer.ok ? accept(board, form, answer) : refuse(board, answer));
  } catch {
    const dialog = board.document.getElementById("refusal");
    tell(board, [dialog.dataset.lost]); // it may have arrived: the ledger knows
  } finally {
    card.removeAttribute("aria-busy");
  }
}

async function accept(board, form, answer) {
  const came = Date.now();
  if (new URL(answer.url).pathname !== location.pathname) {
    location.assign(answer.url);
    return;
  }
  for (const note of form.querySelectorAll("input.note")) note.value = "";
  const page = await pageOf(answer);
  form.querySelector("input.note")?.blur();
  board.show(page, came);
  board.notice(page);
}

async function refuse(board, answer) {
  const page = await pageOf(answer);
  const words = page.getElementById("main") ?? page.body;
  tell(board, board.document.importNode(words, true).childNodes);
}

/** Show it in the dialog, over the cards as they stand now. */
function tell(board, nodes) {
  const dialog = board.document.getElementById("refusal");
  dialog.querySelector(".words").replaceChildren(...nodes);
  if (!dialog.open) dialog.showModal();
  board.refresh().catch(() => {});
}
