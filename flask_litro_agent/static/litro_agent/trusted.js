/**
 * trusted.js: the one Trusted Types policy of the client's files, named `litro`.
 *
 * What passes through it is either html that the server rendered, html that is parsed only to be sanitised, or the
 * address of a script that the server's list of components names. Nothing else may import it.
 *
 * @module trusted
 */

const rules = { createHTML: (html) => html, createScriptURL: (address) => address };

/** Makes trusted values where the browser knows them, and plain strings elsewhere. */
export const policy = globalThis.trustedTypes?.createPolicy("litro", rules) ?? rules;
