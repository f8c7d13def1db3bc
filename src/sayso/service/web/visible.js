// Foreign text as data: the twin of core.words.visible. What acts, hides or shows nothing is spelled out.

import { h } from "./dom.js";

export const FOLD_AT = 2000;
const NOT_PLAIN = /[\p{C}\p{Z}]/u;
// Letters, marks and signs by category, but nothing to see: fillers, selectors, the empty Braille cell.
const SHOWS_NOTHING =
  /[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/u;
const SHORT = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };

/** The text on one line, as the terminal and the audit show it. */
export function visible(text) {
  const characters = Array.from(text);
  const shown = characters.slice(0, FOLD_AT).map(spelled).join("");
  return characters.length <= FOLD_AT ? shown : `${shown} … (${characters.length} characters in all)`;
}

/** The text in a box of its own; what is long is folded, with its true length. */
export function foreign(text, { fold = FOLD_AT, label = null } = {}) {
  const characters = Array.from(text);
  const box = h("pre", { class: "foreign", tabindex: "0", "aria-label": label, role: label && "group" });
  box.append(...pieces(characters.slice(0, fold)));
  if (characters.length <= fold) return box;
  const [part, all] = [fold, characters.length].map((count) => count.toLocaleString("en"));
  const unfold = h("button", { type: "button", class: "unfold" }, "Show all of it");
  const note = h("p", { class: "fold small" }, `The first ${part} of ${all} characters. `, unfold);
  const both = h("div", { data: { folded: "yes" } }, box, note);
  unfold.addEventListener("click", () => {
    delete both.dataset.folded;
    note.remove();
    box.replaceChildren(...pieces(characters));
    box.focus();
  });
  return both;
}

/** Foreign text inside a line of ours: marked, on one line, and cut with its true length. */
export function inline(text, most = 160) {
  const characters = Array.from(text);
  const cut = characters.length > most;
  const note = cut
    ? h("span", { class: "cut" }, `… ${characters.length.toLocaleString("en")} characters`)
    : null;
  const code = h("code", { class: "quoted" }, pieces(characters.slice(0, most), false));
  if (note) code.append(note);
  return code;
}

/** The text in the line if it is short, else in a box that can be unfolded: nothing of it is cut away. */
export function told(text, most = 160) {
  return Array.from(text).length <= most ? inline(text, most) : foreign(text);
}

/** Plain runs as text, odd characters as marked spellings. A line break is spelled, then also made. */
function pieces(characters, breaks = true) {
  const found = [];
  let run = "";
  for (const character of characters) {
    const spelling = spelled(character);
    if (spelling === character) {
      run += character;
      continue;
    }
    if (run) found.push(run);
    run = breaks && character === "\n" ? "\n" : "";
    found.push(h("span", { class: "odd" }, spelling));
  }
  return run ? [...found, run] : found;
}

function spelled(character) {
  if (character === " ") return character;
  if (!NOT_PLAIN.test(character) && !SHOWS_NOTHING.test(character)) return character;
  if (SHORT[character]) return SHORT[character];
  const code = character.codePointAt(0);
  const hex = (width) => code.toString(16).padStart(width, "0");
  if (code < 0x100) return `\\x${hex(2)}`;
  return code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`;
}
