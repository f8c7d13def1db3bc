// What a question says, part by part: who would do what, why it is asked, and who asks.

import { h } from "../lib/dom.js";
import { risk } from "../lib/parts.js";
import { foreign, inline, sentence, told, visible } from "../lib/visible.js";

/** @import {Child} from "../lib/dom.js" */
/** @import {Question} from "./questions.js" */

const SENTENCE = 80;

/**
 * What is asked in one go, without the word that its label begins with.
 *
 * @param {Question} question
 */
const bundled = (question) => (question.bundle ?? "").replace(/^bundle:/, "");

/**
 * Whether it asks if the user wrote a message, and not if a call may run.
 *
 * @param {Question} question
 */
export const isClaim = (question) => question.rule === "claimed";

/** @param {Question} question */
export function head(question) {
  const does = [
    ...new Map(question.items.filter((item) => item.does).map((item) => [item.does, item])).values(),
  ];
  const label = question.bundle ? `bundle ${bundled(question)}` : null;
  if (isClaim(question))
    return h("header", { class: "card-head" }, risk(question.risk), h("strong", {}, "Did you write this?"));
  return h(
    "header",
    { class: "card-head" },
    risk(question.risk),
    does.length
      ? h(
          "ul",
          { class: "does" },
          does.map((item) => h("li", {}, doing(item))),
        )
      : null,
    label ? told(label) : null,
    told(question.tool),
  );
}

/**
 * The policy's title for the call, and large if it is short. A command and arguments tell themselves, below.
 *
 * @param {Question} question
 */
export function headline(question) {
  if (question.command !== null || question.bundle || isClaim(question)) return null;
  if (!question.sentence && Object.keys(question.arguments).length > 0) return null;
  const short = Array.from(question.title).length <= SENTENCE;
  return h("p", { class: short ? "headline sentence" : "headline" }, told(question.title));
}

/**
 * @param {Question} question
 * @returns {Child[]}
 */
export function reasons(question) {
  /** @type {[name: string, value: string | null][]} */
  const facts = [
    ["Target", question.target],
    ["Folder", question.folder],
    ["As things stand", question.world],
    ["Starts the workflow", question.workflow],
    ["Through the server", question.server],
  ];
  const place = facts.map(
    ([name, value]) => value && h("div", {}, h("dt", {}, name), h("dd", {}, told(value))),
  );
  return [
    h(
      "p",
      { class: "why" },
      h("strong", {}, "Why asked: "),
      said(question.why, question),
      " ",
      rule(question.rule),
      question.because.length ? h("span", { class: "small" }, ". Marked: what made it so.") : null,
    ),
    isClaim(question) ? h("div", { class: "yes" }, h("strong", {}, "If you did: "), meaning(question)) : null,
    place.some(Boolean) ? h("dl", { class: "place-of" }, place) : null,
  ];
}

/**
 * A sentence of ours about this question: what it quotes of others is marked.
 *
 * @param {string} text
 * @param {Question} question
 */
function said(text, question) {
  const { items: parts, tool, agent, target, workflow, server } = question;
  const names = [...parts.map((item) => item.operation), tool, agent, target, workflow, server];
  return Array.from(text).length > 300 || text.includes("\n") ? foreign(text) : sentence(text, names);
}

/**
 * What a yes to a claimed message does.
 *
 * @param {Question} question
 */
const meaning = (question) => plain(question.offers.find((offer) => offer.answer === "once")?.words ?? "");

/**
 * A sentence that may quote an agent: in the line if it is short, else in a box that can be unfolded.
 *
 * @param {string} text
 */
const plain = (text) =>
  Array.from(text).length > 300 || text.includes("\n") ? foreign(text) : visible(text);

/**
 * What an operation does: in our words, or quoted where only its program says so.
 *
 * @param {Sayso.ItemView} item
 */
const doing = ({ does, declared }) => (declared ? told(does ?? "") : plain(does ?? ""));

/** @param {string} name */
const rule = (name) => h("span", { class: "small" }, `(rule ${visible(name)})`);

/** @param {Question} question */
export function items(question) {
  if (question.items.length < 2 && !question.later.length) return null;
  const rows = question.items.map((item) =>
    h(
      "li",
      {},
      risk(item.risk),
      " ",
      h("code", {}, visible(item.operation)),
      h("span", { class: "small" }, " ", item.does ? doing(item) : said(item.why, question)),
    ),
  );
  const later = question.later.map((name) =>
    h("li", { class: "small" }, h("code", {}, visible(name)), " will be asked with its arguments"),
  );
  return [
    h("h2", {}, `${question.items.length} operations`),
    h("ol", { class: "items", data: { read: "parts" } }, rows, later),
  ];
}

/** @param {Question} question */
export function asker(question) {
  const who = [
    "Asked by ",
    told(question.agent, 80),
    ", session ",
    short(question.session),
    question.turn > 0 && `, turn ${question.turn}`,
  ];
  const said = question.message ? [": you last said ", inline(question.message, 300)] : "";
  return h("p", { class: "small" }, who, said, ".");
}

/**
 * How many people have approved, and whose approvals are missing; nothing where one answer is enough.
 *
 * @param {Question} question
 */
export function approvals(question) {
  const there = question.approvals;
  if (!there) return null;
  const own =
    there.yours?.counts === false
      ? ` An allow from you does not count: ${visible(there.yours.why_not)}.`
      : "";
  const gave = there.approved.length ? ` (approved: ${there.approved.map(visible).join(", ")})` : "";
  return h(
    "p",
    { class: "approvals" },
    "Approvals: ",
    visible(there.missing),
    gave,
    ".",
    own,
    " ",
    h("a", { href: "/people" }, "Who approves"),
  );
}

/**
 * Enough of a long name to know it again; the whole stands with the identifiers.
 *
 * @param {string} name
 */
function short(name) {
  return h("span", { title: visible(name) }, inline(Array.from(name).slice(0, 8).join(""), 8));
}
