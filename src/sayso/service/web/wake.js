// Hard to slip: what has just appeared, or moved, cannot be pressed yet.

export const WAKES_AFTER = 400;

/**
 * Keeps the buttons in these places asleep for a moment after each `rest()`, and while `blocked()` gives a reason.
 * A press that began while they slept does not count, even if it ends later. A button with data-off looks
 * asleep for longer: it can be pressed, and then says why it does nothing.
 */
export function sleeper(places, blocked) {
  let timer = 0;
  let asleep = false;
  let pressed = true;
  const awake = () => !asleep && !blocked();

  function stop(event) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
  function press(event) {
    pressed = awake();
    if (!pressed && event.target.closest("button")) stop(event);
  }
  function click(event) {
    if (event.target.closest("button") && (!awake() || (event.detail > 0 && !pressed))) stop(event);
  }
  for (const place of places) {
    place.addEventListener("pointerdown", press, true);
    place.addEventListener("click", click, true);
  }

  function marked() {
    for (const button of places.flatMap((place) => [...place.querySelectorAll("button")])) {
      if (awake() && !button.dataset.off) button.removeAttribute("aria-disabled");
      else button.setAttribute("aria-disabled", "true");
    }
  }

  function rest() {
    asleep = true;
    marked();
    clearTimeout(timer);
    timer = setTimeout(() => {
      asleep = false;
      marked();
    }, WAKES_AFTER);
  }

  rest();
  return { rest, awake, marked };
}
