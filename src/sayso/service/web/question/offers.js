// Wider answers, each with what it covers; and for several operations an answer to each.

import { h, queryAll, show } from "../lib/dom.js";
import { visible } from "../lib/visible.js";

/** @import {Give} from "./bar.js" */
/** @import {Question} from "./questions.js" */

/** @type {Record<string, string>} */
export const NAMES = {
  once: "Allow once",
  task: "For this task",
  temporary: "For 15 minutes",
  always: "Always, in this session",
  remember: "Allow and remember the tool",
};

/**
 * What the words of an offer repeat of the name on its button, and what is left of that.
 *
 * @type {Record<string, [said: string, left: string]>}
 */
const SAID = {
  task: ["for this task: ", ""],
  temporary: ["for 15 minutes: ", ""],
  always: ["always (this session, at most 24 h): ", "at most 24 h: "],
};

/**
 * Wider answers, each with what it covers, and what it would have covered lately.
 *
 * @param {Question} question
 * @param {(answer: string, name: string, kind: string) => HTMLElement} allow
 */
export function offers(question, allow) {
  const wide = question.offers.filter((offer) => offer.answer !== "deny" && offer.answer !== "once");
  if (!wide.length)
    return h("p", { class: "small" }, "This can only be allowed once: nothing wider is offered for it.");
  return h(
    "ul",
    { class: "offers" },
    wide.map((offer) =>
      h("li", {}, allow(offer.answer, NAMES[offer.answer] ?? offer.answer, "outlined"), covers(offer)),
    ),
  );
}

/** @param {Sayso.OfferView} offer */
const covers = (offer) => h("span", { class: "small", data: { covers: offer.answer } }, coverage(offer));

/** @param {Sayso.OfferView} offer */
function coverage(offer) {
  const lately = offer.of_last
    ? ` Would have covered ${offer.would_have_covered} of your last ${offer.of_last} questions.`
    : "";
  const [said, left] = SAID[offer.answer] ?? ["", ""];
  const words = offer.words.startsWith(said) ? left + offer.words.slice(said.length) : offer.words;
  return `${visible(words)}.${lately}`;
}

/**
 * What was read since about each answer, in its place; whether that changed a line.
 *
 * @param {Element} place
 * @param {Question} question
 */
export function tellCoverage(place, question) {
  const lines = [...queryAll(place, "[data-covers]")];
  const stale = lines.filter((line) => {
    const offer = question.offers.find((one) => one.answer === line.dataset.covers);
    if (!offer || line.textContent === coverage(offer)) return false;
    show(line, coverage(offer));
    return true;
  });
  return stale.length > 0;
}

/**
 * For several operations: an answer to each. One refused, and the call is refused.
 *
 * @param {Question} question
 * @param {Give} give
 * @param {(name: string, kind: string, sure: () => unknown) => HTMLElement} yes
 */
export function oneByOne(question, give, yes) {
  if (question.items.length < 2) return null;
  /** @type {Record<string, string>} */
  const chosen = {};
  const send = yes("Give these answers", "solid", () => give({ items: chosen }));
  send.hidden = true;
  const rows = question.items.map((item) => {
    const options = question.offers.map((offer) =>
      h("option", { value: offer.answer }, NAMES[offer.answer] ?? "Deny"),
    );
    const select = h("select", { id: `item-${item.id}` }, h("option", { value: "" }, "choose"), options);
    select.addEventListener("change", () => {
      if (select.value) chosen[item.id] = select.value;
      else delete chosen[item.id];
      send.hidden = Object.keys(chosen).length < question.items.length;
    });
    return h(
      "li",
      {},
      h("label", { for: select.id }, `${item.id}. `, h("code", {}, visible(item.operation))),
      select,
    );
  });
  return [
    h("h2", {}, "One by one"),
    h("p", { class: "small" }, "They are parts of one call: if you refuse one, it does not run."),
    h("ol", { class: "one-by-one" }, rows),
    send,
  ];
}
