// Letters of other scripts that pass for a Latin one, as in a Cyrillic "а": marked where they deceive, never changed.

import { h } from "./dom.js";

/** @import {Child} from "./dom.js" */

/** The same letters as core.text.look_alikes lists, which decides; here they are only shown. */
export const ALIKES =
  "аАαΑɑᴀвВΒʙсСϲᴄԁԀᴅеЕεΕᴇɡɢнНһҺΗʜіІїιΙɩɪјЈкКκΚᴋӏӀʟмМΜᴍпոηΝɴоОοΟՕօᴏрРρΡᴘԛгʀѕЅꜱтТτΤᴛцսᴜѵνᴠԝԜωшᴡхХχΧуУүҮυΥʏΖᴢ";
const ONE = new RegExp(`[${ALIKES}]`, "u");
const SOME = new RegExp(`[${ALIKES}]+`, "gu");
const ALL = new RegExp(`^[${ALIKES}\\p{M}]+$`, "u");
const WORDS = /[\p{L}\p{M}]+/gu;
const LATIN = /[A-Za-z]/;
const SAYS = "not a Latin letter: it only looks like one";

/**
 * The text in pieces, with every letter marked that only looks Latin: in a word that is Latin otherwise, and in a word
 * of nothing else, unless other words show that the text is written in that script.
 *
 * @param {string} text
 * @returns {Child[]}
 */
export function markAlikes(text) {
  if (!ONE.test(text)) return [text];
  const words = [...text.matchAll(WORDS)];
  const isOwnScript = words.some(([word]) => ONE.test(word) && !LATIN.test(word) && !ALL.test(word));
  /** @type {Child[]} */
  const found = [];
  let at = 0;
  for (const { 0: word, index } of words) {
    if (!LATIN.test(word) && (isOwnScript || !ALL.test(word))) continue;
    for (const { 0: letters, index: within } of word.matchAll(SOME)) {
      const start = index + within;
      found.push(text.slice(at, start), h("span", { class: "alike", title: SAYS }, letters));
      at = start + letters.length;
    }
  }
  return [...found, text.slice(at)];
}
