// How far a proposal has come, in words, with the time that matters in it.

import { h } from "../lib/dom.js";
import { moment, now, span } from "../lib/time.js";
import { visible } from "../lib/visible.js";

/** @import {Child} from "../lib/dom.js" */

/** @typedef {Sayso.ProposalView & { readAt: number }} Proposed */

const OPEN = ["proposed", "approved", "applying", "undoing", "applied"];

/** @param {Proposed} one */
export const isPast = ({ proposal }) => !OPEN.includes(proposal.state);

/** @type {Record<string, [word: string, kind: string]>} */
const WORDS = {
  proposed: ["waits for you", "ask"],
  approved: ["cooling", "ask"],
  applying: ["being applied", "ask"],
  undoing: ["being undone", "ask"],
  applied: ["applied", "allow"],
  settled: ["applied for good", "allow"],
  undone: ["undone", "deny"],
  rejected: ["rejected", "deny"],
  withdrawn: ["withdrawn", "deny"],
  failed: ["failed", "deny"],
  void: ["void", "deny"],
};

/**
 * The state in a word.
 *
 * @param {Proposed} one
 */
export function stateMark(one) {
  const { state, note } = one.proposal;
  const [word, kind] = WORDS[state] ?? [visible(state), "deny"];
  const stuck = state === "approved" && note;
  const due = state === "approved" && !note && coolsIn(one) <= 0;
  return h(
    "span",
    { class: `verdict ${stuck ? "deny" : kind}` },
    stuck ? "could not be applied" : due ? "due" : word,
  );
}

/**
 * Seconds until it may be applied, by what the service said last. While the clock is not trusted they stand still.
 *
 * @param {Proposed} one
 */
export const coolsIn = (one) => left(one, one.cools_in);

/** @param {Proposed} one */
export const undoFor = (one) => left(one, one.undo_for);

/**
 * @param {Proposed} one
 * @param {number} seconds
 */
function left(one, seconds) {
  if (seconds <= 0) return 0;
  return one.clock_trusted ? Math.max(0, seconds - (now() - one.readAt)) : seconds;
}

export const STILL =
  "The clock of this machine is not trusted: cooling is paused until you confirm it (sayso store clock).";

/**
 * What comes next, in a sentence.
 *
 * @param {Proposed} one
 * @returns {string}
 */
export function nextStep(one) {
  const { state, note, cooling, decided_by: by } = one.proposal;
  const rest = coolsIn(one);
  switch (state) {
    case "proposed":
      if (note) return `It was approved before: ${visible(note)}. Look at it again, then decide.`;
      if (!cooling) return "It does not have to cool: once approved, the service applies it within a minute.";
      if (rest <= 0) return "It has cooled: once approved, the service applies it within a minute.";
      return `If it is approved, it takes effect ${whenever(one, rest)}.`;
    case "approved":
      if (note) return `It could not be applied: ${visible(note)}. The file was left as it is.`;
      if (rest <= 0) return "It has cooled. The service applies it within a minute.";
      return `Takes effect ${whenever(one, rest)}, unless it is withdrawn.`;
    case "applying":
      return "It is being applied now.";
    case "undoing":
      return "It is being undone now.";
    case "applied": {
      const why = note ? ` It could not be undone: ${visible(note)}.` : "";
      return `Applied: the file was changed. It can be undone for another ${span(undoFor(one))}.${why}`;
    }
    case "settled":
      return "Applied for good: its time to be undone is over. Propose the opposite change instead.";
    case "undone":
      return "It was applied, and then undone: the file is as it was before.";
    case "rejected":
    case "withdrawn":
      return `It was ${state} by ${by ? visible(by) : "somebody"}${note ? `: ${visible(note)}` : ""}. Nothing was changed.`;
    case "failed":
      return `Failed: ${visible(note) || "it could not be carried out"}.`;
    default:
      return `It counts for nothing: ${visible(note) || "its row was changed outside Sayso"}.`;
  }
}

/**
 * "at 14:32 at the earliest, in 20 min"; without a clock that is trusted, only how much is left.
 *
 * @param {Proposed} one
 * @param {number} rest
 */
function whenever(one, rest) {
  if (!one.clock_trusted) return `after another ${span(rest)}`;
  return `at ${moment(now() + rest).replace(/:\d\d$/, "")} at the earliest, in ${span(rest)}`;
}

/**
 * The time that is left as a bar; nothing where no time counts.
 *
 * @param {Proposed} one
 * @returns {Child}
 */
export function timeBar(one) {
  const { state, cooling, undo_window: window } = one.proposal;
  if (state === "applied") return bar(window, undoFor(one), "Time left to undo it");
  const waits = (state === "approved" || state === "proposed") && cooling > 0;
  return waits ? bar(cooling, coolsIn(one), "Time until it may take effect") : null;
}

/**
 * @param {number} whole
 * @param {number} rest
 * @param {string} label
 */
const bar = (whole, rest, label) =>
  h("progress", { max: Math.max(1, whole), value: Math.min(rest, whole), "aria-label": label });
