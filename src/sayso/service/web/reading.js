// Whether a question was on screen, all of it: nothing folded, nothing covered, and every line passed by.
//
// - Everything in the card has to be read, unless it says data-read="no"; data-read="parts" means: each of its
//   children by itself.
// - A part is cut into slices lower than a line of text. A slice was seen once both its edges were on screen
//   with nothing over them, wherever the person scrolled from, and by whatever means.
// - A part that changes its width before it was read whole is read again: its lines stand elsewhere.

const SLICE = 12;
const NEAR = 2;
const OVERLAP = 32;

/** Follow how far a card is read. `body` scrolls; `changed` is called whenever more, or less, of it is read. */
export function follow(body, changed = () => {}) {
  const known = new WeakMap();
  let last = "";

  function look() {
    if (!body.isConnected) return;
    if (!document.hidden) for (const part of parts(body)) note(part);
    const next = towards();
    if (next !== last) changed((last = next));
  }
  function note(part) {
    const box = part.getBoundingClientRect();
    const record = recordOf(part, box);
    if (record.read) return;
    const { seen } = record;
    const view = body.getBoundingClientRect();
    const from = Math.max(0, Math.floor((view.top - box.top) / SLICE));
    const until = Math.min(seen.length, Math.ceil((view.bottom - box.top) / SLICE));
    for (let at = from; at < until; at += 1) if (!seen[at] && onScreen(box, at)) seen[at] = 1;
    record.read = seen.every(Boolean);
  }
  /** What is known of a part. Text that was added at its end leaves what was seen above it seen. */
  function recordOf(part, box) {
    const old = known.get(part);
    const length = part.textContent.length;
    if (old?.read && old.length === length) return old;
    const count = Math.ceil(box.height / SLICE);
    const same = old && old.length === length && old.seen.length === count;
    if (same && Math.abs(old.width - box.width) < 1) return old;
    const seen = new Uint8Array(box.width ? count : 1);
    const grown = old && old.length < length && Math.abs(old.width - box.width) < 1;
    if (grown) seen.set(old.seen.subarray(0, Math.min(count, old.seen.length)));
    const record = { length, width: box.width, seen, read: seen.length === 0 };
    known.set(part, record);
    return record;
  }
  /** Whether nothing lies over this slice: its corners and its middle belong to the card. */
  function onScreen(box, at) {
    const top = box.top + at * SLICE;
    const bottom = Math.min(top + SLICE, box.bottom);
    const across = [box.left + NEAR, (box.left + box.right) / 2, box.right - NEAR];
    const down = bottom - top > NEAR ? [top + 1, bottom - 1] : [(top + bottom) / 2];
    return down.every((y) => across.every((x) => body.contains(document.elementFromPoint(x, y))));
  }
  /** The first thing still to be read: a part and how far down in it, or a fold in a part that was read. */
  function first() {
    for (const part of parts(body)) {
      const record = known.get(part);
      if (!record?.read) return { part, down: Math.max(0, record ? record.seen.indexOf(0) : 0) * SLICE };
      const fold = part.matches("[data-folded]") ? part : part.querySelector("[data-folded]");
      if (fold) return { part, fold };
    }
    return null;
  }
  function towards() {
    const next = first();
    if (!next || next.fold) return next ? "fold" : "";
    const at = next.part.getBoundingClientRect().top + next.down;
    return at < body.getBoundingClientRect().top ? "up" : "down";
  }

  body.addEventListener("scroll", look, true);
  new ResizeObserver(look).observe(body);
  new MutationObserver(look).observe(body, { childList: true, subtree: true });
  return {
    look,
    /** Where to read on: "up", "down", at a "fold"; empty once everything was on screen. */
    towards() {
      look();
      return towards();
    },
    /** Bring what is to be read next on screen; unfold it if it is folded. */
    on() {
      const next = first();
      if (!next) return;
      if (next.fold) next.fold.querySelector(".unfold").click();
      const top = next.part.getBoundingClientRect().top + (next.fold ? 0 : next.down);
      if (!next.fold) body.scrollTop += top - body.getBoundingClientRect().top - OVERLAP;
      look();
    },
  };
}

/** What has to be read, part by part, from top to bottom. */
function parts(place) {
  return [...place.children].flatMap((one) => {
    if (one.dataset.read === "no" || one.hidden) return [];
    return one.dataset.read === "parts" ? parts(one) : [one];
  });
}
