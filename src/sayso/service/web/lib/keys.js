// The keyboard: one letter does one thing, wherever the page knows it, and never while somebody types.

import { h, query, queryAll } from "./dom.js";

const HELP = [
  ["j / k", "next, previous"],
  ["Enter", "open"],
  ["a", "allow once, approve a proposal"],
  ["t", "allow for this task"],
  ["d", "deny, reject or withdraw a proposal"],
  ["e", "edit and allow"],
  ["w", "why it is asked"],
  ["r", "revoke"],
  ["u", "undo a proposal"],
  ["y", "keep a domain (review)"],
  ["/", "filter"],
  ["?", "this help"],
  ["Esc", "close what is open, back to the list"],
];

/**
 * `keys()` gives what the view on show can do, by key.
 *
 * @param {() => Record<string, () => unknown>} keys
 */
export function bind(keys) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && closeMenu()) return;
    const at = /** @type {HTMLElement} */ (event.target);
    if (typing(at)) {
      if (event.key === "Escape") at.blur();
      return;
    }
    /** @type {Record<string, () => unknown>} */
    const all = { "?": help, "/": filter, ...keys() };
    const does = all[event.key];
    if (!does || (event.key === "Enter" && at.closest("a, button, summary, select"))) return;
    event.preventDefault();
    does();
  });
}

/**
 * j and k over the rows of a table: the focus moves from row to row. Enter opens what the row has to open
 * (`data-opens`, or a summary), and presses nothing else.
 *
 * @param {Element} place
 */
export function rows(place) {
  /** @param {number} step */
  function move(step) {
    const found = [...queryAll(place, "tbody tr[tabindex]")];
    const at = found.findIndex((row) => row.contains(document.activeElement));
    found[Math.min(Math.max(at + step, 0), found.length - 1)]?.focus();
  }
  return {
    j: () => move(1),
    k: () => move(-1),
    Enter: () => pressInRow("[data-opens], summary"),
    Escape: closeRow,
  };
}

/** Close what the row that has the focus has opened, and stay on that row. */
function closeRow() {
  const at = document.activeElement;
  const below = at?.closest("tr.opened");
  const row = /** @type {HTMLElement | null | undefined} */ (
    below?.previousElementSibling ?? at?.closest("tr")
  );
  const opener = row && query(row, '[data-opens][aria-expanded="true"], details[open] > summary');
  if (!opener) return;
  opener.click();
  row.focus({ preventScroll: true });
}

/**
 * Press this in the row that has the focus.
 *
 * @param {string} selector
 */
export function pressInRow(selector) {
  const row = document.activeElement?.closest("tr");
  if (row) query(row, selector)?.click();
}

/**
 * Whether keys write into this. A box that is ticked takes no letters; in a form they belong to the form.
 *
 * @param {HTMLElement} element
 */
function typing(element) {
  if (element.matches("[type=checkbox]")) return element.closest("form") !== null;
  return element.matches("input, textarea, select") || element.isContentEditable;
}

/** Close the menu of a phone; whether it was open. */
function closeMenu() {
  const menu = document.getElementById("menu");
  if (!menu?.hasAttribute("open")) return false;
  menu.removeAttribute("open");
  menu.querySelector("summary")?.focus();
  return true;
}

function filter() {
  query(document, "input[type=search]")?.focus();
}

function help() {
  const list = HELP.map(([key, does]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, does)]);
  const close = h("button", { class: "solid" }, "Close");
  const dialog = h(
    "dialog",
    { "aria-labelledby": "help-title" },
    h("h2", { id: "help-title" }, "Keys"),
    h("dl", { class: "keys" }, list),
    h("form", { method: "dialog" }, close),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
