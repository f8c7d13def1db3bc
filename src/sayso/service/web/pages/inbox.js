// The inbox: what waits, and the one being read. New questions join at the end and move nothing.

import { faultIn } from "../lib/api.js";
import { h, query, show } from "../lib/dom.js";
import { empty, failed, inWords, loading, say } from "../lib/parts.js";
import { signAnswer } from "../lib/passkeys.js";
import { inline } from "../lib/visible.js";
import { fileWaiting, proposalsWaiting } from "../proposal/waiting.js";
import { card, ending } from "../question/card.js";
import { arrange, entries, groupedKinds, kindOf } from "../question/groups.js";
import { fits, groupRow, moreRows, ordered, pager, row, tick } from "../question/list.js";
import * as all from "../question/questions.js";
import { rating } from "../question/rating.js";
import { several } from "../question/several.js";
import { decisions } from "./history.js";

/** @import {Child} from "../lib/dom.js" */
/** @import {View} from "../lib/parts.js" */
/** @import {Question} from "../question/questions.js" */
/** @import {Several} from "../question/several.js" */

/** @typedef {ReturnType<typeof card> & { question: Question }} Shown */

const FADES_AFTER = 4000;
const READ_AFTER = 8000;
/** Where there is room for the list or for a question, and not for both. */
const NARROW = "(max-width: 720px), (max-height: 480px) and (max-width: 1000px)";
/** Who filters looks for one of them: then each has a row of its own. */
const NO_KINDS = /** @type {Set<string>} */ (new Set());

/**
 * @param {HTMLElement} place
 * @param {{ live: () => boolean }} page
 * @returns {View}
 */
export function view(place, page) {
  const list = h("ul", { class: "list", "aria-label": "Questions that wait" });
  const filter = h("input", {
    type: "search",
    placeholder: matchMedia(NARROW).matches ? "filter" : "filter (press /)",
    "aria-label": "Filter the questions",
  });
  const found = h("p", { class: "small", role: "status" });
  const detail = h("section", { class: "detail", "aria-label": "The question" });
  const both = h(
    "div",
    { class: "inbox" },
    h(
      "section",
      { class: "side", "aria-label": "Questions" },
      h("div", { class: "find" }, filter, found),
      list,
    ),
    detail,
  );
  /** @type {Set<string>} */
  const fading = new Set();
  /**
   * Cards with changes that were neither sent nor discarded, by the question's id.
   *
   * @type {Map<string, Shown>}
   */
  const kept = new Map();
  /** @type {string | null} */
  let chosen = null;
  /** @type {Shown | null} */
  let shown = null;
  /** @type {string[]} */
  let order = [];
  /** @type {Set<string>} */
  let kinds = new Set(); // that share a row
  /** @type {Set<string>} */
  const unfolded = new Set(); // kinds whose questions are listed one by one
  /** @type {{ kind: string, card: Several } | null} */
  let together = null; // questions alike, answered in one act
  const narrow = matchMedia(NARROW);
  let opened = false; // on a phone: a question is shown, and not the list
  show(place, h("h1", { class: "hidden", tabindex: "-1" }, "Inbox"), both);

  /**
   * Read this one. The one read before goes, if it is over.
   *
   * @param {string | null} id
   */
  function choose(id) {
    putAside();
    together = null;
    const left = chosen !== null && chosen !== id ? all.questions.get(chosen) : null;
    chosen = id;
    if (left && left.state !== "open") all.forget(left.id);
    else draw();
    if (id && !all.questions.get(id)?.whole) all.readOne(id);
  }

  /** Take the card away. One that was changed is kept as it is, until it is looked at again. */
  function putAside() {
    if (shown?.changed() && !all.questions.get(shown.question.id)?.yours) kept.set(shown.question.id, shown);
    shown = null;
  }

  /**
   * The card of this question that was put aside, if there is one. It is shown as it was if it still waits.
   *
   * @param {Question} question
   * @returns {Shown | null}
   */
  function broughtBack(question) {
    const card = kept.get(question.id);
    kept.delete(question.id);
    if (!card || question.state !== "open") return card ?? null;
    show(detail, h("div"), card.element);
    card.again();
    return card;
  }

  /** Read the question that the address names: a notification or a message elsewhere led here. */
  async function readNamed() {
    const id = namedQuestion();
    if (!id) return;
    window.history.replaceState(null, "", "/");
    await all.readOne(id);
    if (!all.questions.has(id)) return say("That question is over.");
    openOne();
    choose(id);
  }

  /** The questions as they are listed: those whose agent waits first. Under the pointer nothing changes places. */
  function rows() {
    const now = [...all.questions.values()];
    const place = new Map(order.map((id, at) => [id, at]));
    /** @param {Question} one */
    const at = (one) => place.get(one.id) ?? order.length;
    const still = list.matches(":hover");
    if (!still) kinds = groupedKinds(now, kinds);
    const fresh = () => (kinds.size ? arrange(ordered(now)) : ordered(now));
    const sorted = still ? now.sort((one, other) => at(one) - at(other)) : fresh();
    order = sorted.map((one) => one.id);
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    return sorted.filter((one) => fits(one, words));
  }

  function draw() {
    const here = rows();
    if (!here.some((one) => one.id === chosen)) {
      putAside();
      chosen = null;
    }
    drawTogether();
    const none = !all.questions.size && !together;
    if (none) opened = false;
    else if (all.questions.size === 1 && !filter.value) opened = true;
    const listed = narrow.matches && !opened && !together;
    const first = here.find((one) => one.state === "open") ?? here[0];
    if (chosen === null && first && !listed && !together) return choose(first.id);
    drawList(here);
    both.classList.toggle("none", none);
    both.classList.toggle("listed", listed && !none);
    found.textContent = filter.value.trim() ? `${here.length} of ${all.questions.size} match` : "";
    if (together) return;
    if (listed && !none) show(detail);
    else if (here.length) drawCard();
    else
      show(
        detail,
        none ? nothing() : empty("No question matches the filter", "Clear the filter to see them all."),
      );
  }

  /** The questions that are answered together. If none is left, they tell how they ended, and then make room. */
  function drawTogether() {
    if (!together) return;
    const { kind, card: shownCard } = together;
    shownCard.update([...all.questions.values()].filter((one) => kindOf(one) === kind));
    const isOver = () => together?.card === shownCard && !shownCard.open();
    if (isOver()) setTimeout(() => isOver() && showList(), READ_AFTER);
  }

  /**
   * Show all of this kind, to be answered in one act.
   *
   * @param {string} kind
   */
  function answerTogether(kind) {
    const alike = rows().filter((one) => kindOf(one) === kind);
    putAside();
    chosen = null;
    together = { kind, card: several(alike, { live: page.live, leave: toList }) };
    openOne();
    draw();
    const back = h("button", { type: "button", class: "plain", onclick: toList }, "☰ back to the list");
    const way = h("nav", { class: "pager", "aria-label": "Between questions" }, back);
    show(detail, way, together.card.element);
    together.card.rest();
    together.card.body.focus();
  }

  /** On a phone a question takes the place of the list, and the way back of the browser leads back to it. */
  function openOne() {
    if (narrow.matches && !opened) window.history.pushState({ question: true }, "");
    opened = true;
  }

  /** Back to the list, which on a desk is there all the time. */
  function toList() {
    if (narrow.matches && window.history.state?.question) return window.history.back();
    showList();
  }

  function showList() {
    putAside();
    together = null;
    chosen = null;
    opened = false;
    draw();
  }

  /** What is not read yet cannot be found, so the rest of the list is read first. */
  async function filtered() {
    draw();
    while (filter.value.trim() && all.reading.more && !all.reading.problem) await all.readMore();
  }

  /** @param {Question[]} here */
  function drawList(here) {
    const { id, kind } = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset ?? {};
    const focused = id ? `[data-id="${CSS.escape(id)}"]` : kind && `[data-kind="${CSS.escape(kind)}"]`;
    /** @param {string} id */
    const open = (id) => {
      openOne();
      choose(id);
      shown?.body.focus();
    };
    /** @param {Question} one */
    const rowOf = (one) => row(one, { chosen, choose: open, changed: kept.has(one.id), live: page.live() });
    /** @param {string} kind */
    const toggle = (kind) => {
      if (!unfolded.delete(kind)) unfolded.add(kind);
      draw();
    };
    for (const one of here) if (one.state !== "open" && one.id !== chosen) fade(one.id);
    show(
      list,
      entries(here, filter.value.trim() ? NO_KINDS : kinds).map((one) => {
        if (!("members" in one)) return rowOf(one);
        const { kind, members } = one;
        const opened = unfolded.has(kind);
        const within = !opened && members.some((member) => member.id === chosen);
        const acts = { toggle: () => toggle(kind), together: () => answerTogether(kind), row: rowOf };
        return groupRow(one, {
          current: within || together?.kind === kind,
          live: page.live(),
          opened,
          ...acts,
        });
      }),
      all.reading.more && moreRows(all.readMore),
    );
    if (focused) query(list, focused)?.focus();
  }

  /** The card, made again only if the question is another one or was closed; what is read stays as it is. */
  function drawCard() {
    const known = all.questions.get(chosen ?? "");
    if (!known) return;
    opened = true; // what is read stays, also where the window becomes narrow
    const question = { ...known };
    shown ??= broughtBack(question);
    if (shown?.question.state === question.state) {
      Object.assign(shown.question, question);
      shown.tick();
      shown.bar?.draw();
      return drawPager();
    }
    const wasRead = shown !== null;
    const unsent = question.yours ? null : (shown?.unsent() ?? null);
    const made = card(question, {
      live: page.live,
      sent: () => all.sentAnswer(question.id),
      give: (given, title) => give(question, given, title),
      tooLate: unsent,
    });
    shown = { ...made, question };
    const focused = detail.contains(document.activeElement);
    show(detail, h("div"), made.element);
    drawPager();
    if (focused) made.body.focus({ preventScroll: true });
    if (question.state !== "open") over(question, unsent !== null, wasRead);
  }

  /**
   * Answered elsewhere while it was being read: it says so, and after a while makes room; not while an edit is lost.
   *
   * @param {Question} question
   * @param {boolean} unsent
   * @param {boolean} wasRead
   */
  function over(question, unsent, wasRead) {
    const lost = unsent ? ". Your changes were not sent" : "";
    if (wasRead && !question.yours)
      say([`${ending(question)}${lost}: `, inline(question.title)], unsent ? "bad" : "");
    if (!unsent) setTimeout(() => chosen === question.id && next(question.id), READ_AFTER);
  }

  function drawPager() {
    const ids = rows().map((one) => one.id);
    detail.firstElementChild?.replaceWith(pager(ids, chosen, Boolean(all.reading.more), { move, toList }));
  }

  /**
   * `title` tells what runs, if it is not what was asked.
   *
   * @param {Question} question
   * @param {Sayso.AnswerBody} given
   * @param {string} [title]
   */
  async function give(question, given, title = question.title) {
    if (!page.live()) return say("The connection is lost. Nothing was answered.", "bad");
    try {
      const stands = await signed(question, given);
      if (!stands) return;
      const { yours } = stands;
      if (stands.missing) {
        say(["Your approval counts, and others are needed: ", inline(stands.missing, 200, false)]);
        return next(question.id);
      }
      const told = ending(all.questions.get(question.id) ?? question);
      say(
        [
          `${yours ? "" : "already "}${told}: `,
          inline(yours ? title : question.title, 80, false),
          yours && rating(question.id),
        ],
        yours ? "" : "bad",
      );
      if (yours) next(question.id);
    } catch (thrown) {
      const problem = faultIn(thrown);
      const lost = problem.code === "unreachable";
      const what = lost ? "It is not known whether the answer arrived" : "Nothing was answered";
      say([`${what}: `, inWords(problem)], "bad");
      if (lost) all.readOne(question.id);
      shown?.bar?.rest();
    }
  }

  /**
   * Give the answer, signed with a passkey where that is needed; an edit may turn out to need it.
   *
   * @param {Question} question
   * @param {Sayso.AnswerBody} given
   */
  async function signed(question, given) {
    const sign = async () => all.answer(question, { ...given, proof: await signAnswer(question, given) });
    if (question.signed && given.answer !== "deny") return sign();
    try {
      return await all.answer(question, given);
    } catch (thrown) {
      if (faultIn(thrown).code !== "proof_needed") throw thrown;
      return sign();
    }
  }

  /**
   * After an answer: on to the next that waits, in the order of the list.
   *
   * @param {string} id
   */
  function next(id) {
    const here = rows();
    const after = [...here.slice(here.findIndex((one) => one.id === id) + 1), ...here];
    choose(after.find((one) => one.state === "open")?.id ?? null);
    if (all.questions.get(id)?.state !== "open") all.forget(id); // it may wait for the approvals of others
  }

  /** @param {number} step */
  async function move(step) {
    const from = chosen;
    const beside = () => {
      const ids = rows().map((one) => one.id);
      return ids[ids.indexOf(from ?? "") + step];
    };
    if (step > 0 && !beside()) await all.readMore();
    if (chosen !== from) return;
    const at = beside();
    const known = all.questions.get(at ?? "");
    if (known) unfolded.add(kindOf(known));
    if (at) openOne();
    if (at) choose(at);
    list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  /** @param {string} id */
  function fade(id) {
    if (fading.has(id)) return;
    fading.add(id);
    setTimeout(() => id !== chosen && !kept.has(id) && all.forget(id), FADES_AFTER);
  }

  const timer = setInterval(() => {
    tick(list);
    shown?.tick();
    together?.card.look();
  }, 1000);
  const unfollow = all.follow(draw);
  const moved = () => {
    shown?.bar?.rest();
    together?.card.rest();
  };
  addEventListener("resize", moved);
  narrow.addEventListener("change", draw);
  for (const kind of ["input", "search"]) filter.addEventListener(kind, filtered);
  draw();
  readNamed();
  return {
    get keys() {
      return {
        j: () => move(1),
        k: () => move(-1),
        Enter: () => shown?.body.focus(),
        a: () => shown?.bar?.byKey("once"),
        t: () => shown?.bar?.byKey("task"),
        d: () => shown?.bar?.byKey("deny"),
        e: () => shown?.bar && shown.edit(),
        w: () => shown?.bar && shown.why(),
        ...together?.card.keys,
      };
    },
    line: () => {
      moved();
      shown?.tick();
      draw();
    },
    proposals: draw,
    named: readNamed,
    /** The way back of a phone, from a question to the list; whether that was it. */
    back: () => {
      if (!narrow.matches || !opened || all.questions.size < 2) return false;
      showList();
      return true;
    },
    /** Whether something was changed here that would be lost. */
    changed: () =>
      Boolean(shown?.changed()) || [...kept.keys()].some((id) => all.questions.get(id)?.state === "open"),
    close() {
      together = null;
      clearInterval(timer);
      unfollow();
      removeEventListener("resize", moved);
      narrow.removeEventListener("change", draw);
    },
  };
}

/** The question after the # of the address; empty if there is none. */
function namedQuestion() {
  const [, id = ""] = /^#\/question\/([\w.%-]+)$/.exec(location.hash) ?? [];
  try {
    return decodeURIComponent(id);
  } catch {
    return "";
  }
}

/** Nothing waits: the last decisions are shown, so that the page is worth opening. */
function nothing() {
  if (all.reading.problem) return failed(all.reading.problem, all.readAll);
  if (!all.reading.done || all.reading.more) return loading("what waits");
  const last = h("section", { class: "last", "aria-label": "The last decisions" });
  const heading = h("h2", { hidden: true }, "The last decisions");
  decisions(last, { limit: 8 }, null).then((found) => {
    heading.hidden = !found?.rows.length;
    if (found && heading.hidden) show(last, h("p", { class: "state" }, firstSteps()));
  });
  return [empty(...elsewhere()), heading, last];
}

/**
 * What to do where no agent has asked anything yet.
 *
 * @returns {Child[]}
 */
const firstSteps = () => [
  "No agent has asked anything yet. ",
  h("code", {}, "sayso init"),
  " gates your coding agents, and ",
  h("code", {}, "sayso demo"),
  " shows what a question looks like.",
];

/**
 * That nothing waits, or nothing but proposals and the policy file, which have pages of their own.
 *
 * @returns {[text: string, hint: Child]}
 */
function elsewhere() {
  const [many, file] = [proposalsWaiting(), fileWaiting()];
  if (!many && !file) return ["Nothing waits for you", "New questions appear here by themselves."];
  const count = many === "1" ? "1 proposal waits" : `${many} proposals wait`;
  return [
    "No question waits for you",
    [
      many && [h("a", { href: "/proposals" }, count), " for your decision. "],
      file && [h("a", { href: "/policy" }, file), "."],
    ],
  ];
}
