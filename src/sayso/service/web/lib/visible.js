// Foreign text as data: the twin of core.text.foreign. What acts, hides or shows nothing is spelled out; so are marks
// that pile up on a letter, and long gaps are told by their size.

import { markAlikes } from "./alikes.js";
import { h, show } from "./dom.js";

/** @import {Child} from "./dom.js" */

/** @typedef {[start: number, end: number]} Place */

export const FOLD_AT = 2000;
const NOT_PLAIN = /[\p{C}\p{Z}]/u;
// Letters, marks and signs by category, but nothing to see: fillers, selectors, the empty Braille cell.
const SHOWS_NOTHING =
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: marks are listed one by one; no pair of them is meant
  /[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\u{1d159}\u{e0100}-\u{e01ef}]/u;
/** @type {Record<string, string>} */
const SHORT = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };

/** @param {string} text */
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * The text on one line, as the terminal and the audit show it.
 *
 * @param {string} text
 */
export function visible(text) {
  const characters = Array.from(text);
  const part = characters.slice(0, endOfPart(characters, FOLD_AT));
  const spellings = spell(part);
  const shown = part.map((character, at) => spellings[at] ?? character).join("");
  return part.length === characters.length ? shown : `${shown} … (${characters.length} characters in all)`;
}

/**
 * The text in a box of its own, with these places marked; what is long is folded, with its true length.
 *
 * @param {string} text
 * @param {{ fold?: number, label?: string | null, places?: Place[] }} [options]
 */
export function foreign(text, { fold = FOLD_AT, label = null, places = [] } = {}) {
  const characters = Array.from(text);
  const box = h("pre", { class: "foreign", tabindex: "-1", "aria-label": label, role: label && "group" });
  const end = endOfPart(characters, fold);
  show(box, pieces(characters.slice(0, end), { places }));
  if (characters.length <= end) return box;
  const [part, all] = [end.toLocaleString("en"), characters.length.toLocaleString("en")];
  const unfold = h("button", { type: "button", class: "unfold" }, "Show all of it");
  const hidden = places.some(([, last]) => last > characters.slice(0, end).join("").length);
  const further = hidden ? "A marked part is further down. " : null;
  const note = h("p", { class: "fold small" }, `The first ${part} of ${all} characters. `, further, unfold);
  const both = h("div", { data: { folded: "yes" } }, box, note);
  unfold.addEventListener("click", () => {
    delete both.dataset.folded;
    note.remove();
    show(box, pieces(characters, { places }));
    box.focus({ preventScroll: true });
  });
  return both;
}

/**
 * Lines of our own, which may quote foreign text with its line breaks spelled: each break is just a break.
 *
 * @param {string} text
 * @param {{ label?: string | null }} [options]
 */
export function ownLines(text, { label = null } = {}) {
  const box = h("pre", { class: "foreign", tabindex: "0", "aria-label": label, role: label && "group" });
  const lines = text.split("\n").map((line, number) => [number > 0 && "\n", pieces(Array.from(line))]);
  return show(box, lines);
}

/**
 * Foreign text inside a line of ours: marked, on one line, and cut with its true length. What was cut before,
 * as titles are, has no true length any more: it is not counted.
 *
 * @param {string} text
 * @param {number} [most]
 * @param {boolean} [counted]
 */
export function inline(text, most = 160, counted = true) {
  const characters = Array.from(text);
  const end = endOfPart(characters, most);
  const length = counted ? ` ${characters.length.toLocaleString("en")} characters` : "";
  const note = characters.length > end ? h("span", { class: "cut" }, `…${length}`) : null;
  return h("code", { class: "quoted" }, pieces(characters.slice(0, end), { breaks: false }), note);
}

/**
 * A sentence of ours that quotes these names of others: each is marked as what it is.
 *
 * @param {string} text
 * @param {(string | null)[]} [names]
 * @returns {Child[]}
 */
export function sentence(text, names = []) {
  const shown = names.flatMap((name) => (name ? [name, visible(name)] : []));
  /** @type {Child[]} */
  const found = [];
  let at = 0;
  for (const [start, end] of placesOf(text, [...new Set(shown)])) {
    found.push(visible(text.slice(at, start)), inline(text.slice(start, end)));
    at = end;
  }
  return [...found, visible(text.slice(at))];
}

/**
 * The text in the line if it is short, else in a box that can be unfolded: nothing of it is cut away.
 *
 * @param {string} text
 * @param {number} [most]
 */
export function told(text, most = 160) {
  return Array.from(text).length <= most ? inline(text, most) : foreign(text);
}

// In a box these act as everybody expects. A quiet sign tells a real line end from a line that is only long.
/** @type {Record<string, string>} */
const QUIET = { "\n": "↵", "\t": "→" };
/** @param {string} spelling */
const odd = (spelling) => h("span", { class: "odd" }, spelling);

/**
 * A line of foreign text in pieces: tabs act, and every other odd character is spelled out, line ends too.
 *
 * @param {string} text
 * @returns {Child[]}
 */
export const linePieces = (text) =>
  text
    .split("\t")
    .flatMap((part, at) => [
      at > 0 && [h("span", { class: "quiet", "aria-hidden": "true" }, QUIET["\t"]), "\t"],
      pieces(Array.from(part), { breaks: false }),
    ]);

/**
 * Plain runs as text, odd characters as marked spellings. In a box, line ends and tabs act as well.
 *
 * @param {string[]} characters
 * @param {{ breaks?: boolean, places?: Place[] }} [options]
 * @returns {Child[]}
 */
function pieces(characters, { breaks = true, places = [] } = {}) {
  /** @type {Child[]} */
  const found = [];
  let into = found;
  let run = "";
  let at = 0;
  let next = 0;
  const spellings = spell(characters);
  const flush = () => {
    if (run) into.push(...markAlikes(run));
    run = "";
  };
  const leave = () => {
    flush();
    if (into !== found) found.push(mark(into));
    into = found;
  };
  for (const [index, character] of characters.entries()) {
    const [, end] = places[next - 1] ?? [0, 0];
    if (into !== found && at >= end) leave();
    const [start] = places[next] ?? [Infinity];
    if (at >= start) {
      flush();
      into = [];
      next += 1;
    }
    at += character.length;
    const spelling = spellings[index];
    if (spelling === null || spelling === undefined) {
      run += character;
      continue;
    }
    flush();
    if (breaks && spelling === SHORT[character] && character in QUIET) {
      into.push(h("span", { class: "quiet", "aria-hidden": "true" }, QUIET[character]));
      run = character;
    } else if (spelling) {
      into.push(odd(spelling));
      if (breaks && spelling.includes(LINE_END)) run = "\n"; // what follows a gap of lines stands on a line of its own
    }
  }
  leave();
  return found;
}

const MOST_MARKS = 2;
const MOST_SPACES = 8;
const MOST_INDENT = 40;
const MOST_LINE_ENDS = 4;
const TAB = 4;
const LINE_END = "line end";
/** @type {[character: string, name: string][]} */
const BLANKS = [
  ["\n", LINE_END],
  [" ", "space"],
  ["\t", "tab"],
];
const MARK = /[\p{M}\u1160-\u11ff\ud7b0-\ud7ff]/u;
/** @param {string | undefined} character */
const isBlank = (character) => character === " " || character === "\t" || character === "\n";

/**
 * What stands in the place of each character: null for itself, a spelling, or nothing where a gap was told before.
 *
 * @param {string[]} characters
 */
function spell(characters) {
  /** @type {(string | null)[]} */
  const found = characters.map((one) => (isPlain(one) ? null : escaped(one)));
  spellPiledMarks(characters, found);
  for (const [start, end] of gapsIn(characters)) describeGap(characters, found, start, end);
  return found;
}

/**
 * Where a text is cut: never within a gap, which counts as one character, as it takes no more room.
 *
 * @param {string[]} characters
 * @param {number} fold
 */
function endOfPart(characters, fold) {
  let end = fold;
  for (const [start, stop] of gapsIn(characters)) {
    if (start >= end) break;
    end += stop - start - 1;
  }
  return end;
}

/**
 * A letter carries two marks; further ones, and those without a letter, are spelled out.
 *
 * @param {string[]} characters
 * @param {(string | null)[]} found
 */
function spellPiledMarks(characters, found) {
  let room = 0;
  for (const [at, character] of characters.entries()) {
    if (found[at] !== null || character === " ") room = 0;
    else if (!MARK.test(character)) room = MOST_MARKS;
    else if (room) room -= 1;
    else found[at] = escaped(character);
  }
}

/**
 * Where white space would push what follows out of sight: from where to where, in order.
 *
 * @param {string[]} characters
 * @returns {Generator<Place>}
 */
function* gapsIn(characters) {
  for (let start = 0; start < characters.length; start += 1) {
    if (!isBlank(characters[start])) continue;
    let end = start;
    let ends = 0;
    while (isBlank(characters[end])) ends += Number(characters[end++] === "\n");
    if (ends > MOST_LINE_ENDS) yield [start, end];
    else yield* gapsInLines(characters, start, end);
    start = end;
  }
}

/**
 * The same within one run of white space of few lines.
 *
 * @param {string[]} characters
 * @param {number} start
 * @param {number} end
 * @returns {Generator<Place>}
 */
function* gapsInLines(characters, start, end) {
  for (let at = start; at < end; at += 1) {
    let until = at;
    let columns = 0;
    while (until < end && characters[until] !== "\n") columns += characters[until++] === "\t" ? TAB : 1;
    const most = at === 0 || at > start ? MOST_INDENT : MOST_SPACES;
    if (columns > most) yield [at, until];
    at = until;
  }
}

/**
 * @param {string[]} characters
 * @param {(string | null)[]} found
 * @param {number} start
 * @param {number} end
 */
function describeGap(characters, found, start, end) {
  const run = characters.slice(start, end);
  const told = BLANKS.flatMap(([blank, name]) => {
    const count = run.filter((one) => one === blank).length;
    return count ? [`${count.toLocaleString("en")} ${name}${count === 1 ? "" : "s"}`] : [];
  });
  found.fill("", start, end);
  found[start] = `⟨${told.join(", ")}⟩`;
}

/**
 * The spellings of what a field would not show as itself, each once. Line ends and tabs do show there.
 *
 * @param {string} text
 */
export function oddIn(text) {
  const characters = Array.from(text);
  const odd = spell(characters).filter((one) => one && one !== SHORT["\n"] && one !== SHORT["\t"]);
  return [...new Set(odd)];
}

/**
 * A part that decided something: by shape and weight as well as colour, and in words for those who hear it.
 *
 * @param {Child[]} children
 */
function mark(children) {
  /** @param {string} text */
  const heard = (text) => h("span", { class: "hidden" }, text);
  return h("mark", {}, heard("[marked: "), children, heard("]"));
}

const PART_OF_A_WORD = /[\p{L}\p{N}_@.+-]/u;

/**
 * Where these parts stand in the raw text: [start, end] pairs, in order, none within another. One that stands
 * by itself is meant, if there is one, rather than the same letters inside a longer word.
 *
 * @param {string} text
 * @param {string[]} parts
 * @returns {Place[]}
 */
export function placesOf(text, parts) {
  const found = parts.flatMap((part) => {
    /** @type {Place[]} */
    const all = [];
    for (let at = text.indexOf(part); part && at >= 0; at = text.indexOf(part, at + part.length))
      all.push([at, at + part.length]);
    const alone = all.filter(([start, end]) => !PART_OF_A_WORD.test(around(text, start, end)));
    return alone.length ? alone : all;
  });
  found.sort(([a, b], [c, d]) => a - c || d - b);
  /** @type {Place[]} */
  const apart = [];
  for (const place of found) if (place[0] >= (apart.at(-1)?.[1] ?? 0)) apart.push(place);
  return apart;
}

/**
 * @param {string} text
 * @param {number} start
 * @param {number} end
 */
const around = (text, start, end) => text.slice(Math.max(0, start - 1), start) + text.slice(end, end + 1);

/** @param {string} character */
const isPlain = (character) =>
  character === " " || (!NOT_PLAIN.test(character) && !SHOWS_NOTHING.test(character));

/** @param {string} character */
function escaped(character) {
  const short = SHORT[character];
  if (short) return short;
  const code = character.codePointAt(0) ?? 0;
  /** @param {number} width */
  const hex = (width) => code.toString(16).padStart(width, "0");
  if (code < 0x100) return `\\x${hex(2)}`;
  return code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`;
}
