// The bar to answer with. Deny and Allow once are always in the same place; whatever is wider is behind "more".
//
// Nothing here allows what was not read: above moderate risk every button that allows says "read on" until the
// whole call was on screen. While the arguments are edited, only the edited call can be allowed.

import { faultIn } from "../lib/api.js";
import { h, show, svg } from "../lib/dom.js";
import { inWords, say } from "../lib/parts.js";
import { inline, told } from "../lib/visible.js";
import { sleeper } from "../lib/wake.js";
import { isClaim } from "./facts.js";
import { askGlassReason } from "./glass.js";
import { HOLD_HINT, holdButton, typedAllow } from "./hold.js";
import { NAMES, offers, oneByOne, tellCoverage } from "./offers.js";

/** @import {Child} from "../lib/dom.js" */
/** @import {EditState} from "./edit.js" */
/** @import {Question} from "./questions.js" */
/** @import {Reading} from "./reading.js" */

/** @typedef {ReturnType<typeof bar>} Bar */

/**
 * Sends an answer. `title` tells the call that runs, if that is not the one that was asked for.
 *
 * @typedef {(given: Sayso.AnswerBody, title?: string) => unknown} Give
 */

/** @type {Record<string, string>} */
export const READ_ON = {
  down: "read on ↓",
  up: "read on ↑",
  left: "read on ←",
  right: "read on →",
  fold: "read on ↓",
  zoomed: "read on: move the page",
  lost: "not all of it shows",
};
export const UNREAD = "Above moderate risk all of it has to be on screen before it can be allowed.";
/** @type {Record<string, string>} */
export const HOW_TO_READ = {
  zoomed: `${UNREAD} Move the zoomed page over all of it, or zoom out.`,
  lost: `${UNREAD} A part of it does not fit here: make the window wider or the text smaller, or answer elsewhere.`,
};
export const EDITING = "Allow the edited call or discard the changes first.";
const NO_YES = "An allow from you does not count";
const NOT_OFFERED = "This question does not offer that answer.";
/** @type {Record<string, string>} */
const UNDER_WAY = { deny: "denying …", items: "answering …" };
const MOST_SPANS = 4;
const EXPLAINS_FOR = 8000;

/**
 * `give` sends an answer, and `sent` is the one under way: until it settles there is no other. `reading` knows what of the card was on screen. `form` gives the edit under way, once
 * something was changed: its risk, why it cannot be allowed yet, and how to allow or discard it.
 *
 * @param {Question} question
 * @param {object} means
 * @param {Give} means.give
 * @param {() => boolean} means.live
 * @param {() => string | null} means.sent
 * @param {() => unknown} means.edit
 * @param {() => unknown} means.why
 * @param {Reading} means.reading
 * @param {() => EditState | null} means.form
 */
export function bar(question, { give, live, sent, edit, why, reading, form }) {
  /** @type {Record<string, string>} */
  const names = isClaim(question) ? { ...NAMES, once: "I wrote this" } : NAMES;
  const offered = () => question.offers.map((offer) => offer.answer); // it changes with the approvals of a team
  const reason = h("input", {
    class: "reason",
    placeholder: "reason for the agent",
    "aria-label": "Reason for the agent",
    maxlength: "2000",
  });
  const hint = h("p", { class: "hint", role: "status" });
  const underWay = h("p", { class: "under-way", "aria-live": "polite" });
  const wider = h("div", { class: "wider", id: "wider", hidden: true });
  const more = button("more", "plain", () => open(Boolean(wider.hidden)));
  more.setAttribute("aria-controls", "wider");
  const no = h("span", { class: "no" }, button("Deny", "outlined deny", deny));
  const extras = h("span", { class: "extras" });
  const yeses = h("span", { class: "yeses" });
  const buttons = h("div", { class: "buttons" }, no, reason, extras, yeses);
  const element = h(
    "footer",
    { class: "bar", "aria-label": "Answer" },
    underWay,
    hint,
    wider,
    spans(question),
    buttons,
  );
  const blocked = () => !live() || sent() !== null;
  const calm = sleeper([no, extras], blocked);
  const careful = sleeper([wider, yeses], blocked);
  let drawn = "";
  let next = ""; // where to read on
  let explained = 0;

  function deny() {
    give({ answer: "deny", ...(reason.value.trim() ? { reason: reason.value.trim() } : {}) });
  }
  const risk = () => form()?.risk ?? question.risk;
  const unread = () => (risk() === "high" ? reading.towards() : "");
  const called = () => told(form()?.title ?? question.title, 200);
  const deliberate = () => risk() === "high" && !(form()?.signed ?? question.signed);
  /**
   * A word about a press that did nothing, for a while; also for those who hear it.
   *
   * @param {Child} text
   */
  function explain(text) {
    clearTimeout(explained);
    show(hint, text);
    explained = setTimeout(() => show(hint), EXPLAINS_FOR);
  }

  /**
   * A button that allows. Until the call was read it leads on; at high risk it wants to be held.
   *
   * @param {string} name
   * @param {string} kind
   * @param {() => unknown} sure
   * @param {{ held?: string }} [options]
   */
  function yes(name, kind, sure, { held = `Hold: ${name}` } = {}) {
    if (next) return button(READ_ON[next] ?? "read on", `${kind} read-on`, readOn);
    const proven = form()?.signed ?? question.signed;
    if (!deliberate()) return button(proven ? [name, passkeySign()] : name, kind, sure);
    const typed = () => typedAllow(name, called());
    return holdButton({ class: kind }, held, {
      sure: () => run(sure),
      short: () => explain(HOLD_HINT),
      typed,
    });
  }
  function readOn() {
    reading.on();
    const still = unread();
    explain(still && (HOW_TO_READ[still] ?? UNREAD));
    drawYes();
  }
  /**
   * @param {string} answer
   * @param {string} name
   * @param {string} kind
   */
  const allow = (answer, name, kind) => {
    const held = name === NAMES.once ? "Hold to allow once" : `Hold: ${name}`;
    return yes(name, kind, () => give({ answer }), { held });
  };
  /** @param {EditState} edited */
  function editYes({ problem, allow: sure, discard }) {
    const name = "Allow the edited call";
    const off = button(name, "solid", () => explain(problem));
    off.dataset.off = "yes";
    const made = problem ? off : yes(name, "solid", sure, { held: "Hold to allow the edited call" });
    return [button("Discard changes", "plain", discard), made];
  }

  /** What can be allowed now. It is drawn again only if that has changed, and then sleeps for a moment. */
  function drawYes() {
    const edited = form();
    const answer = sent();
    const told = answer ? (UNDER_WAY[answer] ?? "allowing …") : "";
    if (underWay.textContent !== told) underWay.textContent = told;
    if (tellCoverage(wider, question)) careful.rest();
    next = edited?.problem ? "" : unread();
    const own = question.approvals?.yours;
    const state = JSON.stringify([
      next,
      risk(),
      deliberate(),
      edited?.problem,
      Boolean(edited),
      answer,
      offered(),
      own,
    ]);
    if (state === drawn) return;
    const focused = yeses.contains(document.activeElement);
    drawn = state;
    if (edited) open(false);
    show(extras, edited ? null : extraButtons());
    show(yeses, edited ? editYes(edited) : yesOf(own ?? null));
    if (!wider.hidden) drawWider();
    careful.rest();
    calm.marked();
    if (focused) /** @type {HTMLElement | null} */ (yeses.lastElementChild)?.focus();
  }
  /**
   * Allow once; or, where an allow of whoever looks would not count, that it does not. They may break the glass, if the
   * policy lets them.
   *
   * @param {Sayso.OwnApproval | null} own
   */
  function yesOf(own) {
    if (offered().includes("once")) return allow("once", names.once ?? "", "solid allow");
    if (own?.glass) return button("Break the glass…", "outlined deny", breakGlass);
    return own && h("span", { class: "small no-yes" }, `${NO_YES}.`);
  }
  async function breakGlass() {
    if (next) return readOn();
    const reason = await askGlassReason(called());
    if (reason) await give({ answer: "once", break_glass: true, reason });
  }
  const extraButtons = () => [
    opener("Why", "why", why),
    question.editing && opener("Edit…", "edit", edit),
    more,
  ];
  function drawWider() {
    show(wider, offers(question, allow), oneByOne(question, give, yes));
  }
  /** @param {boolean} wanted */
  function open(wanted) {
    if (wider.hidden === !wanted && more.hasAttribute("aria-expanded")) return;
    wider.hidden = !wanted;
    element.classList.toggle("open", wanted);
    more.setAttribute("aria-expanded", String(wanted));
    if (wanted) drawWider();
    careful.rest();
  }
  /**
   * The same from the keyboard.
   *
   * @param {string} answer
   */
  async function byKey(answer) {
    if (answer === "deny") {
      if (calm.awake()) deny();
      return;
    }
    const own = question.approvals?.yours;
    if (own && !own.counts) return explain(`${NO_YES}: ${own.why_not}.`);
    if (!careful.awake()) return;
    if (!offered().includes(answer)) return explain(NOT_OFFERED);
    if (form()) return explain(EDITING);
    if (unread()) return readOn();
    if (!deliberate() || (await typedAllow(names[answer] ?? answer, called()))) await give({ answer });
  }
  function rest() {
    drawYes();
    calm.rest();
    careful.rest();
  }
  /** Close what was opened here; whether there was anything to close. */
  function close() {
    if (wider.hidden) return false;
    open(false);
    more.focus();
    return true;
  }

  open(false);
  drawYes();
  return { element, byKey, rest, close, explain, draw: drawYes };
}

/**
 * @param {string} name
 * @param {string} what
 * @param {() => unknown} does
 */
function opener(name, what, does) {
  const made = button(name, "plain", does);
  made.dataset.opens = what;
  return made;
}

/**
 * The parts that made it what is asked, always beside the buttons.
 *
 * @param {Question} question
 */
function spans({ because = [] }) {
  const parts = [...new Set(because.map((one) => one.text))].filter(Boolean);
  parts.sort((one, other) => one.length - other.length); // the most exact first, the whole line last
  if (!parts.length) return null;
  const rest = parts.length - MOST_SPANS;
  return h(
    "p",
    { class: "spans" },
    h("span", { class: "small" }, "Marked: "),
    parts.slice(0, MOST_SPANS).map((text) => [h("strong", { class: "span" }, inline(text, 120)), " "]),
    rest > 0 && h("span", { class: "small" }, `and ${rest} more`),
  );
}

const KEY =
  "M11 1a4 4 0 0 0-3.9 5L1 12.1V15h3v-2h2v-2h1.9l1-1A4 4 0 1 0 11 1zm1 2.5a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3z";

/** Allowing it asks for a passkey: a key, and the word for those who hear it. */
function passkeySign() {
  const sign = svg(
    "svg",
    { viewBox: "0 0 16 16", class: "passkey", "aria-hidden": "true" },
    svg("path", { d: KEY }),
  );
  return [sign, h("span", { class: "hidden" }, " with a passkey")];
}

/**
 * @param {Child} name
 * @param {string} kind
 * @param {() => unknown} does
 */
function button(name, kind, does) {
  return h("button", { type: "button", class: kind, onclick: () => run(does) }, name);
}

/** @param {() => unknown} does */
async function run(does) {
  try {
    await does();
  } catch (thrown) {
    say(["That failed: ", inWords(faultIn(thrown))], "bad");
  }
}
