// What the recorded past says about the policy: a draft replayed over it, and changes that it speaks for.

import { get, post } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { act, empty, fill, say, sentence, time } from "../lib/parts.js";
import { foreign, inline, visible } from "../lib/visible.js";

/** @import {Child} from "../lib/dom.js" */

/** @type {Record<Sayso.Suggestion["kind"], string>} */
const HEADS = {
  always_approved: "Always approved: could run unasked",
  often_refused: "Often refused: could be blocked",
  never_used: "Never used: could ask again",
};
/** @param {number} value */
const number = (value) => value.toLocaleString("en");
/** @param {number} count */
const times = (count) => (count === 1 ? "once" : `${number(count)} times`);

/** Changes of the policy that the last 30 days speak for, each with its evidence. */
export function suggestions() {
  const found = h("div", { role: "status" });
  const read = () => fill(found, "suggestions", () => get("/v1/policy/suggestions"), draw);
  const look = act("Look for suggestions", { class: "outlined" }, async () => read());
  return h(
    "section",
    { class: "compare", "aria-label": "Suggestions" },
    h("h2", {}, "Suggestions"),
    h(
      "p",
      { class: "small" },
      "What you always approve, never use or often refuse, from the last 30 days. Nothing is applied by itself: " +
        "a proposal still needs your approval, and cools first.",
    ),
    look,
    found,
  );
}

/**
 * @param {Sayso.Suggestion[]} all
 * @returns {Child}
 */
function draw(all) {
  if (!all.length) return empty("Nothing to suggest");
  return h("ul", { class: "changes" }, all.map(suggestion));
}

/** @param {Sayso.Suggestion} one */
function suggestion(one) {
  const propose = one.diff
    ? act("Make a proposal", { class: "solid" }, async () => {
        const made = await post(`/v1/policy/suggestions/${one.id}/proposal`, undefined);
        say(`Filed proposal ${made.id}. Approve it with the other proposals.`);
      })
    : h("p", { class: "small" }, "No proposal: ", sentence(visible(one.why_not)), ".");
  const { agents, people } = one.evidence;
  const asked = agents.length ? `Asked for by ${named(agents)}. ` : "";
  const answered = people.length ? `Answered by ${named(people)}.` : "";
  const who = asked || answered ? h("p", { class: "small" }, asked, answered) : null;
  return h(
    "li",
    { class: one.kind === "always_approved" ? "loosened" : "tightened" },
    h("h3", {}, HEADS[one.kind]),
    h("p", {}, visible(one.words), "."),
    one.effect ? effect(one.effect) : null,
    who,
    one.diff ? h("details", {}, h("summary", {}, "The change"), foreign(one.diff)) : null,
    propose,
  );
}

/** @param {string[]} names */
const named = (names) => names.map(visible).join(", ");

/** @param {Sayso.SuggestionEffect} done */
function effect(done) {
  const rest = done.not_replayed ? `; ${number(done.not_replayed)} cannot be told` : "";
  const text =
    `Of ${number(done.decisions)} recorded decisions it would have loosened ${number(done.loosened)} ` +
    `and tightened ${number(done.tightened)}${rest}.`;
  return h("p", { class: "small" }, text);
}

/**
 * The past under a draft: what would have been decided otherwise, loosened calls first.
 *
 * @param {Sayso.ReplayReport} report
 * @returns {Child}
 */
export function replayed(report) {
  const missed = Object.entries(report.not_replayed);
  const left = missed.length
    ? h(
        "p",
        { class: "small" },
        `Cannot be decided again: ${missed.map(([why, count]) => `${number(count)} (${visible(why)})`).join(", ")}.`,
      )
    : null;
  const lines = [
    ...report.loosened.map((one) => change("loosened", one)),
    ...report.tightened.map((one) => change("tightened", one)),
  ];
  const counted = `${number(report.decisions)} decisions of the last 30 days`;
  if (!lines.length) return [empty(`${counted}: all would have been decided alike`), left];
  return [
    h(
      "p",
      { class: "big" },
      `${counted}: asked ${number(report.before.ask ?? 0)} → ${number(report.after.ask ?? 0)}.`,
    ),
    h("ul", { class: "changes" }, lines),
    left,
  ];
}

/**
 * @param {string} kind
 * @param {Sayso.ReplayedChange} one
 */
function change(kind, one) {
  const examples = one.examples.map((each) =>
    h("li", {}, time(each.at), " ", inline(each.agent, 40), " ", inline(each.title, 120)),
  );
  return h(
    "li",
    { class: kind },
    h("strong", {}, `${kind} ${times(one.times)}`),
    " ",
    h("code", {}, one.operations.map(visible).join(", ")),
    `: ${visible(one.before)} → ${visible(one.after)} (${visible(one.rule_before)} → ${visible(one.rule_after)})`,
    examples.length
      ? h("details", {}, h("summary", {}, "Examples"), h("ul", { class: "plain" }, examples))
      : null,
  );
}
