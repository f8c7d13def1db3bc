// Questions alike: from one agent, for one tool, doing the same at the same risk. Where many wait they share a row.
//
// - Questions are grouped from MANY on; a group that is there stays until one of it is left.
// - Nothing that is high, signed, bundled or claimed is answered together with others.

import { isClaim } from "./facts.js";

/** @import {Question} from "./questions.js" */

/** @typedef {{ kind: string, members: Question[] }} Group */

/** @typedef {Question | Group} Entry */

export const MANY = 8;
const ALIKE = 3;

/** @param {Question} question */
export function kindOf({ agent, tool, risk, items }) {
  return JSON.stringify([agent, tool, risk, items.map((item) => item.operation)]);
}

/**
 * Whether this one may be answered together with others like it.
 *
 * @param {Question} question
 */
export function mayJoin(question) {
  const offered = question.offers.map((offer) => offer.answer);
  const plain = question.risk !== "high" && !question.signed && !question.bundle && !isClaim(question);
  return plain && question.state === "open" && question.items.length === 1 && offered.includes("once");
}

/**
 * What these have in common, in a line: their tool, how their command lines begin, and the arguments that are the
 * same in all of them.
 *
 * @param {Question[]} members
 */
export function sharedBy(members) {
  const [first, ...rest] = members;
  if (!first) return "";
  const same = Object.entries(first.arguments).filter(
    ([name, value]) => value !== Object(value) && rest.every((one) => one.arguments[name] === value),
  );
  const shared = same.map(([name, value]) => `${name} ${value}`).join(", ");
  return [first.tool, sharedBeginning(members.map((one) => one.command ?? "")), shared]
    .filter(Boolean)
    .join(" ");
}

/**
 * The words that all these command lines begin with.
 *
 * @param {string[]} lines
 */
function sharedBeginning(lines) {
  const [first = [], ...rest] = lines.map((line) => line.split(" "));
  const differs = first.findIndex((word, at) => rest.some((words) => words[at] !== word));
  return differs > 0 ? `${first.slice(0, differs).join(" ")} …` : "";
}

/**
 * The kinds that share a row, of these questions; those that did before go on to, while there are two.
 *
 * @param {Question[]} questions
 * @param {Set<string>} before
 * @returns {Set<string>}
 */
export function groupedKinds(questions, before) {
  const counts = new Map();
  for (const one of questions) counts.set(kindOf(one), (counts.get(kindOf(one)) ?? 0) + 1);
  const many = questions.length >= MANY;
  const kinds = [...counts].filter(([kind, count]) =>
    before.has(kind) ? count > 1 : many && count >= ALIKE,
  );
  return new Set(kinds.map(([kind]) => kind));
}

/**
 * The questions by agent, then by kind; agents and kinds in the order in which they are met first.
 *
 * @param {Question[]} questions
 */
export function arrange(questions) {
  /** @param {(one: Question) => string} name */
  const ranks = (name) => {
    const names = [...new Set(questions.map(name))];
    return new Map(names.map((one, at) => [one, at]));
  };
  const [agents, kinds] = [ranks((one) => one.agent), ranks(kindOf)];
  /** @param {Question} one */
  const rank = (one) => (agents.get(one.agent) ?? 0) * questions.length + (kinds.get(kindOf(one)) ?? 0);
  return [...questions].sort((one, other) => rank(one) - rank(other));
}

/**
 * What the list shows, in this order: a question by itself, or a group where its first one stands.
 *
 * @param {Question[]} questions
 * @param {Set<string>} kinds
 * @returns {Entry[]}
 */
export function entries(questions, kinds) {
  /** @type {Map<string, Group>} */
  const groups = new Map();
  return questions.flatMap((one) => /** @type {Entry[]} */ (placed(one)));

  /** @param {Question} one */
  function placed(one) {
    const kind = kindOf(one);
    if (!kinds.has(kind)) return [one];
    const known = groups.get(kind);
    if (known) {
      known.members.push(one);
      return [];
    }
    const group = { kind, members: [one] };
    groups.set(kind, group);
    return [group];
  }
}
