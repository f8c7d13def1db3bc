// A change of one file as lines that go and lines that come. What it says is foreign text: shown, and never obeyed.
//
// Only the parts that the service understood are here. Every line is shown whole, and nothing scrolls by itself.

import { h } from "../lib/dom.js";
import { linePieces } from "../lib/visible.js";

/** @import {Child} from "../lib/dom.js" */

/** @typedef {Sayso.FileDiff} FileDiff */

/** @typedef {Sayso.Hunk} Hunk */

// A browser looks through all children of a box to find what is at a point, and through every layer of the page. So
// many lines share a box, and no line has a layer of its own: nothing in it is transparent, or placed apart.
const BLOCK = 40;
/** @type {Record<string, { kind: string, sign: string, heard: string }>} */
const SIGNS = {
  "+": { kind: "added", sign: "+", heard: "added" },
  "-": { kind: "removed", sign: "−", heard: "removed" },
  " ": { kind: "", sign: " ", heard: "" },
};

/**
 * How many lines come and how many go: "+12 −3".
 *
 * @param {FileDiff} change
 */
export function counted(change) {
  const lines = change.hunks.flatMap((hunk) => hunk.lines);
  /** @param {string} sign */
  const many = (sign) => lines.filter((line) => line.sign === sign).length;
  const [more, less] = [many("+"), many("-")];
  return h(
    "span",
    { class: "counted" },
    h("span", { class: "added" }, h("span", { class: "hidden" }, "lines added: "), `+${more}`),
    " ",
    h("span", { class: "removed" }, h("span", { class: "hidden" }, "lines removed: "), `−${less}`),
  );
}

/**
 * The change, part by part: each has to be read by itself.
 *
 * @param {FileDiff} change
 * @param {string} label
 */
export function diff(change, label) {
  return h(
    "div",
    { class: "change", role: "group", "aria-label": label, data: { read: "parts" } },
    change.hunks.flatMap((hunk) => [place(hunk), lines(hunk)]),
  );
}

/** @param {Hunk} hunk */
function place(hunk) {
  const before = hunk.lines.filter((line) => line.sign !== "+").length;
  if (!before)
    return h("p", { class: "small place" }, hunk.before ? `after line ${hunk.before}` : "new lines");
  const last = hunk.before + before - 1;
  return h(
    "p",
    { class: "small place" },
    before === 1 ? `line ${hunk.before}` : `lines ${hunk.before} to ${last}`,
  );
}

/** @param {Hunk} hunk */
function lines(hunk) {
  let [old, fresh] = [hunk.before, hunk.after];
  const rows = hunk.lines.map(({ sign, text }) => {
    const number = sign === "-" ? old : fresh;
    if (sign !== "+") old += 1;
    if (sign !== "-") fresh += 1;
    return row(sign, text, number);
  });
  const blocks = [];
  for (let at = 0; at < rows.length; at += BLOCK) blocks.push(rows.slice(at, at + BLOCK));
  return h(
    "pre",
    { class: "foreign diff numbered", tabindex: "-1", data: { read: "parts" } },
    blocks.map((block) => h("span", {}, block)),
  );
}

/**
 * @param {string} sign
 * @param {string} text
 * @param {number} number
 */
function row(sign, text, number) {
  const { kind, sign: shown, heard } = SIGNS[sign] ?? { kind: "", sign, heard: "" };
  return h(
    "span",
    { class: `diff-line ${kind}` },
    h("span", { class: "nr", "aria-hidden": "true" }, number),
    heard
      ? h("span", { class: "sign", role: "img", "aria-label": heard }, shown)
      : h("span", { class: "sign" }, shown),
    h("span", { class: "said" }, lineShown(text)),
  );
}

/**
 * A line with the sign of its end. Only the last line of a file may have none, and that is told.
 *
 * @param {string} text
 * @returns {Child[]}
 */
function lineShown(text) {
  /** @param {string} sign */
  const quiet = (sign) => h("span", { class: "quiet", "aria-hidden": "true" }, sign);
  if (text.endsWith("\n")) return [linePieces(text.slice(0, -1)), quiet("↵")];
  return [linePieces(text), h("span", { class: "cut" }, " (no line end)")];
}
