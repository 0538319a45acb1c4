/**
 * base.js: where the routes are, by the address that the client's files were loaded from.
 *
 * @module base
 */

/** The blueprint's prefix, without a slash at its end: this module is served at `<prefix>/static/base.js`. */
export const BASE = new URL("..", import.meta.url).href.replace(/\/$/, "");
