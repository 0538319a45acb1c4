/**
 * hydrate.js: a component that the server rendered, put into a page and made alive.
 *
 * Its html stands there, shadow root and all, before any script was asked for. A script is loaded only when the
 * server's list of components names it, from below that list's own address and with its hash.
 *
 * @module hydrate
 */

import { BASE } from "./base.js";
import { policy } from "./trusted.js";

/**
 * The payload of an event `ui`.
 * @typedef {{name: string, html?: string | null, data: unknown, text?: string, stale?: boolean,
 *            hydrate?: {component?: string, props?: Record<string, unknown>, modules?: string[]}}} UIResult
 */

const NAME = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.js$/;
const HASH = /^sha(256|384|512)-[A-Za-z0-9+/]+={0,2}$/;
/** How long a module may take before the component is left as the server rendered it. */
const PATIENCE = 20_000;
/** How long a stylesheet may keep a component from sight. */
const VEILED = 3_000;

/** The component stands there as the server rendered it, but is not, or not wholly, alive. */
export class ComponentError extends Error {
  name = "ComponentError";
}

const shown = new WeakMap(); // host -> what it shows, and when that was alive
const lists = new Map(); // base -> the modules that may be loaded, by their address
const loading = new Map(); // address -> when its script has run

/**
 * Show a component in the host, at once, and make it alive; the same one again changes nothing.
 *
 * Resolves to the component's element (null when it has none), and rejects with a ComponentError when a module is
 * refused or does not load, or when a property cannot be set. What is shown stays in any case.
 * @param {Element} host @param {UIResult} ui @param {{base?: string}} [options] @returns {Promise<Element | null>}
 */
export function hydrateUIResult(host, ui, { base = BASE } = {}) {
  const key = JSON.stringify([ui.html, ui.text, ui.hydrate]);
  const before = shown.get(host);
  if (before?.key === key) return before.alive;
  draw(host, ui);
  veil(host);
  const alive = enliven(host.firstElementChild, ui.hydrate ?? {}, base);
  shown.set(host, { key, alive });
  alive.catch(() => shown.get(host)?.alive === alive && shown.delete(host)); // a next time may load what now did not
  return alive;
}

function draw(host, { html, text, data }) {
  if (typeof html === "string") return parse(host, html);
  host.textContent = text ?? (typeof data === "string" ? data : JSON.stringify(data, null, 2));
}

/** Keep a component from sight until its stylesheets are there: nobody is to see it without them. */
function veil(host) {
  const missing = sheets(host).filter((link) => !link.sheet);
  if (!missing.length) return;
  const until = (link, end) => new Promise((done) => link.addEventListener(end, done));
  const loaded = missing.map((link) => [until(link, "load"), until(link, "error")]);
  const late = new Promise((done) => setTimeout(done, VEILED));
  host.style.visibility = "hidden";
  const there = Promise.all(loaded.map((ends) => Promise.race(ends)));
  Promise.race([late, there]).then(() => host.style.removeProperty("visibility"));
}

/** The stylesheets that the shadow roots below link to. */
function sheets(tree) {
  const roots = [...tree.querySelectorAll("*")].map((element) => element.shadowRoot).filter(Boolean);
  return roots.flatMap((root) => [...root.querySelectorAll("link[rel=stylesheet]"), ...sheets(root)]);
}

/** Parse html with its declarative shadow roots, by the best way that this browser has. */
function parse(host, html) {
  const trusted = policy.createHTML(html);
  if (host.setHTMLUnsafe) return host.setHTMLUnsafe(trusted);
  if (Document.parseHTMLUnsafe) return host.replaceChildren(...Document.parseHTMLUnsafe(trusted).body.childNodes);
  const template = document.createElement("template");
  template.innerHTML = trusted;
  attachRoots(template.content);
  host.replaceChildren(template.content);
}

function attachRoots(tree) {
  for (const template of tree.querySelectorAll("template[shadowrootmode]")) {
    const root = rootOf(template);
    template.remove();
    if (!root) continue; // the element has one already: the first counts
    root.append(template.content);
    attachRoots(root);
  }
}

function rootOf(template) {
  const mode = template.getAttribute("shadowrootmode");
  const delegatesFocus = template.hasAttribute("shadowrootdelegatesfocus");
  try {
    return template.parentElement.attachShadow({ mode, delegatesFocus });
  } catch {
    return null;
  }
}

async function enliven(element, { component, props = {}, modules = [] }, base) {
  const faults = [];
  if (element && isComponent(element, component)) bind(element, props, []); // whoever is connected first finds them
  const wanted = await Promise.allSettled(modules.map((name) => load(name, base)));
  faults.push(...wanted.filter(({ reason }) => reason).map(({ reason }) => reason.message));
  if (element && isComponent(element, component)) await rebind(element, props, faults);
  if (faults.length) throw new ComponentError(faults.join("; "));
  return element;
}

function isComponent(element, component) {
  return component === undefined || element.localName === component;
}

/** Set the properties once more when the element's class is there: a class may have hidden or replaced them. */
async function rebind(element, props, faults) {
  const name = element.localName;
  if (!name.includes("-") || customElements.get(name)) return upgraded(element, props, faults);
  customElements.whenDefined(name).then(() => upgraded(element, props, [])); // perhaps never: nobody waits for it
}

function upgraded(element, props, faults) {
  customElements.upgrade(element);
  bind(element, props, faults);
}

function bind(element, props, faults) {
  for (const [name, value] of Object.entries(props)) {
    try {
      bindOne(element, name, value);
    } catch (error) {
      faults.push(`${element.localName}.${name}: ${error.message}`);
    }
  }
}

/** Set a property of the component's own: what every element has, such as innerHTML, is not for data. */
function bindOne(element, name, value) {
  if (name in HTMLElement.prototype) throw new TypeError("this property belongs to every element");
  if (Object.hasOwn(element, name) && name in Object.getPrototypeOf(element)) delete element[name];
  element[name] = value;
}

/** Resolve when the module has run. */
async function load(name, base) {
  const address = new URL(`${base}/components/`, location.href).href;
  const integrity = typeof name === "string" && NAME.test(name) && (await allowed(base)).get(address + name);
  if (!integrity) throw new ComponentError(`the module ${JSON.stringify(name)} is not in the list of components`);
  return run(address + name, integrity);
}

/** The modules of the server's list that are what they must be: below its address, plainly named, with a hash. */
function allowed(base) {
  if (!lists.has(base)) {
    lists.set(base, fetchList(base));
    lists.get(base).catch(() => lists.delete(base));
  }
  return lists.get(base);
}

async function fetchList(base) {
  const folder = new URL(`${base}/components/`, location.href);
  if (folder.origin !== location.origin) throw new ComponentError(`the components of ${folder.origin} are not ours`);
  const answer = await fetch(`${base}/components.json`, { credentials: "same-origin", redirect: "error" });
  if (!answer.ok) throw new ComponentError(`the list of components could not be read: ${answer.status}`);
  const { components } = await answer.json();
  const modules = Object.values(components).flatMap((component) => component.modules ?? []);
  return new Map(modules.filter((each) => isModule(each, folder)).map(({ src, integrity }) => [whole(src), integrity]));
}

function isModule({ src, integrity }, folder) {
  if (typeof src !== "string" || !HASH.test(integrity)) return false;
  const address = URL.canParse(src, folder) ? whole(src) : "";
  return address.startsWith(folder.href) && NAME.test(address.slice(folder.href.length));
}

function whole(src) {
  return new URL(src, location.href).href;
}

function run(address, integrity) {
  if (!loading.has(address)) {
    loading.set(address, insert(address, integrity));
    loading.get(address).catch(() => loading.delete(address));
  }
  return loading.get(address);
}

function insert(address, integrity) {
  return new Promise((resolve, reject) => {
    const refuse = () => reject(new ComponentError(`the module ${address} did not load`));
    const script = document.createElement("script");
    const late = setTimeout(refuse, PATIENCE);
    script.type = "module";
    script.integrity = integrity;
    script.addEventListener("load", () => (clearTimeout(late), resolve()));
    script.addEventListener("error", () => (clearTimeout(late), script.remove(), refuse()));
    script.src = policy.createScriptURL(address);
    document.head.append(script);
  });
}
