// A deliberate yes: hold the button, or, from the keyboard, type the word.

import { h } from "../lib/dom.js";

/** @import {Child, Properties} from "../lib/dom.js" */

export const HOLD = 800;

export const HOLD_HINT = "Hold the button for a second to allow.";

const LOOKS_EVERY = 50;
const ENDS = [
  "pointerup",
  "pointercancel",
  "pointerdown",
  "keydown",
  "popstate",
  "blur",
  "resize",
  "visibilitychange",
];

/**
 * A button that acts, by `sure`, only when it is held. Pressed from the keyboard it asks for the word instead, by
 * `typed`; pressed too briefly it calls `short`.
 *
 * @param {Properties<HTMLButtonElement>} properties
 * @param {Child} children
 * @param {{ sure: () => unknown, short: () => void, typed: () => Promise<boolean> }} acts
 */
export function holdButton(properties, children, { sure, short, typed }) {
  const button = h("button", { type: "button", ...properties }, h("span", { class: "filling" }), children);
  button.classList.add("hold");
  let held = false;
  button.addEventListener("pointerdown", (event) => {
    held = false;
    if (event.button !== 0 || !event.isPrimary || isAsleep(button)) return;
    keepHolding(button, event, () => {
      held = true;
      sure();
    });
  });
  button.addEventListener("contextmenu", (event) => event.preventDefault());
  button.addEventListener("click", async (event) => {
    if (event.detail > 0) return held || short();
    if (await typed()) sure();
  });
  return button;
}

/**
 * Call `done` if this press stays as it began for all of HOLD: one finger on one button that is awake, shown and
 * in its place. Whatever else happens ends the hold, and it does not begin again by itself.
 *
 * @param {HTMLElement} button
 * @param {PointerEvent} event
 * @param {() => void} done
 */
function keepHolding(button, event, done) {
  const began = placeOf(button);
  const over = new AbortController();
  let { clientX: x, clientY: y } = event;
  const changes = new MutationObserver(end);
  const intact = () => !isAsleep(button) && placeOf(button) === began && isUnder(button, x, y);
  const look = () => intact() || end();
  const finish = () => {
    const sound = intact() && !over.signal.aborted;
    end();
    if (sound) done();
  };
  // Where the finger went last is told with the next frame: a busy page hears of it later than of its timer.
  const timer = setTimeout(() => requestAnimationFrame(finish), HOLD);
  const looking = setInterval(look, LOOKS_EVERY);

  function end() {
    over.abort();
    changes.disconnect();
    clearTimeout(timer);
    clearInterval(looking);
    button.classList.remove("held");
  }
  /** @param {PointerEvent} moved */
  function move(moved) {
    if (moved.pointerId !== event.pointerId) return;
    ({ clientX: x, clientY: y } = moved);
    look();
  }
  // A touch stays with the element it began on, wherever the finger goes, unless it is let go.
  const touched = event.target;
  if (touched instanceof Element && touched.hasPointerCapture(event.pointerId))
    touched.releasePointerCapture(event.pointerId);
  button.classList.add("held");
  changes.observe(button, { attributes: true, attributeFilter: ["aria-disabled"] });
  const options = { capture: true, signal: over.signal };
  document.addEventListener("pointermove", move, options);
  button.addEventListener("pointerleave", end, options);
  // A field that loses the focus to this button is no interruption; the window that loses it is.
  // A busy page may hear that the finger was lifted before its timer; how long it was held, the events say.
  /** @param {Event} ended */
  function other(ended) {
    if (ended.type === "blur" && ended.target !== window) return;
    const lifted = ended instanceof PointerEvent && ended.type === "pointerup";
    const held = lifted && ended.pointerId === event.pointerId && ended.timeStamp - event.timeStamp >= HOLD;
    if (held) finish();
    else end();
  }
  for (const kind of ENDS) window.addEventListener(kind, other, options);
}

/** @param {Element} button */
const isAsleep = (button) => button.getAttribute("aria-disabled") === "true";

/**
 * @param {Element} button
 * @param {number} x
 * @param {number} y
 */
const isUnder = (button, x, y) => button.isConnected && button.contains(document.elementFromPoint(x, y));

/**
 * Where the button stands on the screen; a button that was turned away or moved is another place to press.
 *
 * @param {Element} button
 */
function placeOf(button) {
  const { left, top, width, height } = button.getBoundingClientRect();
  return [left, top, width, height].map(Math.round).join(" ");
}

/**
 * Whether the person typed the word `allow`, to give this answer to this call.
 *
 * @param {string} answer
 * @param {Child} call
 * @returns {Promise<boolean>}
 */
export function typedAllow(answer, call) {
  return new Promise((resolve) => {
    const input = h("input", {
      id: "typed",
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
    });
    const yes = h("button", { class: "solid", value: "yes", "aria-disabled": "true" }, "Allow");
    /** @type {HTMLDialogElement} */
    const dialog = h("dialog", { "aria-labelledby": "typed-title" });
    const no = h("button", { type: "button", class: "plain", onclick: () => dialog.close("no") }, "Cancel");
    const form = h(
      "form",
      { method: "dialog" },
      h("h2", { id: "typed-title" }, "This is high risk"),
      h("p", {}, h("strong", {}, `${answer}: `), call),
      h("label", { for: "typed" }, "Type ", h("kbd", {}, "allow"), " to let it run."),
      input,
      h("div", { class: "row" }, no, yes),
    );
    dialog.append(form);
    const right = () => input.value.trim().toLowerCase() === "allow";
    input.addEventListener("input", () => yes.setAttribute("aria-disabled", String(!right())));
    form.addEventListener("submit", (event) => {
      if (!right()) event.preventDefault();
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes" && right());
    });
    document.body.append(dialog);
    dialog.showModal();
    input.focus();
  });
}
