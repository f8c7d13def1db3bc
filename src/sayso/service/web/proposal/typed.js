// The same as holding a button, from the keyboard: the word of what is to be done is typed.

import { h } from "../lib/dom.js";

/** @import {Child} from "../lib/dom.js" */

/**
 * Whether the person typed this word, to do this.
 *
 * @param {string} word
 * @param {string} name
 * @param {Child} what
 * @returns {Promise<boolean>}
 */
export function typedWord(word, name, what) {
  const input = h("input", { id: "typed", autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
  const yes = h("button", { class: "solid", value: "yes", "aria-disabled": "true" }, name);
  /** @type {HTMLDialogElement} */
  const dialog = h("dialog", { "aria-labelledby": "typed-title" });
  const no = h("button", { type: "button", class: "plain", onclick: () => dialog.close("no") }, "Cancel");
  const right = () => input.value.trim().toLowerCase() === word;
  const form = h(
    "form",
    { method: "dialog", onsubmit: (event) => !right() && event.preventDefault() },
    h("h2", { id: "typed-title" }, `${name} this change?`),
    h("p", {}, what),
    h("label", { for: "typed" }, "Type ", h("kbd", {}, word), ` to ${word} it.`),
    input,
    h("div", { class: "row" }, no, yes),
  );
  dialog.append(form);
  input.addEventListener("input", () => yes.setAttribute("aria-disabled", String(!right())));
  document.body.append(dialog);
  dialog.showModal();
  input.focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes" && right());
    });
  });
}
