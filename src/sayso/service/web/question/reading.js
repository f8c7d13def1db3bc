// Whether a question was on screen, all of it: nothing folded, nothing covered or cut off, every line passed by.
//
// - Everything in the card has to be read, unless it says data-read="no"; data-read="parts" means: each of its
//   children by itself.
// - A part is as large as its text, wherever that stands, also beside its box. It is cut into cells lower than a
//   line of text. A cell was seen once its corners were on screen with nothing over them: in the window, in
//   what a zoomed page shows of it, and in every box that cuts off what does not fit. Its surroundings have to
//   be on screen with it: of a line, one half now and the other later is not a line that could be read.
// - A part that changes its width before it was read whole is read again: its lines stand elsewhere.
// - Where the text of a part changes, it is read again from that line on, whatever was seen there before.

import { query } from "../lib/dom.js";
import { extent, isCutOff, isZoomed, onGlass, topOfChange } from "./extent.js";

/** @typedef {ReturnType<typeof follow>} Reading */

/**
 * What is known of a part: its text, how large it was, and which of its cells were seen.
 *
 * @typedef {object} Seen
 * @property {string} text
 * @property {number} width
 * @property {number} height
 * @property {{ left: number, top: number, width: number, height: number }} area
 * @property {number} columns
 * @property {Uint8Array} seen
 * @property {boolean} cutOff
 * @property {boolean} read
 */

/** @typedef {{ part: Element, down: number, until: number, across: number, width: number }} Spot */

const SLICE = 12;
const AROUND = 12; // with the slice in its middle this is more than a line
const COLUMN = 64;
const NEAR = 1;
const OVERLAP = 32;

/**
 * Follow how far a card is read. `body` scrolls; `changed` is called whenever more, or less, of it is read.
 *
 * @param {HTMLElement} body
 * @param {() => void} [changed]
 */
export function follow(body, changed = () => {}) {
  /** @type {WeakMap<Element, Seen>} */
  const known = new WeakMap();
  let last = "";

  function look() {
    if (!body.isConnected) return;
    if (!document.hidden) for (const part of parts(body, true)) note(part);
    const next = towards();
    if (next === last) return;
    last = next;
    changed();
  }
  /** @param {Element} part */
  function note(part) {
    const record = recordOf(part);
    if (record.read || record.cutOff) return;
    const { seen, columns, area } = record;
    const box = part.getBoundingClientRect();
    const [left, top] = [box.left + area.left, box.top + area.top];
    const view = body.getBoundingClientRect();
    const from = Math.max(0, Math.floor((view.top - top) / SLICE));
    const until = Math.min(seen.length / columns, Math.ceil((view.bottom - top) / SLICE));
    for (let at = from * columns; at < until * columns; at += 1) {
      if (seen[at]) continue;
      const x = left + (at % columns) * COLUMN;
      const band = bandAt(Math.floor(at / columns), area.height);
      const right = Math.min(x + COLUMN, left + area.width);
      if (onScreen(x, top + band.top, right, top + band.bottom)) seen[at] = 1;
    }
    record.read = seen.every(Boolean);
  }
  /**
   * What is known of a part. What was seen above a change of its text stays seen.
   *
   * @param {Element} part
   * @returns {Seen}
   */
  function recordOf(part) {
    const old = known.get(part);
    const text = part.textContent;
    if (old?.read && old.text === text) return old;
    const { width, height } = part.getBoundingClientRect();
    const wide = old && Math.abs(old.width - width) < 1;
    if (wide && old.text === text && Math.abs(old.height - height) < 1) return old;
    const area = extent(part);
    const columns = Math.max(1, Math.ceil(area.width / COLUMN));
    const seen = new Uint8Array(area.width ? Math.ceil(area.height / SLICE) * columns : 1);
    if (wide && old.columns === columns) {
      const rows = Math.max(0, Math.floor((topOfChange(part, old.text) - area.top) / SLICE));
      seen.set(old.seen.subarray(0, Math.min(seen.length, rows * columns)));
    }
    const cutOff = isCutOff(part);
    const record = { text, width, height, area, columns, seen, cutOff, read: !cutOff && seen.length === 0 };
    known.set(part, record);
    return record;
  }
  /**
   * Whether nothing lies over this cell: its corners are on the glass and belong to the card.
   *
   * @param {number} left
   * @param {number} top
   * @param {number} right
   * @param {number} bottom
   */
  function onScreen(left, top, right, bottom) {
    /**
     * @param {number} from
     * @param {number} to
     */
    const within = (from, to) => (to - from > 2 * NEAR ? [from + NEAR, to - NEAR] : [(from + to) / 2]);
    /**
     * @param {number} x
     * @param {number} y
     */
    const free = (x, y) => onGlass(x, y) && body.contains(document.elementFromPoint(x, y));
    return within(top, bottom).every((y) => within(left, right).every((x) => free(x, y)));
  }
  /** The first thing still to be read: a part and where in it, or a fold in a part that was read. */
  function first() {
    for (const part of parts(body)) {
      const record = known.get(part);
      if (!record?.read) return { part, ...placeIn(record), cutOff: record?.cutOff };
      const fold = part.matches("[data-folded]") ? part : part.querySelector("[data-folded]");
      if (fold) return { part, fold };
    }
    return null;
  }
  /** @param {Seen | undefined} record */
  function placeIn(record) {
    const at = record ? Math.max(0, record.seen.indexOf(0)) : 0;
    const { columns = 1, area = { left: 0, top: 0, width: 0, height: SLICE } } = record ?? {};
    const { top, bottom } = bandAt(Math.floor(at / columns), area.height);
    const [down, until] = [area.top + top, area.top + bottom];
    const across = area.left + (at % columns) * COLUMN;
    return { down, until, across, width: Math.min(COLUMN, area.width) };
  }
  function towards() {
    const next = first();
    if (!next || next.fold) return next ? "fold" : "";
    if (next.cutOff) return "lost";
    const [box, view] = [next.part.getBoundingClientRect(), body.getBoundingClientRect()];
    const [x, y] = [box.left + next.across, box.top + next.down];
    if (y < Math.max(view.top, 0) - NEAR) return "up";
    if (box.top + next.until > view.bottom + NEAR) return "down";
    if (x + next.width > view.right + NEAR) return "right";
    if (x < view.left - NEAR) return "left";
    return isZoomed() ? "zoomed" : "down";
  }

  body.addEventListener("scroll", look, true);
  for (const kind of ["scroll", "resize"]) window.visualViewport?.addEventListener(kind, look);
  new ResizeObserver(look).observe(body);
  new MutationObserver(look).observe(body, { childList: true, subtree: true });
  return {
    look,
    /** Where to read on: a direction, at a "fold", on a "zoomed" page, or "lost"; empty once all was on screen. */
    towards() {
      look();
      last = towards(); // whoever asked knows it by this, also before the card is on the page
      return last;
    },
    /** Bring what is to be read next on screen; unfold it if it is folded. */
    on() {
      const next = first();
      if (!next) return;
      if (next.fold) query(next.fold, ".unfold")?.click();
      else bring(next);
      look();
    },
    /** The same where the page scrolls and not the card. */
    onInPage() {
      const next = first();
      if (!next) return;
      if (next.fold) query(next.fold, ".unfold")?.click();
      else scrollBy({ top: next.part.getBoundingClientRect().top + next.down - 2 * OVERLAP });
      look();
    },
  };

  /** @param {Spot} spot */
  function bring({ part, down, across, width }) {
    const [box, view] = [part.getBoundingClientRect(), body.getBoundingClientRect()];
    body.scrollTop += box.top + down - view.top - OVERLAP;
    const [left, right] = [box.left + across, box.left + across + width];
    if (left < view.left || right > view.right) body.scrollLeft += left - view.left - OVERLAP;
  }
}

/**
 * From where to where a row of cells has to be on screen at once, measured from the top of an area this high.
 *
 * @param {number} row
 * @param {number} height
 */
const bandAt = (row, height) => ({
  top: Math.max(0, row * SLICE - AROUND),
  bottom: Math.min(height, (row + 1) * SLICE + AROUND),
});

/**
 * What has to be read, part by part, from top to bottom; with `later` also what may have to be read later.
 *
 * @param {Element} place
 * @param {boolean} [later]
 * @returns {HTMLElement[]}
 */
function parts(place, later = false) {
  const all = /** @type {HTMLElement[]} */ ([...place.children]);
  return all.flatMap((one) => {
    const { read } = one.dataset;
    if (read === "no" || one.hidden || (read === "later" && !later)) return [];
    return read ? parts(one, later) : [one];
  });
}
