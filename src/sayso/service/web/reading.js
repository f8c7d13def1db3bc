// Whether a question was on screen, all of it: nothing folded or covered, and every box read to its end.

const NEAR = 2;
const PARTS = ".card-head, .why, .hero.foreign, .hero .foreign";

/**
 * Follow how far a card is read. `body` scrolls; `end` stands after the last fact. What the person asked for
 * besides (every check, the editor) is in `extra`, and does not count.
 */
export function follow(body, end, extra) {
  const read = new WeakMap(); // how high a box was when its end was on screen
  const uncovered = new WeakMap(); // which corners of a part were on screen with nothing over them
  let reached = false;

  function look() {
    if (!body.isConnected || document.hidden) return;
    for (const part of parts()) noteCorners(part);
    reached ||= end.getBoundingClientRect().top <= body.getBoundingClientRect().bottom + NEAR;
    for (const box of boxes()) {
      if (box.scrollTop + box.clientHeight >= box.scrollHeight - NEAR) read.set(box, box.scrollHeight);
    }
  }
  function noteCorners(part) {
    const seen = uncovered.get(part) ?? new Set();
    corners(part).forEach(([x, y], corner) => {
      if (body.contains(document.elementFromPoint(x, y))) seen.add(corner);
    });
    uncovered.set(part, seen);
  }
  const parts = () => [...body.querySelectorAll(PARTS)].filter((part) => !extra.contains(part));
  const hidden = (part) => corners(part).some((_, corner) => !uncovered.get(part)?.has(corner));
  const boxes = () => [...body.querySelectorAll(".foreign")].filter((box) => !extra.contains(box));
  const unread = (box) => (read.get(box) ?? -1) < box.scrollHeight - NEAR;

  body.addEventListener("scroll", look, true);
  new ResizeObserver(look).observe(body);
  return {
    /** What is still to be seen, in words; null once everything was on screen. */
    missing() {
      look();
      if (body.querySelector("[data-folded]")) return "Part of this is folded. Show all of it before you allow it.";
      if (!reached) return "There is more below. Scroll to the end of it before you allow it.";
      if (boxes().some(unread)) return "A box goes on below. Scroll to its end before you allow it.";
      if (parts().some(hidden)) return "Part of the call was not on screen. Look at all of it before you allow it.";
      return null;
    },
  };
}

/** The corners of a part, just inside it, and its middle. */
function corners(part) {
  const { left, right, top, bottom } = part.getBoundingClientRect();
  const [near, far, high, low] = [left + NEAR, right - NEAR, top + NEAR, bottom - NEAR];
  return [[near, high], [far, high], [near, low], [far, low], [(near + far) / 2, (high + low) / 2]];
}
