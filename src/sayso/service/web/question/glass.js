// Breaking the glass: one person allows alone what others have to approve, and writes why.

import { h } from "../lib/dom.js";

/** @import {Child} from "../lib/dom.js" */

const LEAST = 10;
const ALARM =
  "You allow alone what others have to approve. An alarm is sent with your reason, and everybody sees it in the list of people who approve.";

/**
 * Ask why; null if the person leaves it. The service wants the same: at least ten characters that are not spaces.
 *
 * @param {Child} call
 * @returns {Promise<string | null>}
 */
export function askGlassReason(call) {
  return new Promise((resolve) => {
    const reason = h("textarea", { id: "glass-reason", rows: "3", maxlength: "2000" });
    const yes = h("button", { class: "solid deny", value: "yes", "aria-disabled": "true" }, "Allow alone");
    /** @type {HTMLDialogElement} */
    const dialog = h("dialog", { "aria-labelledby": "glass-title" });
    const no = h("button", { type: "button", class: "plain", onclick: () => dialog.close("no") }, "Cancel");
    const written = () => reason.value.replace(/\s/gu, "").length >= LEAST;
    const form = h(
      "form",
      { method: "dialog" },
      h("h2", { id: "glass-title" }, "Break the glass"),
      h("p", {}, ALARM),
      h("p", {}, h("strong", {}, "Allow once: "), call),
      h("label", { for: "glass-reason" }, `Why? At least ${LEAST} characters.`),
      reason,
      h("div", { class: "row" }, no, yes),
    );
    reason.addEventListener("input", () => yes.setAttribute("aria-disabled", String(!written())));
    form.addEventListener("submit", (event) => {
      if (!written()) event.preventDefault();
    });
    dialog.append(form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes" && written() ? reason.value.trim() : null);
    });
    document.body.append(dialog);
    dialog.showModal();
    reason.focus();
  });
}
