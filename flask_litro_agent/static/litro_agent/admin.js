// The operator's pages where JavaScript runs. Everything works without it: this follows the ledger live, counts the time
// that is left, sends a decision without leaving the page, and adds a few keys.

import { countDown } from "./admin_clock.js";
import { listen } from "./admin_keys.js";
import { follow } from "./admin_live.js";
import { sendInPlace } from "./admin_forms.js";
import { Board } from "./admin_board.js";

const cards = document.getElementById("cards");

listen(document);
if (cards) {
  const board = new Board(document, cards);
  countDown(board);
  sendInPlace(board);
  if (cards.dataset.stream) follow(board);
}
