// Whether a question was on screen, all of it: nothing folded, and every box read to its end.

const NEAR = 2;

/**
 * Follow how far a card is read. `body` scrolls; `end` stands after the last fact. What the person asked for
 * besides (every check, the editor) is in `extra`, and does not count.
 */
export function follow(body, end, extra) {
  const read = new WeakMap(); // how high a box was when its end was on screen
  let reached = false;

  function look() {
    if (!body.isConnected) return;
    reached ||= end.getBoundingClientRect().top <= body.getBoundingClientRect().bottom + NEAR;
    for (const box of boxes()) {
      if (box.scrollTop + box.clientHeight >= box.scrollHeight - NEAR) read.set(box, box.scrollHeight);
    }
  }
  const boxes = () => [...body.querySelectorAll(".foreign")].filter((box) => !extra.contains(box));
  const unread = (box) => (read.get(box) ?? -1) < box.scrollHeight - NEAR;

  body.addEventListener("scroll", look, true);
  return {
    /** What is still to be seen, in words; null once everything was on screen. */
    missing() {
      look();
      if (body.querySelector("[data-folded]")) return "Part of this is folded. Show all of it before you allow it.";
      if (!reached) return "There is more below. Scroll to the end of it before you allow it.";
      return boxes().some(unread) ? "A box goes on below. Scroll to its end before you allow it." : null;
    },
  };
}
