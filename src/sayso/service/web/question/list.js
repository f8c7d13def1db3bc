// The list of questions that wait: one row each, and on a phone the way from one to the next.

import { h, query, queryAll } from "../lib/dom.js";
import { exactJson } from "../lib/exact.js";
import { risk } from "../lib/parts.js";
import { clock, now } from "../lib/time.js";
import { inline, visible } from "../lib/visible.js";
import { ending } from "./card.js";

/** @import {Child} from "../lib/dom.js" */
/** @import {Question} from "./questions.js" */

/**
 * A question in the list. One that is over says how it ended, and by whose word; a changed one says so.
 *
 * @param {Question} question
 * @param {{ chosen: string | null, choose: (id: string) => void, changed: boolean }} state
 */
export function row(question, { chosen, choose, changed }) {
  const over = question.state !== "open";
  const where = question.folder.split("/").filter(Boolean).pop();
  // A title that leaves something out ends in a mark; it stands where no line is cut.
  const [, text = "", mark] = /^(.*?)(?: ·([0-9a-f]{8}))?$/su.exec(question.title) ?? [];
  const button = h(
    "button",
    {
      type: "button",
      class: over ? "over" : "",
      onclick: () => choose(question.id),
      data: { id: question.id },
    },
    risk(question.risk),
    h("span", { class: "call" }, inline(text, 140)),
    h(
      "span",
      { class: "from" },
      [question.agent, where, mark]
        .filter((one) => one)
        .map((one) => visible(one ?? ""))
        .join(" · "),
    ),
    changed && h("strong", { class: "from changed" }, "changed, not sent"),
    over ? h("span", { class: "from" }, ending(question)) : waits(question),
  );
  if (question.id === chosen) button.setAttribute("aria-current", "true");
  return h("li", {}, button);
}

/** @param {() => unknown} read */
export function moreRows(read) {
  return h(
    "li",
    {},
    h("button", { type: "button", class: "more-rows", onclick: read }, "Show the next questions"),
  );
}

/**
 * The clocks of the list go on.
 *
 * @param {Element} list
 */
export function tick(list) {
  for (const one of queryAll(list, ".clock")) {
    const since = query(one, ".since");
    if (since) since.textContent = clock(now() - Number(one.dataset.since));
  }
}

/**
 * @param {string[]} ids
 * @param {string | null} chosen
 * @param {boolean} more
 * @param {(step: number) => unknown} move
 */
export function pager(ids, chosen, more, move) {
  const at = ids.indexOf(chosen ?? "");
  /**
   * @param {string} name
   * @param {number} by
   */
  const step = (name, by) => {
    const off = String(!ids[at + by] && !(by > 0 && more));
    return h(
      "button",
      { type: "button", class: "plain", "aria-disabled": off, onclick: () => move(by) },
      name,
    );
  };
  const place = h("span", {}, `${at + 1} of ${ids.length}${more ? "+" : ""}`);
  return h(
    "nav",
    { class: "pager", "aria-label": "Between questions" },
    step("‹ previous", -1),
    place,
    step("next ›", 1),
  );
}

/**
 * How long ago it was asked; that the agent waits, or has ceased to, only where that is known.
 *
 * @param {Question} question
 */
function waits(question) {
  const since = h("span", { class: "since" }, clock(now() - question.opened_at));
  /** @type {Record<string, Child[]>} */
  const known = { true: ["agent waits ", since], false: ["agent left, asked ", since, " ago"] };
  const told = known[String(question.waiting)] ?? ["asked ", since, " ago"];
  return h("span", { class: "from clock", data: { since: question.opened_at } }, told);
}

/**
 * Those whose agent waits come first, then in the order they were asked. Nobody's place depends on the clock.
 *
 * @param {Question[]} questions
 */
export function ordered(questions) {
  /** @param {Question} one */
  const rank = (one) => (one.state === "open" && one.waiting === true ? 0 : 1);
  return [...questions].sort((one, other) => rank(one) - rank(other));
}

/**
 * Whether this question holds every word of the filter, wherever a person would look for it.
 *
 * @param {Question} question
 * @param {string[]} words
 */
export function fits(question, words) {
  const { title, agent, tool, folder, risk: level, command, items, why } = question;
  const places = [title, agent, tool, folder, level, command ?? "", why, exactJson(question.arguments)];
  const text = [...places, ...items.map((item) => item.operation)].join("\n").toLowerCase();
  return words.every((word) => text.includes(word));
}
