// What several pages show alike: risk, tables, and the states a page has besides being full.

import { download, faultIn } from "./api.js";
import { byId, h, queryAll, show, svg } from "./dom.js";
import { iso, moment } from "./time.js";
import { visible } from "./visible.js";
import { isSecondClick, notePress, whenReleased } from "./wake.js";

/** @import {Fault} from "./api.js" */
/** @import {Child, Properties} from "./dom.js" */

/**
 * A page on show: what its keys do, and what it does when something is heard, the line changes, or it is left.
 *
 * @typedef {object} View
 * @property {Record<string, () => unknown>} [keys]
 * @property {(event: Sayso.LiveEvent) => unknown} [heard]
 * @property {(holds: boolean) => void} [line]
 * @property {() => void} [proposals] it is known now how many wait
 * @property {() => boolean} [changed]
 * @property {() => boolean} [back]
 * @property {() => void} [named] the address names something to show
 * @property {() => void} [close]
 */

/** @typedef {[heading: string, kind: string]} Column */

/** @type {Record<string, string>} */
const SHAPES = { low: "M8 3a5 5 0 1 0 .01 0z", moderate: "M8 1l7 7-7 7-7-7z", high: "M8 1l8 14H0z" };

/**
 * Risk by word, shape and colour together.
 *
 * @param {string} word
 */
export function risk(word) {
  const shape = svg(
    "svg",
    { viewBox: "0 0 16 16", "aria-hidden": "true" },
    svg("path", { d: SHAPES[word] || "" }),
  );
  return h("span", { class: `risk ${word in SHAPES ? word : "high"}` }, shape, word.toUpperCase());
}

/** @type {Record<string, string>} */
export const RESULTS = { allow: "allowed", deny: "denied", ask: "asked" };

/**
 * What was decided or answered, in a word; an answer that allows says how.
 *
 * @param {string} kind
 */
export function verdict(kind) {
  if (kind in RESULTS) return h("span", { class: `verdict ${kind}` }, RESULTS[kind]);
  return h("span", { class: "verdict allow" }, `allowed (${visible(kind)})`);
}

/** @param {number} at */
export function time(at) {
  return h("time", { datetime: iso(at), title: iso(at) }, moment(at));
}

/**
 * A real table. Each column is [heading, class]; each row a list of cells, or an element ready made.
 *
 * @param {string} caption
 * @param {Column[]} columns
 * @param {(Child[] | HTMLElement)[]} rows
 */
export function table(caption, columns, rows) {
  const heads = columns.map(([name, kind]) =>
    h("th", { scope: "col", class: kind }, kind === "do" ? h("span", { class: "hidden" }, name) : name),
  );
  const body = rows.map((row) => (Array.isArray(row) ? line(columns, row) : row));
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", { class: "hidden" }, caption),
      h("thead", {}, h("tr", {}, heads)),
      h("tbody", {}, body),
    ),
  );
}

/**
 * One row. On a phone each cell carries its heading with it.
 *
 * @param {Column[]} columns
 * @param {Child[]} cells
 * @param {Properties<HTMLTableRowElement>} [properties]
 */
export function line(columns, cells, properties = {}) {
  const made = cells.map((cell, i) => {
    const [heading, kind] = columns[i] ?? ["", ""];
    return h("td", { class: kind, data: { head: heading } }, cell);
  });
  return h("tr", properties, made);
}

/** What can be opened shows it: a sign before it, which turns once it is open. */
export const chevron = () => h("span", { class: "chevron", "aria-hidden": "true" }, "▸");

/**
 * A click anywhere in a row opens what this button opens; not one that presses something else, or ends a selection.
 *
 * @param {HTMLElement} toggle
 * @returns {(event: MouseEvent) => void}
 */
export const openByRow = (toggle) => (event) => {
  const pressed = event.target instanceof Element && event.target.closest("button, a, summary");
  if (!pressed && !window.getSelection()?.toString()) toggle.click();
};

/**
 * @param {string} text
 * @param {...Child} beside
 */
export function title(text, ...beside) {
  return h("header", { class: "title" }, h("h1", { tabindex: "-1" }, text), beside);
}

/**
 * @param {string} text
 * @param {Child} [hint]
 */
export function empty(text, hint = null) {
  return h("div", { class: "state" }, h("p", { class: "big" }, text), hint && h("p", {}, hint));
}

/** @param {string} what */
export function loading(what) {
  return h("div", { class: "state", role: "status" }, h("p", {}, `Reading ${what} …`));
}

/**
 * A sentence of Sayso's own: what stands between backticks is shown as code. Never for text of somebody else.
 *
 * @param {string} text
 * @returns {Child}
 */
export function sentence(text) {
  return text.split(/`([^`]+)`/).map((part, at) => (at % 2 ? h("code", {}, part) : part));
}

/**
 * What went wrong, and what to do about it.
 *
 * @param {Fault} problem
 * @param {string} [between]
 * @returns {Child}
 */
export function inWords(problem, between = "; ") {
  return [problem.message, problem.hint && [between, sentence(problem.hint)]];
}

/**
 * @param {Fault} problem
 * @param {() => unknown} again
 */
export function failed(problem, again) {
  return h(
    "div",
    { class: "state failed", role: "alert" },
    h("p", { class: "big" }, "This could not be read."),
    h("p", {}, inWords(problem, ": ")),
    h("button", { type: "button", class: "outlined", onclick: again }, "Try again"),
  );
}

/** @type {WeakMap<Element, number>} */
const turns = new WeakMap();

/**
 * Fill a place with what `read` finds: first a word that it is read, then the content, or what went wrong.
 * Of several reads at once the one begun last is shown, whichever comes back last. Gives what this one found,
 * shown or not; null if it failed.
 *
 * @template T
 * @param {Element} place
 * @param {string} what
 * @param {() => Promise<T>} read
 * @param {(found: T) => Child} draw
 * @returns {Promise<T | null>}
 */
export async function fill(place, what, read, draw) {
  const turn = (turns.get(place) ?? 0) + 1;
  turns.set(place, turn);
  if (!place.hasChildNodes()) show(place, loading(what));
  try {
    const found = await read();
    await whenReleased();
    if (turns.get(place) !== turn) return found;
    const rows = () => [...queryAll(place, "tbody tr[tabindex]")];
    const focused = rows().findIndex((row) => row.contains(document.activeElement));
    show(place, draw(found));
    if (focused >= 0) rows()[Math.min(focused, rows().length - 1)]?.focus({ preventScroll: true });
    return found;
  } catch (thrown) {
    if (turns.get(place) !== turn) return null;
    const problem = faultIn(thrown);
    if (problem.status !== 401)
      show(
        place,
        failed(problem, () => fill(place, what, read, draw)),
      );
    return null;
  }
}

/**
 * A button that does one thing, is still while it does it, and says what went wrong. The second of two clicks never
 * presses another button that has taken its place.
 *
 * @param {string} name
 * @param {Properties<HTMLButtonElement>} properties
 * @param {(button: HTMLButtonElement) => unknown} does
 */
export function act(name, properties, does) {
  const button = h("button", { type: "button", ...properties }, name);
  button.addEventListener("click", async (event) => {
    if (button.getAttribute("aria-disabled") === "true" || isSecondClick(event, button)) return;
    const done = notePress(button);
    button.setAttribute("aria-disabled", "true");
    try {
      await does(button);
    } catch (thrown) {
      say(["That failed: ", inWords(faultIn(thrown))], "bad");
    } finally {
      button.removeAttribute("aria-disabled");
      done();
    }
  });
  return button;
}

/**
 * A receipt for an entry of the trail, which can be verified without us.
 *
 * @param {number} seq
 * @param {string} name
 */
export function proof(seq, name) {
  const save = () => download(`/v1/audit/proof/${seq}`, `sayso-entry-${seq}.tlog-proof`);
  return act(name, { class: "plain inline", "aria-label": `Download the proof of entry ${seq}` }, save);
}

let goes = 0; // the timer of the word on show

/** A word in a row of its own above the content, also for those who hear it. It is one line high beside a question,
 *  unless it is a complaint; elsewhere it is never cut.
 *
 * @param {Child} text
 * @param {string} [kind]
 */
export function say(text, kind = "") {
  const note = h("p", { class: kind }, text);
  const remove = () => moveAlong(() => note.remove());
  note.addEventListener("click", remove);
  moveAlong(() => show(byId("said"), note));
  clearTimeout(goes);
  const go = () => (note.matches(":focus-within") ? wait() : remove());
  const wait = () => (goes = setTimeout(go, 6000));
  wait();
}

/**
 * Change the word on show, and move what is read below it by as much as it grows or shrinks: it covers nothing.
 * Beside a question nothing moves, there it has a row of its own.
 *
 * @param {() => void} change
 */
function moveAlong(change) {
  const top = () => byId("main").getBoundingClientRect().top;
  const height = () => byId("said").offsetHeight;
  const [before, tall] = [top(), height()];
  change();
  if (!document.body.classList.contains("at-inbox")) scrollBy(0, top() - (before + height() - tall));
}
