// One question, whole: what would run first, then why, then who asks; and the bar to answer with.

import { get } from "../lib/api.js";
import { mayDiscard } from "../lib/confirm.js";
import { h, query, show } from "../lib/dom.js";
import { risk, time } from "../lib/parts.js";
import { clock, now, span } from "../lib/time.js";
import { foreign, inline, ownLines, sentence, told, visible } from "../lib/visible.js";
import { ANSWERED, STEPS } from "../lib/words.js";
import { bar, EDITING, isClaim } from "./bar.js";
import { editor } from "./edit.js";
import { follow } from "./reading.js";
import { whatRuns } from "./shown.js";

/** @import {Child} from "../lib/dom.js" */
/** @import {Bar, Give} from "./bar.js" */
/** @import {Editor} from "./edit.js" */
/** @import {Question} from "./questions.js" */

const INSTEAD =
  "This is the call as the agent asked for it. It is not what runs: the edited call is further down.";
const SENTENCE = 80;

/**
 * What is asked in one go, without the word that its label begins with.
 *
 * @param {Question} question
 */
const bundled = (question) => (question.bundle ?? "").replace(/^bundle:/, "");

/**
 * How a closed question ended, and by whose word.
 *
 * @param {Question} question
 */
export function ending(question) {
  if (question.state === "expired") return STEPS.expired;
  if (question.state === "cancelled")
    return question.by ? `${STEPS.cancelled} by ${visible(question.by)}` : STEPS.cancelled;
  const what = ANSWERED[question.answer ?? ""] ?? `answered ${visible(question.answer ?? "")}`;
  return `${what} by ${question.yours ? "you" : visible(question.by ?? "somebody")}`;
}

/**
 * The card of a question. `give` sends an answer; `live` says whether answers can be sent at all, and `sent` which one
 * is under way. `tooLate` is an edit that somebody else's answer came before.
 *
 * @param {Question} question
 * @param {{ give: Give, live: () => boolean, sent: () => string | null, tooLate?: Child }} means
 */
export function card(question, { give, live, sent, tooLate = null }) {
  const extra = h("div", { class: "extra", data: { read: "parts" } });
  const clocks = h("p", { class: "clocks small", data: { read: "no" } });
  const instead = h("p", { class: "instead", hidden: true, data: { read: "no" } }, INSTEAD);
  const body = h("div", {
    class: "card-body",
    tabindex: "0",
    role: "region",
    "aria-label": "What would run",
  });
  const reading = follow(body, () => answering?.draw());
  /** @type {Editor | null} */
  let form = null;
  /** @type {Bar | null} */
  const answering =
    question.state === "open"
      ? bar(question, {
          give: send,
          live,
          sent,
          edit,
          why,
          reading,
          form: () => (form?.touched() ? form.state() : null),
        })
      : null;
  const root = h("article", {
    class: `card ${question.risk}`,
    "aria-label": `Question: ${visible(question.title)}`,
  });

  /**
   * Send an answer. It names the call only if all of it was on screen; the service wants that at high risk.
   * `title` tells the call that runs, if that is not the one that was asked for.
   *
   * @param {Sayso.AnswerBody} given
   * @param {string} [title]
   */
  function send(given, title) {
    const unread = reading.towards();
    const risky = (form?.state().risk ?? question.risk) === "high";
    if (unread && risky && given.answer !== "deny") return answering?.draw();
    return give(unread ? given : { ...given, digest: question.digest }, title);
  }
  function edit() {
    const { editing } = question;
    if (!editing || form) return form?.focus();
    const changed = () => drawEdited();
    openForm(editor(question, editing, { send, close: closeForm, discard, changed, shows: whatRuns }));
  }
  /** While the form is changed, the call on top is not the one that can be allowed, and says so. */
  function drawEdited() {
    const before = placeOfFocus();
    instead.hidden = !form?.touched();
    root.classList.toggle("edited", Boolean(form?.touched()));
    answering?.draw();
    if (before !== null) body.scrollTop += (placeOfFocus() ?? before) - before;
  }
  /** Where the field that is typed in stands: what appears above it does not move it. */
  function placeOfFocus() {
    const field = document.activeElement;
    return field && extra.contains(field) ? field.getBoundingClientRect().top : null;
  }
  /** @param {Editor} made */
  function openForm(made) {
    form = made;
    answering?.explain(null);
    show(extra, made.elements);
    answering?.rest();
    extra.scrollIntoView({ block: "start" });
    made.focus();
  }
  /** Close the form. Changes are lost only if the person says so. */
  async function closeForm() {
    if (!form?.touched()) return takeFormAway();
    const [asked, said] = [form, await mayDiscard()];
    if (said && form === asked) discard();
  }
  /** The person's own word: the changes go, and can be brought back. */
  function discard() {
    const gone = form;
    takeFormAway();
    const again = h(
      "button",
      { type: "button", class: "plain inline", onclick: () => form ?? (gone && bringBack(gone)) },
      "Bring them back",
    );
    answering?.explain(["The changes were discarded: the call is as the agent asked for it. ", again]);
  }
  /** @param {Editor} gone */
  function bringBack(gone) {
    openForm(gone);
    gone.again();
  }
  function takeFormAway() {
    form?.stop();
    form = null;
    show(extra);
    drawEdited();
    answering?.rest();
    focusOn("[data-opens=edit]");
  }
  async function why() {
    if (form?.touched()) return answering?.explain(EDITING);
    form?.stop();
    form = null;
    const { why: trace } = await get(`/v1/questions/${encodeURIComponent(question.id)}/why`);
    const checks = ownLines(trace, { label: "Checks" });
    show(extra, h("div", { data: { read: "no" } }, h("h2", {}, "Every check, and what it said"), checks));
    extra.scrollIntoView({ block: "nearest" });
  }
  function closeWhy() {
    show(extra);
    focusOn("[data-opens=why]");
  }
  /** @param {string} selector */
  function focusOn(selector) {
    if (answering) query(answering.element, selector)?.focus();
  }
  /**
   * Esc closes what was opened last, and the focus goes back to where it was opened from.
   *
   * @param {KeyboardEvent} event
   */
  function closeByKey(event) {
    if (!root.isConnected) return document.removeEventListener("keydown", closeByKey, true);
    if (event.key !== "Escape" || event.isComposing || document.querySelector("dialog[open]")) return;
    if (!answering || !closeOne()) return;
    event.preventDefault();
    event.stopPropagation();
  }
  /** Close one of what is open; whether anything was. */
  function closeOne() {
    if (answering?.close()) return true;
    if (!extra.hasChildNodes()) return false;
    if (form) closeForm();
    else closeWhy();
    return true;
  }
  function tick() {
    show(clocks, waits(question));
    reading.look();
  }

  show(
    body,
    ended(question),
    tooLate && lost(tooLate),
    head(question),
    instead,
    headline(question),
    whatRuns(question),
    reasons(question),
    items(question),
    asker(question),
  );
  body.append(clocks, extra, details(question));
  show(root, body, answering?.element);
  root.classList.toggle("over", question.state !== "open");
  document.addEventListener("keydown", closeByKey, true);
  tick();
  /** Shown again after something else was: as if it had just arrived. */
  function again() {
    document.addEventListener("keydown", closeByKey, true);
    answering?.rest();
    tick();
  }
  const changed = () => form?.touched() ?? false;
  const unsent = () => (form?.touched() ? form.unsent() : null);
  return { element: root, body, bar: answering, edit, why, tick, again, changed, unsent };
}

/** @param {Question} question */
function ended(question) {
  if (question.state === "open") return null;
  const at = question.closed_at ? [" at ", time(question.closed_at)] : null;
  const reason = question.reason ? [h("br"), "Reason: ", inline(question.reason, 500)] : null;
  return h("p", { class: "ended", role: "status" }, `Already over: ${ending(question)}`, at, ".", reason);
}

/**
 * An edit that came too late: it is told, and stays to be copied.
 *
 * @param {Child} edit
 */
function lost(edit) {
  const words = "You had changed this call. The changes were not sent, and nothing came of them:";
  return h(
    "section",
    { class: "unsent", "aria-label": "Your changes" },
    h("p", {}, h("strong", {}, words)),
    edit,
  );
}

/** @param {Question} question */
function head(question) {
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
    does.map((item) => h("strong", {}, doing(item))),
    label ? told(label) : null,
    told(question.tool),
  );
}

/**
 * The policy's title for the call, and large if it is short. A command and arguments tell themselves, below.
 *
 * @param {Question} question
 */
function headline(question) {
  if (question.command !== null || question.bundle || isClaim(question)) return null;
  if (!question.sentence && Object.keys(question.arguments).length > 0) return null;
  const short = Array.from(question.title).length <= SENTENCE;
  return h("p", { class: short ? "headline sentence" : "headline" }, told(question.title));
}

/**
 * @param {Question} question
 * @returns {Child[]}
 */
function reasons(question) {
  const place = [
    question.target && ["On ", told(question.target), ". "],
    question.folder && ["In ", told(question.folder), ". "],
    question.world && ["As things stand: ", told(question.world), ". "],
    question.workflow && ["Starts the workflow ", told(question.workflow), ". "],
    question.server && ["Through the server ", told(question.server), "."],
  ].filter(Boolean);
  return [
    h(
      "p",
      { class: "why" },
      h("strong", {}, "Why asked: "),
      said(question.why, question),
      " ",
      rule(question.rule),
      question.because.length ? h("span", { class: "small" }, " Marked: what made it so.") : null,
    ),
    isClaim(question) ? h("div", { class: "yes" }, h("strong", {}, "If you did: "), meaning(question)) : null,
    place.length ? h("div", {}, place) : null,
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
function items(question) {
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
function asker(question) {
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
 * Enough of a long name to know it again; the whole stands with the identifiers.
 *
 * @param {string} name
 */
function short(name) {
  return h("span", { title: visible(name) }, inline(Array.from(name).slice(0, 8).join(""), 8));
}

/** @param {Question} question */
function waits(question) {
  if (question.state !== "open") return null;
  const left = `${clock(question.expires_at - now())} left to answer`;
  const since = `Asked ${clock(now() - question.opened_at)} ago`;
  if (isClaim(question)) return `${since}; ${left}. The next message of the conversation takes it back.`;
  if (question.waiting) return `${since}; the agent waits. ${left}.`;
  const again = `a yes lets it try again for ${minutes(question.approval_lasts)}`;
  if (question.waiting === false) return `${since}; the agent left${leftAgo(question)}. ${left}; ${again}.`;
  // It may wait in another process, which this service cannot see.
  return `${since}; ${left}. If the agent has stopped waiting, ${again}.`;
}

/** @param {number} seconds */
function minutes(seconds) {
  const whole = Math.round(seconds / 60);
  return whole < 1 ? `${Math.round(seconds)} seconds` : `${whole} minute${whole === 1 ? "" : "s"}`;
}

/**
 * How long ago the agent stopped waiting, if that is known.
 *
 * @param {Question} question
 */
function leftAgo({ left_at: at }) {
  return at === null ? "" : ` ${span(now() - at)} ago`;
}

/** @param {Question} question */
function details(question) {
  /** @type {[name: string, value: string][]} */
  const facts = [
    ["Session", question.session],
    ["Question", question.id],
    ["Digest of the call", question.digest],
  ];
  const rows = facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, inline(value, 200))]);
  const kind = { class: "small", data: { read: "no" } };
  return h("details", kind, h("summary", {}, "Identifiers"), h("dl", { class: "facts" }, rows));
}
