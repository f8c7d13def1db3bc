// One proposal, whole: what would change, why and by whom, what it loosens and tightens, and the way back.

import { h, show } from "../lib/dom.js";
import { time } from "../lib/parts.js";
import { span } from "../lib/time.js";
import { foreign, inline, linePieces, visible } from "../lib/visible.js";
import { follow } from "../question/reading.js";
import { bar } from "./bar.js";
import { counted, diff } from "./diff.js";
import { nextStep, STILL, stateMark, timeBar } from "./states.js";

/** @import {Child} from "../lib/dom.js" */
/** @import {Act, Bar} from "./bar.js" */
/** @import {Proposed} from "./states.js" */

/** @type {Record<string, string>} */
const CHANNELS = {
  operator: "by an operator, at a terminal, on a page or over HTTP",
  trusted_channel: "through the trusted channel, as a signed message",
};

/**
 * The card of a proposal. `does` carries an act out; `live` says whether anything can be sent, `sent` what is under way.
 * `news` is what became of it while it was looked at.
 *
 * @param {Proposed} one
 * @param {{ does: (act: Act, why: string) => unknown, live: () => boolean, sent: () => Act | null, news?: string }} means
 */
export function card(one, { does, live, sent, news = "" }) {
  const { proposal } = one;
  const state = h("span", { data: { read: "no" } });
  const next = h("div", { class: "next-step", data: { read: "no" } });
  const body = h("div", {
    class: "card-body",
    tabindex: "0",
    role: "region",
    "aria-label": "What would change",
  });
  const reading = follow(body, () => deciding?.draw());
  /** @type {Bar} */
  const deciding = bar(one, { does, live, sent, reading });
  const root = h("article", {
    class: `card ${one.effect?.loosens ? "high" : "moderate"}`,
    "aria-label": `Proposal ${visible(proposal.id)}`,
  });
  let told = "";

  function tick() {
    const [words, still] = [nextStep(one), one.clock_trusted || !proposal.cooling ? "" : STILL];
    const now = JSON.stringify([words, still, Math.floor(Date.now() / 10_000)]);
    if (now !== told) {
      told = now;
      show(state, stateMark(one));
      const isOpen = ["proposed", "approved", "applied"].includes(proposal.state);
      show(
        next,
        h("p", { class: "big" }, words),
        timeBar(one),
        isOpen && still && h("p", { class: "instead" }, still),
      );
    }
    deciding?.draw();
    reading.look();
  }

  show(
    body,
    news && h("p", { class: "ended", role: "status", data: { read: "no" } }, news),
    h("header", { class: "card-head", data: { read: "no" } }, state, origin(one)),
    headline(one),
    next,
    hindrance(one),
    effect(one),
    proposal.reason && [
      h("h2", {}, "Reason given"),
      foreign(proposal.reason, { label: "Reason given", fold: Infinity }),
    ],
    one.change && [h("h2", {}, "The change"), diff(one.change, "The change")],
    wayBack(one),
    facts(one),
    identifiers(one),
  );
  show(root, body, deciding?.element);
  tick();
  return { element: root, body, bar: deciding, tick, one };
}

/** @param {Proposed} one */
function origin({ proposal }) {
  if (proposal.state === "void") return null;
  const through = proposal.origin === "trusted_channel" ? " through the trusted channel" : "";
  return h(
    "span",
    { class: "small" },
    "proposed by ",
    inline(proposal.by, 60),
    `${through}, `,
    time(proposal.proposed_at),
  );
}

/** @param {Proposed} one */
function headline({ proposal, change }) {
  if (!change) return h("h2", { class: "headline" }, "A proposal that cannot be shown");
  const verb = change.creates ? "Create " : change.deletes ? "Delete " : "Change ";
  return h(
    "h2",
    { class: "headline" },
    verb,
    inline(`${proposal.root}/${proposal.path}`, 2000),
    " ",
    counted(change),
  );
}

/**
 * Why its next step cannot be done, if it cannot.
 *
 * @param {Proposed} one
 */
function hindrance(one) {
  if (one.fits) return null;
  const what = one.proposal.state === "applied" ? "undone" : "applied";
  return h("p", { class: "raised" }, `It cannot be ${what} now: ${visible(one.hindrance)}.`);
}

/**
 * What a change of the policy loosens and tightens, the former first.
 *
 * @param {Proposed} one
 * @returns {Child}
 */
function effect({ effect: found, proposal, fits }) {
  if (!found) {
    const unknown = proposal.root === "policy" && proposal.state === "proposed" && fits;
    return unknown ? h("p", { class: "raised" }, "What it loosens is unknown.") : null;
  }
  /** @param {string} kind */
  const item = (kind) => (/** @type {string} */ text) =>
    h("li", { class: kind }, h("strong", {}, kind), " ", linePieces(text));
  const undone = proposal.state === "applied";
  const name = undone ? "What undoing it does to your policy" : "What it does to your policy";
  const lines = [...found.loosened.map(item("loosened")), ...found.tightened.map(item("tightened"))];
  const sum = found.loosens
    ? "It loosens your policy."
    : lines.length
      ? "It only tightens your policy."
      : "It decides everything the same way.";
  return [
    h("h2", {}, name),
    h("p", { class: found.loosens ? "sum loosens" : "sum" }, sum),
    lines.length ? h("ul", { class: "changes", data: { read: "parts" } }, lines) : null,
  ];
}

/**
 * @param {Proposed} one
 * @returns {Child}
 */
function wayBack({ proposal, change, undo_change: back }) {
  if (!change) return null;
  const how = back
    ? "These lines lead back:"
    : "The same lines the other way round: the file is then as it was before.";
  return [
    h("h2", {}, "Way back"),
    h("p", {}, how),
    back && diff(back, "Way back"),
    windowNote(proposal.undo_window),
  ];
}

/** @param {number} seconds */
const windowNote = (seconds) =>
  h(
    "p",
    { class: "small" },
    seconds > 0
      ? `It can be undone for ${span(seconds)} after it was applied, while nobody has changed the file since.`
      : "It cannot be undone.",
  );

/** @param {Proposed} one */
function facts({ proposal }) {
  /** @type {[name: string, value: Child][]} */
  const all = [
    ["Proposed by", inline(proposal.by, 120)],
    ["Channel", CHANNELS[proposal.origin] ?? visible(proposal.origin)],
    ["When", proposal.proposed_at ? time(proposal.proposed_at) : null],
    ["As", proposal.operation && inline(proposal.operation, 120)],
    ["Cools for", proposal.cooling ? span(proposal.cooling) : "no time: applied once it is approved"],
    [
      "Decided by",
      proposal.decided_by && [
        inline(proposal.decided_by, 120),
        ", ",
        proposal.decided_at && time(proposal.decided_at),
      ],
    ],
    ["Applied", proposal.applied_at && time(proposal.applied_at)],
  ];
  if (proposal.state === "void") return null;
  const rows = all
    .filter(([, value]) => value)
    .map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]);
  return [h("h2", {}, "Who and when"), h("dl", { class: "facts" }, rows)];
}

/** @param {Proposed} one */
function identifiers({ proposal, digest }) {
  /** @type {[name: string, value: string | null][]} */
  const all = [
    ["Proposal", proposal.id],
    ["Digest of what is approved", digest],
    ["Folder", proposal.folder?.path ?? null],
    ["File before", proposal.before ?? "no file"],
    ["File after", proposal.after ?? "no file"],
  ];
  const rows = all.map(([name, value]) => value && [h("dt", {}, name), h("dd", {}, inline(value, 2000))]);
  const kind = { class: "small", data: { read: "no" } };
  return h("details", kind, h("summary", {}, "Identifiers"), h("dl", { class: "facts" }, rows));
}
