// Follows the ledger: a stream says that something has changed, and the page asks for itself again. Where there is no
// stream (its slots are taken, or the server serves one request at a time) the page asks every quarter of a minute.

import { Refused } from "./admin_board.js";

const POLL = 15_000;
const TRY_AGAIN = 60_000;
const RENEW = 20 * 60_000;

/** Keep the board as new as the ledger, until the page is left or somebody is signed out. */
export function follow(board) {
  const follower = new Follower(board);
  follower.connect();
  addEventListener("pagehide", () => follower.stop());
  addEventListener("pageshow", (event) => event.persisted && follower.start());
  setInterval(() => follower.refresh(), RENEW); // the forms' tokens grow old
}

class Follower {
  constructor(board) {
    this.board = board;
    this.isOver = false;
    this.busy = null;
    this.again = false;
  }

  start() {
    if (this.isOver) return;
    this.refresh();
    this.connect();
  }

  stop() {
    this.source?.close();
    clearInterval(this.polls);
    clearTimeout(this.retry);
  }

  connect() {
    this.stop();
    const address = new URL(this.board.cards.dataset.stream, location.href);
    if (this.board.mark) address.searchParams.set("mark", this.board.mark);
    this.source = new EventSource(address);
    this.source.addEventListener("waiting", (event) => {
      if (JSON.parse(event.data).mark !== this.board.mark) this.refresh();
    });
    this.source.addEventListener("error", () => this.source.readyState === EventSource.CLOSED && this.poll());
  }

  poll() {
    this.stop();
    this.refresh();
    this.polls = setInterval(() => this.refresh(), POLL);
    this.retry = setTimeout(() => this.connect(), TRY_AGAIN);
  }

  /** Load the page; what changes while it loads is loaded after it. */
  refresh() {
    if (this.isOver) return;
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = this.board
      .refresh()
      .catch((error) => this.fail(error))
      .finally(() => {
        this.busy = null;
        if (this.again) {
          this.again = false;
          this.refresh();
        }
      });
  }

  /** Somebody who may no longer see the page is told so; whatever else it is passes. */
  fail(error) {
    const isRefused = error instanceof Refused && [0, 401, 403].includes(error.status);
    if (!isRefused) return;
    this.isOver = true;
    this.stop();
    const words = document.getElementById("signed-out");
    if (words) {
      words.hidden = false;
      this.board.say(words.textContent.trim());
    }
  }
}
