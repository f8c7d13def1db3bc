// What would run, shown as what it is: a command, a change as a diff, nested values as a small tree.
//
// Nothing is left out. Whatever has no better form, or is long, or holds a marked part, is a box of text.

import { h } from "../lib/dom.js";
import { exactJson } from "../lib/exact.js";
import { FOLD_AT, foreign, linePieces, placesOf, told, visible } from "../lib/visible.js";

/** @import {Child} from "../lib/dom.js" */

/** @typedef {Sayso.Json} Json */

/** @typedef {{ [name: string]: Json }} Values */

/** @typedef {[name: string, value: Json]} Named */

// What the usual tools call the text before a change and the text after it.
/** @type {[before: string, after: string][]} */
const CHANGES = [
  ["old_string", "new_string"],
  ["old_str", "new_str"],
  ["old_text", "new_text"],
  ["oldText", "newText"],
  ["oldString", "newString"],
  ["old_content", "new_content"],
  ["old_code", "new_code"],
  ["old", "new"],
  ["search", "replace"],
  ["find", "replace"],
  ["search", "replacement"],
  ["original", "replacement"],
  ["before", "after"],
  ["from_text", "to_text"],
];
const FIRST = [
  /^(to|recipients?|payee|channel)$/i,
  /^(cc|bcc|amount|currency|(file_|notebook_)?paths?|files?|url)$/i,
  /^(subject|title)$/i,
];
const MOST_CELLS = 250_000;
const DEEPEST = 5;
const MOST_QUOTED = 80;
const PLAIN_NAME = /^(?!\d+$)[\p{L}\p{M}\p{N}_.$@/-]+$/u;

/**
 * The exact command or call, complete, with the parts marked that made it what is asked.
 *
 * @param {{ command: string | null, arguments: Values, because?: Sayso.Piece[] }} call
 * @returns {Child[]}
 */
export function whatRuns({ command, arguments: given, because = [] }) {
  /** @param {Json | undefined} value */
  const isCommand = (value) => command !== null && value === command;
  /** @param {string} name */
  const partsOf = (name) => because.filter((one) => one.argument === name);
  /** @param {Sayso.Piece} piece */
  const ofCommand = ({ argument: name }) => name === null || isCommand(given[name]);
  const line = command === null ? null : commandBox(command, because.filter(ofCommand));
  line?.classList.add("hero");
  const change = changeIn(given, because);
  const marked = (/** @type {string} */ name) => partsOf(name).length > 0;
  const rest = ordered(Object.entries(given), marked).flatMap((one) => (marked(one[0]) ? [one] : apart(one)));
  const list = rest.map(([name, value]) => {
    if (isCommand(value)) return [term(name), h("dd", { class: "small" }, "the command above")];
    if (change?.names.includes(name)) return name === change.names[0] ? change.shown : null;
    return [term(name), h("dd", {}, valued(value, `Argument ${visible(name)}`, partsOf(name)))];
  });
  const kind = line ? "arguments" : "arguments hero";
  const alone = rest.length === 1 && isCommand(given.command);
  return [line, rest.length && !alone ? h("dl", { class: kind, data: { read: "parts" } }, list) : null];
}

/**
 * What is in a value that holds longer text: each by itself, so that the text has lines, as in a proposal's diff.
 *
 * @param {Named} entry
 * @returns {Named[]}
 */
function apart([name, value]) {
  if (!isNested(value) || Array.isArray(value)) return [[name, value]];
  const within = Object.values(value);
  const hasLines = within.some((one) => typeof one === "string" && one.includes("\n"));
  return hasLines && !within.some(isNested) ? ways(name, value) : [[name, value]];
}

/** @param {string} name */
const term = (name) => h("dt", {}, told(name, 80));

/**
 * Marked arguments first, then those that say to whom, what and where.
 *
 * @param {Named[]} entries
 * @param {(name: string) => boolean} marked
 */
export function ordered(entries, marked) {
  /** @param {string} name */
  const place = (name) => FIRST.findIndex((kind) => kind.test(name)) + 1 || FIRST.length + 1;
  /** @param {Named} entry */
  const rank = ([name]) => (marked(name) ? 0 : place(name));
  return entries.sort((one, other) => rank(one) - rank(other));
}

/**
 * The two arguments that are the before and the after of a change, and the change.
 *
 * @param {Values} given
 * @param {Sayso.Piece[]} because
 * @returns {{ names: string[], shown: Child } | null}
 */
function changeIn(given, because) {
  const names = CHANGES.find((pair) => pair.every((name) => typeof given[name] === "string"));
  if (!names || because.some((one) => one.argument !== null && names.includes(one.argument))) return null;
  const [before, after] = names;
  const shown = difference(String(given[before]), String(given[after]), `${before} and ${after}`);
  return shown && { names, shown: [h("dt", {}, "change"), h("dd", {}, shown)] };
}

/**
 * Lines that go and lines that come; null if they are too long to be compared here.
 *
 * @param {string} before
 * @param {string} after
 * @param {string} label
 */
function difference(before, after, label) {
  if (before.length + after.length > FOLD_AT) return null;
  const lines = compared(linesOf(before), linesOf(after));
  if (!lines) return null;
  const heard = { "-": "removed: ", "+": "added: ", " ": "" };
  const kinds = { "-": "removed", "+": "added", " ": "" };
  const rows = lines.map(([sign, text]) =>
    h(
      "span",
      { class: kinds[sign] },
      h("span", { class: "hidden" }, heard[sign]),
      `${sign} `,
      lineShown(text),
    ),
  );
  return h("pre", { class: "foreign diff", tabindex: "-1", role: "group", "aria-label": label }, rows);
}

/**
 * @param {string} text
 * @returns {string[]}
 */
const linesOf = (text) => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/**
 * A line with the sign of its end, if it has one: the last line of a file may not.
 *
 * @param {string} text
 * @returns {Child[]}
 */
function lineShown(text) {
  const end = h("span", { class: "quiet", "aria-hidden": "true" }, "↵");
  return text.endsWith("\n") ? [linePieces(text.slice(0, -1)), end] : linePieces(text);
}

/**
 * The longest common lines stay; null if there are too many to look for them.
 *
 * @param {string[]} before
 * @param {string[]} after
 * @returns {[sign: "-" | "+" | " ", text: string][] | null}
 */
function compared(before, after) {
  if (before.length * after.length > MOST_CELLS) return null;
  const table = Array.from({ length: before.length + 1 }, () => new Uint32Array(after.length + 1));
  /**
   * How many lines are common from these on.
   *
   * @param {number} i
   * @param {number} j
   */
  const common = (i, j) => table[i]?.[j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    const row = /** @type {Uint32Array} */ (table[i]);
    for (let j = after.length - 1; j >= 0; j -= 1)
      row[j] =
        before[i] === after[j] ? common(i + 1, j + 1) + 1 : Math.max(common(i + 1, j), common(i, j + 1));
  }
  /** @type {[sign: "-" | "+" | " ", text: string][]} */
  const lines = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push([" ", before[i] ?? ""]);
      i += 1;
      j += 1;
    } else if (j >= after.length || (i < before.length && common(i + 1, j) >= common(i, j + 1))) {
      lines.push(["-", before[i] ?? ""]);
      i += 1;
    } else {
      lines.push(["+", after[j] ?? ""]);
      j += 1;
    }
  }
  return lines;
}

/**
 * Nested values as a tree, if they are short and nothing in them is marked; else as text.
 *
 * @param {Json} value
 * @param {string} label
 * @param {Sayso.Piece[]} parts
 */
function valued(value, label, parts) {
  if (!isNested(value) || parts.length || JSON.stringify(value).length > FOLD_AT)
    return boxed(value, label, parts);
  return h("div", { class: "foreign", role: "group", "aria-label": label }, tree(value));
}

/**
 * Each value below its name. What lies deeper than fits stands in one line, with the whole way to it.
 *
 * @param {Json[] | Values} value
 * @param {number} [depth]
 * @returns {HTMLElement}
 */
function tree(value, depth = 1) {
  /** @type {Named[]} */
  const rows = named(value).flatMap(([name, one]) =>
    depth < DEEPEST || !isNested(one) ? [[name, one]] : ways(name, one),
  );
  return h(
    "ul",
    { class: "tree" },
    rows.map(([name, one]) =>
      h("li", {}, h("code", { class: "name" }, linePieces(name), ": "), leaf(one, depth)),
    ),
  );
}

/**
 * All values in this one, each with the way to it.
 *
 * @param {string} way
 * @param {Json[] | Values} value
 * @returns {Named[]}
 */
function ways(way, value) {
  return named(value).flatMap(([name, one]) => {
    const further = `${way} › ${name}`;
    return isNested(one) ? ways(further, one) : [[further, one]];
  });
}

/**
 * The values in this one by their names, or their places in a list. A name that could pass for more is quoted.
 *
 * @param {Json[] | Values} value
 * @returns {Named[]}
 */
function named(value) {
  if (Array.isArray(value)) return value.map((one, at) => [String(at + 1), one]);
  return Object.entries(value).map(([name, one]) => [
    PLAIN_NAME.test(name) ? name : JSON.stringify(name),
    one,
  ]);
}

/**
 * @param {Json} value
 * @returns {value is Json[] | Values}
 */
const isNested = (value) => value !== null && typeof value === "object" && Object.keys(value).length > 0;

/**
 * Text stands in quotes where it could pass for something else. Its line ends are spelled: it begins no line.
 *
 * @param {Json} value
 * @param {number} depth
 */
function leaf(value, depth) {
  if (isNested(value)) return tree(value, depth + 1);
  const text = typeof value === "string" && value.trim() === value;
  return h("code", {}, linePieces(text && isPlain(value) ? value : exactJson(value)));
}

/**
 * Whether this text cannot pass for a value of another kind.
 *
 * @param {string} text
 */
const isPlain = (text) => Number.isNaN(Number(text)) && !/^(true|false|null|["{[].*)?$/.test(text);

/**
 * The text of a short value is quoted where it could pass for something else, or where its ends do not show.
 *
 * @param {string} text
 */
const isQuoted = (text) =>
  !text.includes("\n") && text.length < MOST_QUOTED && (text.trim() !== text || !isPlain(text));

/**
 * @param {string} command
 * @param {Sayso.Piece[]} parts
 */
const commandBox = (command, parts) =>
  foreign(command, {
    label: "Command",
    places: placesOf(
      command,
      parts.map((one) => one.text),
    ),
  });

/**
 * @param {Json} value
 * @param {string} label
 * @param {Sayso.Piece[]} parts
 */
function boxed(value, label, parts) {
  const asText = typeof value === "string" && (parts.length > 0 || !isQuoted(value));
  const text = asText ? value : exactJson(value, 2);
  const spelled = parts.map((one) => (asText ? one.text : JSON.stringify(one.text).slice(1, -1)));
  return foreign(text, { label, places: placesOf(text, spelled) });
}
