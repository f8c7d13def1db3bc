// One decision of the past, opened: what was recorded of it, and apart from that what would be decided now.

import { faultIn, get } from "../lib/api.js";
import { h, show } from "../lib/dom.js";
import { failed, loading, proof, risk, table, time, verdict } from "../lib/parts.js";
import { capital, inline, visible } from "../lib/visible.js";
import { ANSWERED, SINCE, STEPS } from "../lib/words.js";
import { whatRuns } from "../question/shown.js";

/** @import {Child} from "../lib/dom.js" */
/** @import {Column} from "../lib/parts.js" */

/** @type {Column[]} */
const COLUMNS = [
  ["Operation", "wide"],
  ["Risk", "bare"],
  ["Weight", ""],
  ["Result", "bare"],
  ["Rule", ""],
  ["Why", "across"],
];
const SHORT = 12;

/**
 * Fill this place with all that is known of the decision in this row of the history.
 *
 * @param {Element} place
 * @param {Sayso.HistoryEntry} one
 * @returns {Promise<void>}
 */
export async function openPast(place, one) {
  show(place, loading("the decision"));
  try {
    show(place, whole(await get(`/v1/history/${one.seq}`, { stream: one.stream })));
  } catch (thrown) {
    const problem = faultIn(thrown);
    if (problem.status !== 401)
      show(
        place,
        failed(problem, () => openPast(place, one)),
      );
  }
}

/** @param {Sayso.DecisionRecord} past */
function whole(past) {
  return h(
    "div",
    { class: "past" },
    ran(past),
    h("section", {}, h("h2", {}, "What happened"), story(past.decision)),
    h("section", {}, h("h2", {}, "As it was recorded"), facts(past), ruled(past), receipt(past.decision)),
    h("section", { class: "again" }, h("h2", {}, decidedNow(past)), again(past)),
  );
}

/**
 * Which call is decided again: after an edit there are two.
 *
 * @param {Sayso.DecisionRecord} past
 */
const decidedNow = ({ decision }) =>
  decision.edited_digest ? "The call as it was asked for, decided now" : "The same call, decided now";

/**
 * @param {Sayso.DecisionRecord} past
 * @returns {Child}
 */
function ran({ decision, because }) {
  if (!decision.call)
    return h("p", { class: "small" }, "What would have run was erased, or is no longer kept.");
  return whatRuns({ ...callIn(decision.call), because });
}

/**
 * The command and the arguments of a call as it is kept.
 *
 * @param {Record<string, Sayso.Json>} call
 */
function callIn({ command, arguments: given }) {
  return {
    command: typeof command === "string" ? command : null,
    arguments: given instanceof Object && !Array.isArray(given) ? given : {},
  };
}

/**
 * Asked, edited, answered, started, ended: one line each, with its time, and by whom.
 *
 * @param {Sayso.HistoryEntry} decision
 */
function story({ steps }) {
  const lines = steps.map((step) =>
    h(
      "li",
      {},
      h("span", { class: "at" }, step.at === null ? "" : time(step.at)),
      h("div", {}, h("strong", {}, told(step)), step.by && ` by ${visible(step.by)}`, why(step), edit(step)),
    ),
  );
  return h("ol", { class: "story" }, lines);
}

/** @param {number} times */
export const triedAgain = (times) => (times === 1 ? "Tried once more" : `Tried ${times} more times`);

/**
 * What happened at this step.
 *
 * @param {Sayso.StoryStep} step
 */
function told({ what, answer, state, times }) {
  if (what === "repeated") return triedAgain(times);
  if (what === "ended") return capital(SINCE[state ?? ""] ?? what);
  if (what !== "answered" && what !== "edited") return capital(STEPS[what] ?? what);
  return capital(ANSWERED[answer ?? ""] ?? `answered ${visible(answer ?? "")}`);
}

const OF_OTHERS = new Set(["answered", "edited", "ended"]);

/**
 * Why: the words of a person or a program are quoted, those of the policy are our own.
 *
 * @param {Sayso.StoryStep} step
 * @returns {Child}
 */
function why({ what, reason }) {
  if (!reason) return null;
  return [": ", OF_OTHERS.has(what) ? inline(reason, 500) : visible(reason)];
}

/**
 * What an edit changed: the call as it was asked for, and as it was allowed.
 *
 * @param {Sayso.StoryStep} step
 */
function edit({ before, after }) {
  if (!before || !after) return null;
  /**
   * @param {string} name
   * @param {Record<string, Sayso.Json>} call
   */
  const shown = (name, call) => [h("h3", {}, name), whatRuns(callIn(call))];
  return h("div", { class: "edit" }, shown("Before", before), shown("After", after));
}

/** @param {Sayso.DecisionRecord} past */
function facts(past) {
  const { decision: one } = past;
  /** @type {[name: string, value: Child][]} */
  const all = [
    ["Result", [verdict(one.verdict), ` by the rule ${visible(one.rule)}`]],
    ["Why", visible(one.reason)],
    ["Consent used", past.grants.length ? past.grants.map(consent) : null],
    ["Came from", past.origin && visible(past.origin.replaceAll("_", " "))],
    ["The call now", past.state && visible(SINCE[past.state] ?? past.state)],
    ["Policy", policy(past)],
    ["Session", inline(one.session, 400)],
    ["Question", one.question && inline(one.question, 400)],
    ["Call", past.call && inline(past.call, 400)],
    [one.edited_digest ? "Digest, as asked for" : "Digest", inline(one.digest, 400)],
    ["Digest, as edited", one.edited_digest && inline(one.edited_digest, 400)],
    ["Entry", `${visible(one.stream)} ${one.seq}`],
  ];
  const rows = all.filter(([, value]) => value);
  return h(
    "dl",
    { class: "facts" },
    rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
  );
}

/** @param {Sayso.Consent} one */
const consent = (one) => h("div", {}, visible(one.words ?? "a grant that is no longer kept"));

/**
 * @param {Sayso.DecisionRecord} past
 * @returns {Child}
 */
function policy(past) {
  const then = h("code", { title: past.policy }, past.policy.slice(0, SHORT));
  if (!past.again) return then;
  return [then, past.again.policy === past.policy ? ", still in force" : ", not the one in force now"];
}

/**
 * How each operation was decided then.
 *
 * @param {Sayso.DecisionRecord} past
 */
function ruled(past) {
  if (!past.operations.length)
    return h("p", { class: "small" }, "How each operation was decided by itself is no longer kept.");
  const rows = past.operations.map((one) => [
    h("code", {}, visible(one.operation)),
    risk(one.risk),
    visible(one.weight),
    verdict(one.verdict),
    visible(one.rule),
    visible(one.reason),
  ]);
  return table(`How each operation of entry ${past.decision.seq} was decided`, COLUMNS, rows);
}

/** @param {Sayso.HistoryEntry} one */
const receipt = (one) =>
  one.stream === "main" && proof(one.seq, "Download the proof that this entry is in the trail");

/**
 * @param {Sayso.DecisionRecord} past
 * @returns {Child}
 */
function again({ decision, again: now, again_not: why }) {
  if (!now) return h("p", {}, `It cannot be decided again: ${visible(why ?? "")}.`);
  const same = now.verdict === decision.verdict && now.rule === decision.rule;
  return [
    h(
      "p",
      {},
      "This is not what happened then, but what would be decided now. It changed nothing. ",
      h("strong", {}, same ? "It would be decided the same way: " : "It would be decided differently: "),
      verdict(now.verdict),
      ` by the rule ${visible(now.rule)}: ${visible(now.reason)}.`,
    ),
    now.trace.map((one) => checks(one, now.trace.length === 1)),
  ];
}

/**
 * @param {Sayso.OperationTrace} one
 * @param {boolean} open
 */
function checks(one, open) {
  const name = [h("code", {}, visible(one.operation)), ` (${visible(one.tier)}, ${visible(one.risk)} risk)`];
  const passed = one.checks.map((check) =>
    h(
      "li",
      { class: check.spoke ? "spoke" : "" },
      h("span", { class: "step", "aria-hidden": "true" }, check.spoke ? "●" : "–"),
      h("span", { class: "hidden" }, check.spoke ? "decided: " : "passed: "),
      h("strong", {}, visible(check.rule)),
      h("span", {}, visible(check.why)),
    ),
  );
  const count = `${one.checks.length} ${one.checks.length === 1 ? "check" : "checks"} of `;
  return h(
    "details",
    { open, class: "checks" },
    h("summary", {}, count, name),
    h("ol", { class: "trace" }, passed),
  );
}
