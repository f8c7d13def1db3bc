// The list of questions that wait: one row each, and on a phone the way from one to the next.

import { h, query, queryAll } from "../lib/dom.js";
import { exactJson } from "../lib/exact.js";
import { chevron, risk } from "../lib/parts.js";
import { clock, now } from "../lib/time.js";
import { inline, visible } from "../lib/visible.js";
import { ending } from "./card.js";
import { mayJoin, sharedBy } from "./groups.js";

/** @import {Child} from "../lib/dom.js" */
/** @import {Group} from "./groups.js" */
/** @import {Question} from "./questions.js" */

/**
 * A question in the list. One that is over says how it ended, and by whose word; a changed one says so.
 *
 * @param {Question} question
 * @param {{ chosen: string | null, choose: (id: string) => void, changed: boolean, live: boolean }} state
 */
export function row(question, { chosen, choose, changed, live }) {
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
      [question.agent, where, question.command !== null && question.tool, mark]
        .filter((one) => one)
        .map((one) => visible(one || ""))
        .join(" · "),
    ),
    changed && h("strong", { class: "from changed" }, "changed, not sent"),
    over ? h("span", { class: "from" }, ending(question)) : waits(question, live),
  );
  if (question.id === chosen) button.setAttribute("aria-current", "true");
  return h("li", {}, button);
}

/**
 * The row of a group: how many are alike, and of what kind. Opened, it shows each in a row of its own.
 *
 * @param {Group} group
 * @param {object} state
 * @param {boolean} state.current
 * @param {boolean} state.live
 * @param {boolean} state.opened
 * @param {() => void} state.toggle
 * @param {() => void} state.together
 * @param {(question: Question) => HTMLElement} state.row
 */
export function groupRow({ kind, members }, { current, live, opened, toggle, together, row: rowOf }) {
  const open = members.filter((one) => one.state === "open");
  const [first] = open.length ? open : members;
  if (!first) return null;
  const where = [...new Set(members.map((one) => one.folder.split("/").filter(Boolean).pop()))];
  const from = [first.agent, where.length === 1 && where[0]].filter(Boolean);
  const button = h(
    "button",
    { type: "button", class: "group", "aria-expanded": String(opened), onclick: toggle, data: { kind } },
    risk(first.risk),
    h("span", { class: "call" }, chevron(), `${open.length} like this: `, inline(sharedBy(members), 80)),
    h("span", { class: "from" }, from.map((one) => visible(one || "")).join(" · ")),
    open.length ? waits(first, live) : h("span", { class: "from" }, "over"),
  );
  if (current) button.setAttribute("aria-current", "true");
  if (!opened) return h("li", {}, button);
  const several = members.filter(mayJoin).length > 1;
  const act = { type: "button", class: "plain together", onclick: together, data: { together: kind } };
  return h("li", {}, button, several && h("button", act, "Answer several…"), h("ul", {}, members.map(rowOf)));
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
 * @param {{ move: (step: number) => unknown, toList: () => unknown }} acts
 */
export function pager(ids, chosen, more, { move, toList }) {
  const at = ids.indexOf(chosen ?? "");
  /**
   * @param {string} name
   * @param {number} by
   */
  const step = (name, by) => {
    const off = String(!ids[at + by] && !(by > 0 && more));
    const data = { step: by };
    return h(
      "button",
      { type: "button", class: "plain", "aria-disabled": off, onclick: () => move(by), data },
      name,
    );
  };
  const told = `${at + 1} of ${ids.length}${more ? "+" : ""}`;
  const list = { type: "button", class: "plain", onclick: toList, "aria-label": `${told}: back to the list` };
  const place = ids.length > 1 ? h("button", list, `☰ ${told}`) : h("span", {}, told);
  return h(
    "nav",
    { class: "pager", "aria-label": "Between questions" },
    step("‹ previous", -1),
    place,
    step("next ›", 1),
  );
}

/**
 * How long ago it was asked; that the agent waits, or has ceased to, only where that is known: while the line holds.
 *
 * @param {Question} question
 * @param {boolean} live
 */
function waits(question, live) {
  const since = h("span", { class: "since" }, clock(now() - question.opened_at));
  /** @type {Record<string, Child[]>} */
  const known = { true: ["agent waits ", since], false: ["agent left, asked ", since, " ago"] };
  const told = (live && known[String(question.waiting)]) || ["asked ", since, " ago"];
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
