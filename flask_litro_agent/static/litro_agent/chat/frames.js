/**
 * frames.js: drawing, a little in each frame of the screen.
 *
 * @module frames
 */

/** How many milliseconds of a frame are ours. */
const SHARE = 8;

const waiting = new Set();
let isDue = false;

/**
 * Have the job's `run(isOver)` called in the next frame. It stops when `isOver()` says so, and returns whether there is
 * more to do; a job that waits already waits once.
 * @param {{run: (isOver: () => boolean) => boolean | void}} job
 */
export function soon(job) {
  waiting.add(job);
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(draw);
}

function draw() {
  const end = performance.now() + SHARE;
  const isOver = () => performance.now() > end;
  isDue = false;
  for (const job of [...waiting]) {
    waiting.delete(job);
    if (job.run(isOver)) waiting.add(job);
    if (isOver()) break;
  }
  if (waiting.size && !isDue) {
    isDue = true;
    requestAnimationFrame(draw);
  }
}
