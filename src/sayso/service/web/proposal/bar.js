// Deciding about a proposal. It is approved only by whoever had all of it on screen, and deliberately: held, typed or
// signed with a passkey. Rejecting and withdrawing are one touch, because they change nothing.

import { h, show } from "../lib/dom.js";
import { inline } from "../lib/visible.js";
import { sleeper } from "../lib/wake.js";
import { READ_ON } from "../question/bar.js";
import { holdButton } from "../question/hold.js";
import { coolsIn } from "./states.js";
import { typedWord } from "./typed.js";

/** @import {Child} from "../lib/dom.js" */
/** @import {Reading} from "../question/reading.js" */
/** @import {Proposed} from "./states.js" */

/** @typedef {"approve" | "reject" | "withdraw" | "apply" | "undo"} Act */

/** @typedef {ReturnType<typeof bar>} Bar */

const UNREAD = "All of it has to be on screen before it can be approved.";
/** @type {Record<string, string>} */
const HOW_TO_READ = {
  zoomed: `${UNREAD} Move the zoomed page over all of it, or zoom out.`,
  lost: `${UNREAD} A part of it does not fit here: make the window wider or the text smaller.`,
};
const EXPLAINS_FOR = 8000;
/** @type {Record<Act, string>} */
const UNDER_WAY = {
  approve: "approving …",
  reject: "rejecting …",
  withdraw: "withdrawing …",
  apply: "applying …",
  undo: "undoing …",
};

/**
 * The bar of a proposal; null if nothing can be decided about it any more. `does` carries one of the acts out, `sent` is
 * the one under way. `reading` knows what of the card was on screen.
 *
 * @param {Proposed} one
 * @param {object} means
 * @param {(act: Act, why: string) => unknown} means.does
 * @param {() => boolean} means.live
 * @param {() => Act | null} means.sent
 * @param {Reading} means.reading
 */
export function bar(one, { does, live, sent, reading }) {
  const { state } = one.proposal;
  if (!["proposed", "approved", "applied"].includes(state)) return null;
  const why = h("input", {
    class: "because",
    placeholder: "reason, for the record",
    "aria-label": "Reason, for the record",
    maxlength: "2000",
  });
  const hint = h("p", { class: "hint", role: "status" });
  const underWay = h("p", { class: "under-way", "aria-live": "polite" });
  const no = h("span", { class: "no" });
  const extras = h("span", { class: "extras" });
  const yeses = h("span", { class: "yeses" });
  const buttons = h("div", { class: "buttons" }, no, state === "applied" ? null : why, extras, yeses);
  const element = h("footer", { class: "bar proposal", "aria-label": "Decide" }, underWay, hint, buttons);
  const blocked = () => !live() || sent() !== null;
  const calm = sleeper([no, extras], blocked);
  const careful = sleeper([yeses], blocked);
  let drawn = "";
  let explained = 0;

  /** @param {Act} act */
  const run = (act) => does(act, why.value.trim());
  /** @param {Child} text */
  function explain(text) {
    clearTimeout(explained);
    show(hint, text);
    explained = setTimeout(() => show(hint), EXPLAINS_FOR);
  }
  /**
   * @param {Child} name
   * @param {string} kind
   * @param {() => unknown} pressed
   */
  const button = (name, kind, pressed) =>
    h("button", { type: "button", class: kind, onclick: pressed }, name);

  /**
   * A button for what changes a file: held, or signed.
   *
   * @param {Act} act
   * @param {string} name
   * @param {string} kind
   */
  function deliberate(act, name, kind) {
    if (one.signed) return button(`${name} with a passkey`, kind, () => run(act));
    return holdButton({ class: kind }, `Hold to ${name.toLowerCase()}`, {
      sure: () => run(act),
      short: () => explain(`Hold the button for a second to ${name.toLowerCase()}.`),
      typed: () => typed(act, name),
    });
  }
  /**
   * @param {Act} act
   * @param {string} name
   */
  const typed = (act, name) => typedWord(act, name, inline(`${one.proposal.root}/${one.proposal.path}`, 200));

  function readOn() {
    reading.on();
    const still = reading.towards();
    explain(still && (HOW_TO_READ[still] ?? UNREAD));
    draw();
  }
  const unread = () => (state === "proposed" ? reading.towards() : "");
  const due = () => state === "approved" && coolsIn(one) <= 0;

  /** What can be done now. It is drawn again only if that has changed, and then sleeps for a moment. */
  function draw() {
    const act = sent();
    const told = act ? UNDER_WAY[act] : "";
    if (underWay.textContent !== told) underWay.textContent = told;
    const next = unread();
    const state_ = JSON.stringify([next, one.signed, one.fits, due(), one.proposal.note, act]);
    if (state_ === drawn) return;
    drawn = state_;
    const focused = yeses.contains(document.activeElement);
    show(no, refusal());
    const own = state === "proposed" && one.proposal.origin === "operator";
    show(extras, own && button("Withdraw", "plain", () => run("withdraw")));
    show(yeses, consent(next));
    calm.rest();
    careful.rest();
    if (focused) /** @type {HTMLElement | null} */ (yeses.lastElementChild)?.focus();
  }
  function refusal() {
    if (state === "proposed") return button("Reject", "outlined deny", () => run("reject"));
    if (state === "approved") return button("Withdraw", "outlined deny", () => run("withdraw"));
    return one.fits ? deliberate("undo", "Undo", "outlined deny") : off("Undo", "outlined deny");
  }
  /** @param {string} next */
  function consent(next) {
    if (state === "applied") return null;
    if (state === "approved")
      return due() && button(one.proposal.note ? "Try again" : "Apply now", "outlined", () => run("apply"));
    if (!one.fits) return off("Approve", "solid");
    if (next) return button(READ_ON[next] ?? "read on", "solid read-on", readOn);
    return deliberate("approve", "Approve", "solid allow");
  }
  /**
   * A button that says why it does nothing.
   *
   * @param {string} name
   * @param {string} kind
   */
  function off(name, kind) {
    const made = button(name, kind, () => explain("It cannot be carried out now; the reason is above."));
    made.dataset.off = "yes";
    return made;
  }
  /**
   * The same from the keyboard.
   *
   * @param {"yes" | "no" | "undo"} key
   */
  async function byKey(key) {
    if (key === "no") {
      if (state !== "applied" && calm.awake()) run(state === "proposed" ? "reject" : "withdraw");
      return;
    }
    const [act, name, fits] =
      key === "undo" ? ["undo", "Undo", "applied"] : ["approve", "Approve", "proposed"];
    if (state !== fits || !(key === "undo" ? calm : careful).awake()) return;
    if (!one.fits) return explain("It cannot be carried out now; the reason is above.");
    if (unread()) return readOn();
    if (one.signed || (await typed(/** @type {Act} */ (act), String(name)))) run(/** @type {Act} */ (act));
  }
  function rest() {
    draw();
    calm.rest();
    careful.rest();
  }

  draw();
  return { element, byKey, rest, draw };
}
