// The inbox: what waits, and the one being read. New questions join at the end and move nothing.

import { card, ending, summary } from "./card.js";
import { h, show } from "./dom.js";
import { decisions } from "./history.js";
import { empty, failed, loading, risk, say } from "./parts.js";
import { signAnswer } from "./passkeys.js";
import * as all from "./questions.js";
import { clock, now } from "./time.js";
import { inline, visible } from "./visible.js";

const FADES_AFTER = 4000;

export function view(place, page) {
  const list = h("ul", { class: "list", "aria-label": "Questions that wait" });
  const side = h("section", { class: "side", "aria-label": "Questions" }, list);
  const detail = h("section", { class: "detail", "aria-label": "The question" });
  let chosen = null;
  let shown = null;
  const both = h("div", { class: "inbox" }, side, detail);
  show(place, h("h1", { class: "hidden", tabindex: "-1" }, "Inbox"), both);

  function choose(id, focus = false) {
    const left = chosen !== id && all.questions.get(chosen);
    chosen = id;
    shown = null;
    if (left && left.state !== "open") all.forget(left.id);
    else draw();
    if (id && !all.questions.get(id)?.whole) all.readOne(id);
    if (focus) shown?.body.focus();
  }

  function draw() {
    const rows = [...all.questions.values()];
    if (!all.questions.has(chosen)) chosen = null;
    if (chosen === null && rows.length) return choose((all.waiting()[0] ?? rows[0]).id);
    show(list, rows.map(row), all.reading.more && moreRow());
    both.classList.toggle("none", !rows.length);
    rows.length ? drawCard() : show(detail, nothing());
  }

  function drawCard() {
    const question = all.questions.get(chosen);
    const was = shown?.question;
    if (was && was.id === question.id && was.state === question.state && was.digest === question.digest && (was.whole || !question.whole)) return;
    const made = card(question, { live: page.live, give: (given) => give(question, given) });
    if (shown?.bar && was.id === question.id && made.bar) made.bar.reason.value = shown.bar.reason.value;
    shown = { ...made, question };
    show(detail, pager(), made.element);
    if (question.state !== "open" && !question.yours) say(`${visible(summary(question)).slice(0, 80)}: ${ending(question)}`);
  }

  async function give(question, given) {
    if (!page.live()) return say("The connection is lost. Nothing was answered.", "bad");
    try {
      const stands = await signed(question, given);
      const told = all.questions.get(question.id);
      say(`${visible(summary(question)).slice(0, 80)}: ${stands.yours ? "" : "already "}${ending(told)}`, stands.yours ? "" : "bad");
      if (stands.yours) next(question.id);
    } catch (problem) {
      say(`Nothing was answered: ${problem.message}${problem.hint ? `; ${problem.hint}` : ""}`, "bad");
      shown?.bar?.rest();
    }
  }

  /** Give the answer, signed with a passkey where that is needed; an edit may turn out to need it. */
  async function signed(question, given) {
    const sign = async () => all.answer(question, { ...given, proof: await signAnswer(question, given) });
    if (question.signed && given.answer !== "deny") return sign();
    try {
      return await all.answer(question, given);
    } catch (problem) {
      if (problem.code !== "proof_needed") throw problem;
      return sign();
    }
  }

  /** After an answer: on to the next that waits, in the order of the list. */
  function next(id) {
    const rows = [...all.questions.values()];
    const after = [...rows.slice(rows.findIndex((one) => one.id === id) + 1), ...rows];
    const follows = after.find((one) => one.state === "open");
    choose(follows ? follows.id : null);
    all.forget(id);
  }

  function move(step) {
    const ids = [...all.questions.keys()];
    const at = ids[ids.indexOf(chosen) + step];
    if (at) choose(at);
    list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  function row(question) {
    const over = question.state !== "open";
    if (over && question.id !== chosen) fade(question.id);
    const where = question.folder.split("/").filter(Boolean).pop();
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: over ? "over" : "", "aria-current": question.id === chosen && "true", onclick: () => choose(question.id, true), data: { id: question.id } },
        risk(question.risk),
        h("span", { class: "call" }, question.bundle ? "bundle: " : "", inline(summary(question), 120)),
        h("span", { class: "from" }, visible(question.agent), where ? ` · ${visible(where)}` : ""),
        over ? h("span", { class: "from" }, ending(question)) : h("span", { class: "from clock", data: { since: question.opened_at } }, "waits ", clock(now() - question.opened_at)),
      ),
    );
  }

  const fading = new Set();
  function fade(id) {
    if (fading.has(id)) return;
    fading.add(id);
    setTimeout(() => id !== chosen && all.forget(id), FADES_AFTER);
  }

  function pager() {
    const ids = [...all.questions.keys()];
    const at = ids.indexOf(chosen);
    const step = (name, by) => h("button", { type: "button", class: "plain", onclick: () => move(by), "aria-disabled": String(!ids[at + by]) }, name);
    return h("nav", { class: "pager", "aria-label": "Between questions" }, step("‹ previous", -1), h("span", {}, `${at + 1} of ${ids.length}${all.reading.more ? "+" : ""}`), step("next ›", 1));
  }

  function moreRow() {
    return h("li", {}, h("button", { type: "button", class: "more-rows", onclick: all.readMore }, "Show the next questions"));
  }

  function nothing() {
    if (all.reading.problem) return failed(all.reading.problem, all.readAll);
    if (!all.reading.done) return loading("what waits");
    const last = h("section", { class: "last", "aria-label": "The last decisions" });
    decisions(last, { limit: 8 }, "Nothing was decided yet.");
    return [empty("Nothing waits for you", "New questions appear here by themselves."), h("h2", {}, "The last decisions"), last];
  }

  function tick() {
    for (const one of list.querySelectorAll(".clock")) one.lastChild.textContent = clock(now() - one.dataset.since);
    shown?.tick();
  }

  const timer = setInterval(tick, 1000);
  const unfollow = all.follow(draw);
  const woken = () => shown?.bar?.rest();
  addEventListener("resize", woken);
  draw();
  return {
    keys: {
      j: () => move(1),
      k: () => move(-1),
      Enter: () => shown?.body.focus(),
      a: () => shown?.bar?.byKey("once"),
      t: () => shown?.bar?.byKey("task"),
      d: () => shown?.bar?.byKey("deny"),
      e: () => shown?.bar && shown.edit(),
      w: () => shown?.bar && shown.why(),
    },
    line: () => shown?.bar?.marked(),
    close() {
      clearInterval(timer);
      unfollow();
      removeEventListener("resize", woken);
    },
  };
}
