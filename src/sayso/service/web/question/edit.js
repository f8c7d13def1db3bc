// Edit and allow: a form for the arguments, and what the policy makes of the edited call, before it is allowed.

import { faultIn, post } from "../lib/api.js";
import { h, query, show } from "../lib/dom.js";
import { inWords, risk } from "../lib/parts.js";
import { sentence, visible } from "../lib/visible.js";
import { formOf, Unreadable } from "./form.js";

/** @import {Fault} from "../lib/api.js" */
/** @import {Child} from "../lib/dom.js" */
/** @import {Give} from "./bar.js" */
/** @import {Question} from "./questions.js" */
/** @import {whatRuns} from "./shown.js" */

/**
 * What the bar needs of an edit: the risk of what would run, why it cannot be allowed yet, and what to do.
 *
 * @typedef {object} EditState
 * @property {string} risk
 * @property {boolean} signed
 * @property {string | null} problem
 * @property {string} [title]
 * @property {() => unknown} allow
 * @property {() => void} discard
 */

/** @typedef {ReturnType<typeof editor>} Editor */

/** @typedef {{ [name: string]: Sayso.Json }} Values */

const SOON = 300;
const HIGH = 2;
/** @type {Record<string, number>} */
const RANK = { low: 0, moderate: 1, high: HIGH };
const UNCHANGED = "Nothing was changed yet.";

/**
 * The editor for a question. `send` gives the answer, `close` and `discard` end the edit, with and without asking, and
 * `changed` whenever something else can be allowed than before. `shows` draws what would run.
 *
 * @param {Question} question
 * @param {Sayso.EditableArguments} editing
 * @param {object} means
 * @param {Give} means.send
 * @param {() => unknown} means.close
 * @param {() => void} means.discard
 * @param {() => void} means.changed
 * @param {typeof whatRuns} means.shows
 */
export function editor(question, editing, { send, close, discard, changed, shows }) {
  const before = JSON.stringify(question.arguments);
  const fault = h("p", { class: "fault", role: "status" });
  const preview = h("section", {
    class: "preview",
    "aria-label": "The edited call",
    data: { read: "parts" },
  });
  /** @type {{ problem: string | null, told: Sayso.EditPreview | null, values: Values | null }} */
  let state = { problem: UNCHANGED, told: null, values: null };
  let turn = 0;
  let timer = 0;

  /** @param {Partial<typeof state>} next */
  function become(next) {
    state = { problem: null, told: null, values: null, ...next };
    changed();
  }
  /** Something was typed: what was decided about the call before does not hold any more. */
  function typed() {
    const mine = ++turn;
    clearTimeout(timer);
    show(preview);
    complain(null);
    /** @type {Values} */
    let values;
    try {
      values = form.read();
    } catch (problem) {
      if (!(problem instanceof Unreadable)) throw problem;
      complain(problem);
      return become({ problem: problem.message });
    }
    if (JSON.stringify(values) === before) return become({ problem: UNCHANGED });
    timer = setTimeout(() => decide(values, mine), SOON);
    become({ problem: "The policy has not decided the edited call yet." });
  }
  /**
   * @param {Values} values
   * @param {number} mine
   */
  async function decide(values, mine) {
    try {
      const told = await post(`/v1/questions/${encodeURIComponent(question.id)}/edited`, { edited: values });
      if (mine === turn) decided(values, told);
    } catch (thrown) {
      if (mine !== turn) return;
      const problem = faultIn(thrown);
      complain(problem);
      become({ problem: problem.message });
    }
  }
  /**
   * @param {Values} values
   * @param {Sayso.EditPreview} told
   */
  function decided(values, told) {
    const denied = told.denied ? `The policy denies the edited call: ${visible(told.why)}.` : null;
    show(preview, verdict(question, told, denied), shows(told));
    become({ problem: denied, told, values });
  }
  /** @param {Fault & { field?: Element } | null} problem */
  function complain(problem) {
    show(fault, problem && inWords(problem, ": "));
    for (const one of element.querySelectorAll("[aria-invalid]")) one.removeAttribute("aria-invalid");
    problem?.field?.setAttribute("aria-invalid", "true");
    // Beside the field it is about, where somebody looks; else at the end of the form.
    const place = problem?.field?.closest(".field");
    if (place) place.append(fault);
    else query(element, ":scope > .row")?.before(fault);
    if (place) requestAnimationFrame(() => fault.scrollIntoView({ block: "nearest" })); // once the bar has grown
  }

  const form = formOf(question.arguments, editing, typed, question.because);
  const element = h(
    "form",
    {
      class: "editor",
      "aria-label": "Edit the call",
      data: { read: "no" },
      onsubmit: (event) => event.preventDefault(),
    },
    h("h2", {}, "Edit the call"),
    h(
      "p",
      { class: "small" },
      "Only the edited call is allowed, once, and only if the policy does not deny it.",
    ),
    form.elements,
    fault,
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", class: "plain", onclick: close }, "Close the form"),
    ),
  );
  return {
    elements: [element, preview],
    focus: () => (query(element, "textarea, input, select, button") ?? element).focus(),
    /** Whether anything was typed that differs from what was asked. */
    touched: () => state.problem !== UNCHANGED,
    /** What the bar needs: the risk of what would run, why it cannot be allowed yet, and what to do. */
    state: () => ({
      risk: highest(question.risk, state.told?.risk ?? "low"),
      signed: state.told?.signed ?? question.signed,
      problem: state.problem,
      title: state.told?.title,
      allow() {
        if (!state.told) return;
        const { digest, title } = state.told;
        return send({ answer: "edit", edited: state.values, edited_digest: digest }, title);
      },
      discard,
    }),
    /** The call as it was typed; as plain text where it cannot be read. */
    unsent() {
      if (state.told) return shows(state.told);
      return shows({ command: null, arguments: { ...question.arguments, ...form.typed() } });
    },
    /** Shown again after it was closed: what was typed is decided again. */
    again: typed,
    stop() {
      turn += 1;
      clearTimeout(timer);
    },
  };
}

/** @param {string} word */
const rank = (word) => RANK[word] ?? HIGH;

/**
 * @param {string} one
 * @param {string} other
 */
const highest = (one, other) => (rank(other) > rank(one) ? other : one);

/**
 * What the policy makes of the edited call, and whether the edit raised its risk.
 *
 * @param {Question} question
 * @param {Sayso.EditPreview} told
 * @param {string | null} denied
 * @returns {Child[]}
 */
function verdict(question, told, denied) {
  const raised = rank(told.risk) > rank(question.risk);
  const words = raised ? `This raises the risk from ${question.risk} to ${told.risk}. ` : null;
  return [
    h("h2", {}, "What would run instead"),
    h(
      "p",
      { class: denied || raised ? "raised" : "", role: "status" },
      risk(told.risk),
      " ",
      words && h("strong", {}, words),
      denied ?? sentence(told.why, told.operations),
      h("span", { class: "small" }, ` (${visible(told.operations.join(", "))}, rule ${visible(told.rule)})`),
    ),
  ];
}
