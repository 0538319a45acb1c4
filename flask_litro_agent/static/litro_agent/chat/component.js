/**
 * component.js: the site's own component in an answer.
 *
 * It stands in the light tree of the chat, where the page's sheets and scripts find it, and is shown by a slot.
 *
 * @module component
 */

import { hydrateUIResult } from "../hydrate.js";
import { element } from "./dom.js";

export class Component {
  #place = document.createElement("div");

  /** @param {object} ui the event's payload @param {{host: Element, say: Function, base: string}} context */
  constructor(ui, { host, say, base }) {
    const slot = element("slot");
    slot.name = this.#place.slot = `component-${ui.call_id}`;
    this.element = element("div", "component", slot);
    if (ui.stale) this.element.prepend(element("p", "hint", say("stale")));
    host.append(this.#place);
    hydrateUIResult(this.#place, ui, { base }).catch((error) => tell(host, error));
  }

  leave() {
    this.#place.remove();
  }
}

function tell(host, error) {
  console.warn(`litro-chat: ${error.message}`);
  host.dispatchEvent(new CustomEvent("litro:component-error", { bubbles: true, detail: { error } }));
}
