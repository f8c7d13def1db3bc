// One question, whole: what would run first, then why, then who asks; and the bar to answer with.

import { get } from "../lib/api.js";
import { mayDiscard } from "../lib/confirm.js";
import { h, query, show } from "../lib/dom.js";
import { time } from "../lib/parts.js";
import { clock, now, span } from "../lib/time.js";
import { inline, ownLines, visible } from "../lib/visible.js";
import { ANSWERED, STEPS } from "../lib/words.js";
import { bar, EDITING } from "./bar.js";
import { editor } from "./edit.js";
import { approvals, asker, head, headline, isClaim, items, reasons } from "./facts.js";
import { follow } from "./reading.js";
import { whatRuns } from "./shown.js";

/** @import {Child} from "../lib/dom.js" */
/** @import {Bar, Give} from "./bar.js" */
/** @import {Editor} from "./edit.js" */
/** @import {Question} from "./questions.js" */

const INSTEAD =
  "This is the call as the agent asked for it. It is not what runs: the edited call is further down.";

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
  const team = h("div");
  let counted = ""; // the approvals on show
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
    show(clocks, waits(question, live()));
    drawApprovals();
    reading.look();
  }
  /** Others may approve while this one is read. */
  function drawApprovals() {
    const now = JSON.stringify(question.approvals ?? null);
    if (now === counted) return;
    counted = now;
    show(team, approvals(question));
    answering?.draw();
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
    team,
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
  const words = "You had changed this call. The changes were not sent and had no effect:";
  return h(
    "section",
    { class: "unsent", "aria-label": "Your changes" },
    h("p", {}, h("strong", {}, words)),
    edit,
  );
}

/**
 * How long it waits, and what is known of its agent: without a line to the service nothing is.
 *
 * @param {Question} question
 * @param {boolean} live
 */
function waits(question, live) {
  if (question.state !== "open") return null;
  const left = `${clock(question.expires_at - now())} left to answer`;
  const since = `Asked ${clock(now() - question.opened_at)} ago`;
  if (isClaim(question)) return `${since}; ${left}. The next message of the conversation takes it back.`;
  if (live && question.waiting) return `${since}; the agent waits. ${left}.`;
  const again = `a yes lets it try again for ${minutes(question.approval_lasts)}`;
  if (live && question.waiting === false)
    return `${since}; the agent left${leftAgo(question)}. ${left}; ${again}.`;
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
