// A deliberate yes: hold the button, or, from the keyboard, type the word.

import { h } from "./dom.js";

export const HOLD = 800;

export const HOLD_HINT = "Hold the button for a second to allow.";

/**
 * A button that acts, by `sure`, only when it is held. Pressed from the keyboard it asks for the word instead, by
 * `typed`; pressed too briefly it calls `short`.
 */
export function holdButton(properties, children, { sure, short, typed }) {
  const button = h("button", { type: "button", ...properties }, h("span", { class: "filling" }), children);
  button.classList.add("hold");
  let timer = 0;
  let held = false;

  function begin(event) {
    if (event.button !== 0 || button.getAttribute("aria-disabled") === "true") return;
    button.classList.add("held");
    held = false;
    timer = setTimeout(() => {
      end();
      held = true;
      sure();
    }, HOLD);
  }
  function end() {
    clearTimeout(timer);
    button.classList.remove("held");
  }
  button.addEventListener("pointerdown", begin);
  for (const kind of ["pointerup", "pointerleave", "pointercancel", "blur"])
    button.addEventListener(kind, end);
  button.addEventListener("contextmenu", (event) => event.preventDefault());
  button.addEventListener("click", async (event) => {
    if (event.detail > 0) return held || short();
    if (await typed()) sure();
  });
  return button;
}

/** Whether the person typed the word `allow`, to give this answer to this call. */
export function typedAllow(answer, call) {
  return new Promise((resolve) => {
    const input = h("input", {
      id: "typed",
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
    });
    const yes = h("button", { class: "solid", value: "yes", "aria-disabled": "true" }, "Allow");
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
    const dialog = h("dialog", { "aria-labelledby": "typed-title" }, form);
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
