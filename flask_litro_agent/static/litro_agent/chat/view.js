/**
 * view.js: the parts of the chat, and the three slots that a host page may fill.
 *
 * @module view
 */

import { button, element, unseen } from "./dom.js";

const SHEET = new URL("chat.css", import.meta.url).href;

/** Draw the parts into a shadow root. @param {ShadowRoot} root @param {(key: string) => string} say */
export function draw(root, say) {
  const parts = {
    turns: element("div", "turns"),
    empty: element("div", "empty", slot("empty")),
    notice: element("p", "notice"),
    said: unseen("p", ""),
    again: button(say("new"), "button quiet new", () => {}),
    sessions: button(say("sessions"), "button quiet sessions-open", () => {}),
    ...composer(say),
  };
  const { turns, empty, notice, said, again, sessions, form } = parts;
  const log = (parts.log = element("div", "log", turns));
  Object.assign(log, { role: "log", ariaLive: "off", ariaLabel: say("conversation"), tabIndex: 0 });
  notice.setAttribute("role", "status");
  said.setAttribute("aria-live", "polite");
  const header = element("div", "header", slot("header"), element("div", "controls", sessions, again));
  const foot = element("div", "composer", notice, slot("composer", form));
  root.replaceChildren(sheet(), header, log, empty, foot, said);
  return parts;
}

function composer(say) {
  const text = element("textarea", "input");
  const send = element("button", "button send", say("send"));
  const stop = button(say("stop"), "button stop", () => {});
  Object.assign(text, { rows: 1, maxLength: 20_000, placeholder: say("placeholder"), enterKeyHint: "send" });
  text.setAttribute("aria-label", say("message"));
  text.setAttribute("autocomplete", "off");
  return { text, send, stop, form: element("form", "form", text, send, stop) };
}

function slot(name, ...content) {
  const made = element("slot", "", ...content);
  made.name = name;
  return made;
}

function sheet() {
  const link = element("link");
  link.rel = "stylesheet";
  link.href = SHEET;
  return link;
}
