// Hard to slip: what has just appeared, or moved, cannot be pressed yet.

export const WAKES_AFTER = 400;

const SECOND_CLICK_WITHIN = 1000;
/** @type {{ button: Element, box: { left: number, right: number, top: number, bottom: number }, at: number } | null} */
let lastPress = null;

const LONGEST_CLICK = 1000;
/** @type {Promise<void> | null} */
let clicking = null;
const noteClick = () => {
  clicking = clickEnds();
};
document.addEventListener("pointerdown", noteClick, true);

/** Resolve once a click under way has reached its button: what is drawn again meanwhile would lose it. */
export const whenReleased = () => clicking;

/** @returns {Promise<void>} */
function clickEnds() {
  return new Promise((resolve) => {
    const soon = () => setTimeout(resolve);
    for (const kind of ["pointerup", "pointercancel"]) document.addEventListener(kind, soon, { once: true });
    setTimeout(resolve, LONGEST_CLICK);
  });
}

/**
 * Note that this button was pressed; call what it gives when its work is done and others may have taken its place.
 *
 * @param {Element} button
 */
export function notePress(button) {
  const { left, right, top, bottom } = button.getBoundingClientRect();
  const box = { left: left + scrollX, right: right + scrollX, top: top + scrollY, bottom: bottom + scrollY };
  const note = () => {
    lastPress = { button, box, at: performance.now() };
  };
  note();
  return note;
}

/**
 * Whether this click is the second of two at one place, and lands on a button that was not there at the first.
 *
 * @param {MouseEvent} event
 * @param {Element} button
 */
export function isSecondClick(event, button) {
  if (!event.detail || !lastPress || lastPress.button === button) return false;
  return isWithin(lastPress.box, event) && performance.now() - lastPress.at < SECOND_CLICK_WITHIN;
}

/**
 * @param {{ left: number, right: number, top: number, bottom: number }} box
 * @param {MouseEvent} event
 */
function isWithin({ left, right, top, bottom }, { pageX: x, pageY: y }) {
  return x >= left && x <= right && y >= top && y <= bottom;
}

// Whoever moved the pointer away and came back meant the second click.
document.addEventListener("pointermove", (event) => {
  if (lastPress && !isWithin(lastPress.box, event)) lastPress = null;
});

/** @param {Event} event */
const isOnButton = ({ target }) => target instanceof Element && target.closest("button") !== null;

/**
 * Keeps the buttons in these places asleep for a moment after each `rest()`, and while `blocked()` gives a reason.
 * A press that began while they slept does not count, even if it ends later. A button with data-off looks
 * asleep for longer: it can be pressed, and then says why it does nothing.
 *
 * @param {HTMLElement[]} places
 * @param {() => boolean} blocked
 */
export function sleeper(places, blocked) {
  let timer = 0;
  let asleep = false;
  let pressed = true;
  const awake = () => !asleep && !blocked();

  /** @param {Event} event */
  function stop(event) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
  /** @param {Event} event */
  function press(event) {
    pressed = awake();
    if (!pressed && isOnButton(event)) stop(event);
  }
  /** @param {MouseEvent} event */
  function click(event) {
    if (isOnButton(event) && (!awake() || (event.detail > 0 && !pressed))) stop(event);
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
