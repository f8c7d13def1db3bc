// What several pages show alike: risk, tables, and the states a page has besides being full.

import { download } from "./api.js";
import { h, show, svg } from "./dom.js";
import { iso, moment } from "./time.js";
import { visible } from "./visible.js";
import { isSecondClick, notePress, whenReleased } from "./wake.js";

const SHAPES = { low: "M8 3a5 5 0 1 0 .01 0z", moderate: "M8 1l7 7-7 7-7-7z", high: "M8 1l8 14H0z" };

/** Risk by word, shape and colour together. */
export function risk(word) {
  const shape = svg(
    "svg",
    { viewBox: "0 0 16 16", "aria-hidden": "true" },
    svg("path", { d: SHAPES[word] || "" }),
  );
  return h("span", { class: `risk ${word in SHAPES ? word : "high"}` }, shape, word.toUpperCase());
}

export const RESULTS = { allow: "allowed", deny: "denied", ask: "asked" };

/** What was decided or answered, in a word; an answer that allows says how. */
export function verdict(kind) {
  if (kind in RESULTS) return h("span", { class: `verdict ${kind}` }, RESULTS[kind]);
  return h("span", { class: "verdict allow" }, `allowed (${visible(kind)})`);
}

export function time(at) {
  return h("time", { datetime: iso(at), title: iso(at) }, moment(at));
}

/** A real table. Each column is [heading, class]; each row a list of cells, or an element ready made. */
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

/** One row. On a phone each cell carries its heading with it. */
export function line(columns, cells, properties = {}) {
  const made = cells.map((cell, i) => h("td", { class: columns[i][1], data: { head: columns[i][0] } }, cell));
  return h("tr", properties, made);
}

export function title(text, ...beside) {
  return h("header", { class: "title" }, h("h1", { tabindex: "-1" }, text), beside);
}

export function empty(text, hint = null) {
  return h("div", { class: "state" }, h("p", { class: "big" }, text), hint && h("p", {}, hint));
}

export function loading(what) {
  return h("div", { class: "state", role: "status" }, h("p", {}, `Reading ${what} …`));
}

export function failed(problem, again) {
  return h(
    "div",
    { class: "state failed", role: "alert" },
    h("p", { class: "big" }, "This could not be read."),
    h("p", {}, `${problem.message}${problem.hint ? `: ${problem.hint}` : ""}`),
    h("button", { type: "button", onclick: again }, "Try again"),
  );
}

const turns = new WeakMap();

/**
 * Fill a place with what `read` finds: first a word that it is read, then the content, or what went wrong.
 * Of several reads at once the one begun last is shown, whichever comes back last.
 */
export async function fill(place, what, read, draw) {
  const turn = (turns.get(place) ?? 0) + 1;
  turns.set(place, turn);
  if (!place.hasChildNodes()) show(place, loading(what));
  try {
    const found = await read();
    await whenReleased();
    if (turns.get(place) !== turn) return;
    const rows = () => [...place.querySelectorAll("tbody tr[tabindex]")];
    const focused = rows().indexOf(document.activeElement?.closest("tr"));
    show(place, draw(found));
    if (focused >= 0) rows()[Math.min(focused, rows().length - 1)]?.focus({ preventScroll: true });
  } catch (problem) {
    if (turns.get(place) !== turn) return;
    if (problem.status !== 401)
      show(
        place,
        failed(problem, () => fill(place, what, read, draw)),
      );
  }
}

/**
 * A button that does one thing, is still while it does it, and says what went wrong. The second of two clicks never
 * presses another button that has taken its place.
 */
export function act(name, properties, does) {
  const button = h("button", { type: "button", ...properties }, name);
  button.addEventListener("click", async (event) => {
    if (button.getAttribute("aria-disabled") === "true" || isSecondClick(event, button)) return;
    const done = notePress(button);
    button.setAttribute("aria-disabled", "true");
    try {
      await does(button);
    } catch (problem) {
      say(`That failed: ${problem.message}`, "bad");
    } finally {
      button.removeAttribute("aria-disabled");
      done();
    }
  });
  return button;
}

/** A receipt for an entry of the trail, which can be verified without us. */
export function proof(seq, name) {
  const save = () => download(`/v1/audit/proof/${seq}`, `sayso-entry-${seq}.tlog-proof`);
  return act(name, { class: "plain", "aria-label": `Download the proof of entry ${seq}` }, save);
}

/** A word in a row of its own above the content, also for those who hear it. It is one line high beside a question,
 *  unless it is a complaint; elsewhere it is never cut. */
export function say(text, kind = "") {
  const place = document.getElementById("said");
  const note = h("p", { class: kind }, text);
  show(place, note);
  clearTimeout(say.timer);
  say.timer = setTimeout(() => note.remove(), 6000);
}
