// A question of the page itself, before something that cannot be taken back.

import { h } from "./dom.js";
import { notePress } from "./wake.js";

const LOST = ["A call was changed and not sent. This discards the changes; the question stays open."];

/** Ask whether the changes of an edit may be lost. */
export const mayDiscard = () => confirmed("Discard the changes?", LOST, "Discard the changes");

/**
 * Ask once; true only if the person pressed the button that says so. Esc and Cancel change nothing.
 *
 * @param {string} title
 * @param {string[]} lines
 * @param {string} yes
 * @returns {Promise<boolean>}
 */
export function confirmed(title, lines, yes) {
  const does = h("button", { class: "solid deny", value: "yes" }, yes);
  const cancel = h("button", { class: "outlined", value: "no", autofocus: true }, "Cancel");
  const dialog = h(
    "dialog",
    { "aria-labelledby": "confirm-title", class: "confirm" },
    h("h2", { id: "confirm-title" }, title),
    lines.map((line) => h("p", {}, line)),
    h("form", { method: "dialog", class: "row" }, cancel, does),
  );
  does.addEventListener("click", () => notePress(does));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}
