// Hard to slip: what has just appeared, or moved, cannot be pressed yet.

export const WAKES_AFTER = 400;

/**
 * Keeps the buttons in `place` asleep for a moment after each `rest()`, and while `blocked()` gives a reason.
 * A press that began while they slept does not count, even if it ends later.
 */
export function sleeper(place, blocked) {
  let timer = 0;
  let asleep = false;
  let pressed = true;
  const awake = () => !asleep && !blocked();

  function stop(event) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
  place.addEventListener(
    "pointerdown",
    (event) => {
      pressed = awake();
      if (!pressed && event.target.closest("button")) stop(event);
    },
    true,
  );
  place.addEventListener(
    "click",
    (event) => {
      if (event.target.closest("button") && (!awake() || (event.detail > 0 && !pressed))) stop(event);
    },
    true,
  );

  function marked() {
    for (const button of place.querySelectorAll("button")) {
      if (awake()) button.removeAttribute("aria-disabled");
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
  return { rest, awake };
}
