// One decision of the past, opened: what was recorded of it, and apart from that what would be decided now.

import { get } from "../lib/api.js";
import { h, show } from "../lib/dom.js";
import { failed, loading, proof, risk, table, time, verdict } from "../lib/parts.js";
import { inline, visible } from "../lib/visible.js";
import { whatRuns } from "../question/shown.js";

const COLUMNS = [
  ["Operation", "wide"],
  ["Risk", "bare"],
  ["Weight", ""],
  ["Result", "bare"],
  ["Rule", ""],
  ["Why", "across"],
];
const SHORT = 12;

/** How far a call came, where its answer does not say it all. */
export const SINCE = {
  pending: "waits for an answer",
  allowed: "has not started",
  ran_out: "was not started in time",
  taken_back: "was taken back before it started",
  running: "is running",
  waiting: "waits inside",
  succeeded: "ended well",
  failed: "failed",
  ambiguous: "nobody knows how it ended",
};

/** Fill this place with all that is known of the decision in this row of the history. */
export async function openPast(place, one) {
  show(place, loading("the decision"));
  try {
    const path = `/v1/history/${one.seq}`;
    show(place, whole(await get(path, { stream: one.stream })));
  } catch (problem) {
    if (problem.status !== 401)
      show(
        place,
        failed(problem, () => openPast(place, one)),
      );
  }
}

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

/** Which call is decided again: after an edit there are two. */
const decidedNow = ({ decision }) =>
  decision.edited_digest ? "The call as it was asked for, decided now" : "The same call, decided now";

function ran({ decision, because }) {
  if (!decision.call)
    return h("p", { class: "small" }, "What would have run was erased, or is no longer kept.");
  return whatRuns({ command: decision.call.command, arguments: decision.call.arguments ?? {}, because });
}

/** Asked, edited, answered, started, ended: one line each, with its time, and by whom. */
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

const STEPS = {
  asked: () => "Asked",
  edited: () => "Edited and allowed",
  answered: (step) => ANSWERS[step.answer] ?? `Answered ${visible(step.answer ?? "")}`,
  expired: () => "Nobody answered in time",
  cancelled: () => "Taken back",
  allowed: () => "Allowed",
  ran_out: () => "The approval ran out",
  taken_back: () => "The approval was taken back",
  denied: () => "Denied",
  started: () => "Started",
  ended: (step) => ENDS[step.state] ?? "Ended",
};
export const ANSWERS = {
  once: "Allowed once",
  task: "Allowed for this task",
  temporary: "Allowed for 15 minutes",
  always: "Allowed for this session",
  remember: "Allowed and remembered",
  edit: "Edited and allowed",
  deny: "Denied",
};
const ENDS = { succeeded: "Ended well", failed: "Failed", ambiguous: "Nobody knows how it ended" };

const told = (step) => STEPS[step.what](step);
const OF_A_PERSON = new Set(["answered", "edited"]);

/** Why: a person's words are quoted, those of the policy are our own. */
function why({ what, reason }) {
  if (!reason) return null;
  return [": ", OF_A_PERSON.has(what) ? inline(reason, 500) : visible(reason)];
}

/** What an edit changed: the call as it was asked for, and as it was allowed. */
function edit({ before, after }) {
  if (!before || !after) return null;
  const shown = (name, call) => [
    h("h3", {}, name),
    whatRuns({ command: call.command, arguments: call.arguments }),
  ];
  return h("div", { class: "edit" }, shown("Before", before), shown("After", after));
}

function facts(past) {
  const { decision: one } = past;
  const rows = [
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
  ].filter(([, value]) => value);
  return h(
    "dl",
    { class: "facts" },
    rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
  );
}

const consent = (one) => h("div", {}, visible(one.words ?? "a grant that is no longer kept"));

function policy(past) {
  const then = h("code", { title: past.policy }, past.policy.slice(0, SHORT));
  if (!past.again) return then;
  return [then, past.again.policy === past.policy ? ", still in force" : ", not the one in force now"];
}

/** How each operation was decided then. */
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

const receipt = (one) =>
  one.stream === "main" && proof(one.seq, "Download the proof that this entry is in the trail");

function again({ decision, again: now, again_not: why }) {
  if (!now) return h("p", {}, `It cannot be decided again: ${visible(why)}.`);
  const same = now.verdict === decision.verdict && now.rule === decision.rule;
  return [
    h(
      "p",
      {},
      "This is not what happened then, but what would be decided as things stand now. Nothing came of it. ",
      h("strong", {}, same ? "It would be decided alike: " : "It would be decided otherwise: "),
      verdict(now.verdict),
      ` by the rule ${visible(now.rule)}: ${visible(now.reason)}.`,
    ),
    now.trace.map((one) => checks(one, now.trace.length === 1)),
  ];
}

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
