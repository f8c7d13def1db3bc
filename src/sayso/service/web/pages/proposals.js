// Proposals: changes of policy, memory and prompts. The list first, what waits on top; each opens to all of it.

import { faultIn, get, post } from "../lib/api.js";
import { h, query, queryAll, show } from "../lib/dom.js";
import { rows as rowKeys } from "../lib/keys.js";
import { paged } from "../lib/paged.js";
import {
  chevron,
  empty,
  failed,
  inWords,
  line,
  loading,
  openByRow,
  say,
  table,
  time,
  title,
} from "../lib/parts.js";
import { signProposal } from "../lib/passkeys.js";
import { now, span } from "../lib/time.js";
import { capital, inline, visible } from "../lib/visible.js";
import { whenReleased } from "../lib/wake.js";
import { card } from "../proposal/card.js";
import { coolsIn, isPast, nextStep, stateMark, timeBar, undoFor } from "../proposal/states.js";

/** @import {Child} from "../lib/dom.js" */
/** @import {Column, View} from "../lib/parts.js" */
/** @import {Act} from "../proposal/bar.js" */
/** @import {Proposed} from "../proposal/states.js" */

/** @type {Column[]} */
const COLUMNS = [
  ["Change", "wide"],
  ["State", "bare"],
  ["Time left", "left bare"],
  ["Proposed by", ""],
  ["Proposed", ""],
];
const PATH = "/proposals";
const READS_AGAIN = 60_000;
/** @type {Record<Act, string>} */
const DONE = {
  approve: "Approved",
  reject: "Rejected",
  withdraw: "Withdrawn",
  apply: "Applied",
  undo: "Undone",
};

/**
 * @param {HTMLElement} place
 * @param {{ live: () => boolean }} page
 * @returns {View}
 */
export function view(place, page) {
  const found = h("section", { "aria-label": "Proposals" });
  const detail = h("section", { class: "detail alone", "aria-label": "The proposal" });
  const heading = title(
    "Proposals",
    h(
      "p",
      { class: "small" },
      "Changes to policy, memory and prompts. None takes effect until somebody approves it.",
    ),
  );
  const { read, soon, close } = paged(found, "the proposals", "/v1/proposals", draw);
  /** @type {Proposed[]} */
  let listed = [];
  let id = named();
  /** @type {ReturnType<typeof card> | null} */
  let shown = null;
  /** @type {Act | null} */
  let sent = null;
  let turn = 0;

  /** @param {Sayso.ProposalView[]} all */
  function draw(all) {
    listed = all.map((one) => ({ ...one, readAt: now() }));
    if (!all.length)
      return empty("Nothing is proposed", [
        "A change appears here once somebody files it: ",
        h("code", {}, "sayso propose new"),
        ", or a signed message.",
      ]);
    const [open, past] = [listed.filter((one) => !isPast(one)), listed.filter(isPast)];
    return [
      open.length
        ? table("Open proposals", COLUMNS, open.map(row))
        : h("p", { class: "big" }, "No proposal waits for you."),
      past.length
        ? [h("h2", {}, "The past"), table("Proposals that are over", COLUMNS, past.map(row))]
        : null,
    ];
  }
  /** @param {Proposed} one */
  function row(one) {
    const { proposal } = one;
    const name = proposal.path ? `${proposal.root}/${proposal.path}` : proposal.id;
    const opener = h(
      "button",
      { type: "button", class: "call", data: { opens: proposal.id }, onclick: () => open(proposal.id) },
      chevron(),
      inline(name, 120),
    );
    const why = proposal.reason ? h("div", { class: "small why-line" }, inline(proposal.reason, 140)) : null;
    const cells = [
      h("div", {}, opener, why),
      h("span", { data: { state: proposal.id } }, stateMark(one)),
      h("div", { data: { left: proposal.id } }, leftOf(one)),
      proposal.by ? inline(proposal.by, 40) : "",
      proposal.proposed_at ? time(proposal.proposed_at) : "",
    ];
    return line(COLUMNS, cells, { tabindex: "-1", class: "opens", onclick: openByRow(opener) });
  }

  /** The proposal that the address names; empty for the list. */
  function named() {
    return decodeURIComponent(location.hash.slice(1));
  }
  /** @param {string} wanted */
  function open(wanted) {
    window.history.pushState({ proposal: true }, "", `${PATH}#${encodeURIComponent(wanted)}`);
    drawPlace();
  }
  function toList() {
    if (window.history.state?.proposal) return window.history.back();
    window.history.pushState(null, "", PATH);
    drawPlace();
  }
  /** Show what the address says. */
  function drawPlace() {
    const before = id;
    id = named();
    shown = null;
    sent = null;
    document.body.classList.toggle("at-inbox", Boolean(id));
    if (!id) {
      show(place, heading, found);
      read().then(() => before && query(found, `tr:has([data-opens="${CSS.escape(before)}"])`)?.focus());
      return;
    }
    show(detail);
    show(place, h("h1", { class: "hidden", tabindex: "-1" }, "Proposal"), detail);
    readOne();
  }
  const way = () =>
    h(
      "div",
      { class: "way" },
      h("button", { type: "button", class: "plain", onclick: toList }, "← All proposals"),
    );

  /** Read the one that is open. Its card is made again only if something was decided about it meanwhile. */
  async function readOne() {
    const [wanted, mine] = [id, ++turn];
    if (!detail.hasChildNodes()) show(detail, way(), loading("the proposal"));
    try {
      const one = { ...(await get(`/v1/proposals/${encodeURIComponent(wanted)}`)), readAt: now() };
      await whenReleased();
      if (wanted === id && mine === turn) drawCard(one);
    } catch (thrown) {
      const problem = faultIn(thrown);
      if (wanted !== id || mine !== turn || problem.status === 401) return;
      shown = null;
      show(detail, way(), failed(problem, readOne));
    }
  }
  /** @param {Proposed} one */
  function drawCard(one) {
    const before = shown?.one;
    if (before && shown && alike(before, one)) {
      Object.assign(before, one);
      return shown.tick();
    }
    const news =
      before && before.proposal.state !== one.proposal.state && !acted ? capital(nextStep(one)) : "";
    const focused = detail.contains(document.activeElement);
    acted = false;
    shown = card(one, { does, live: page.live, sent: () => sent, news });
    show(detail, way(), shown.element);
    if (news) say(["Meanwhile: ", visible(news)]);
    if (!before || focused) shown.body.focus({ preventScroll: true });
  }
  let acted = false; // what became of it was done here

  /**
   * Do this with the open proposal, signed with a passkey where that is needed.
   *
   * @param {Act} what
   * @param {string} why
   */
  async function does(what, why) {
    const one = shown?.one;
    if (!one || sent) return;
    if (!page.live()) return say("The connection is lost. Nothing was done.", "bad");
    sent = what;
    shown?.bar?.draw();
    try {
      const moved = await carryOut(one, what, why);
      acted = true;
      say([`${DONE[what]}: `, inline(`${moved.root}/${moved.path}`, 120)]);
    } catch (thrown) {
      const problem = faultIn(thrown);
      const lost = problem.code === "unreachable";
      const what_ = lost ? "It is not known whether that arrived" : "Nothing was done";
      say([`${what_}: `, inWords(problem)], "bad");
    } finally {
      sent = null;
      shown?.bar?.rest();
      await readOne();
    }
  }

  /** @param {number} step */
  function move(step) {
    const ids = listed.map((one) => one.proposal.id);
    const beside = ids[ids.indexOf(id) + step];
    if (!beside || !ids.includes(id)) return;
    window.history.replaceState(window.history.state, "", `${PATH}#${encodeURIComponent(beside)}`);
    drawPlace();
  }
  function tick() {
    shown?.tick();
    for (const one of listed) {
      const name = CSS.escape(one.proposal.id);
      for (const cell of queryAll(found, `[data-left="${name}"]`)) redraw(cell, leftOf(one));
      for (const cell of queryAll(found, `[data-state="${name}"]`)) redraw(cell, stateMark(one));
    }
  }
  function again() {
    if (document.hidden) return;
    if (id) readOne();
    else soon();
  }
  const moved = () => shown?.bar?.rest();
  const timers = [setInterval(tick, 1000), setInterval(again, READS_AGAIN)];
  addEventListener("resize", moved);
  const list = rowKeys(found);
  drawPlace();
  if (id) read();
  return {
    get keys() {
      if (!id) return list;
      return {
        j: () => move(1),
        k: () => move(-1),
        Enter: () => shown?.body.focus(),
        a: () => shown?.bar?.byKey("yes"),
        d: () => shown?.bar?.byKey("no"),
        u: () => shown?.bar?.byKey("undo"),
        Escape: toList,
      };
    },
    heard(event) {
      if (event.kind !== "policy" && event.kind !== "hello") return;
      if (id && (event.kind === "hello" || event.id === id)) readOne();
      soon();
    },
    line: moved,
    back: () => {
      drawPlace();
      return true;
    },
    close() {
      timers.forEach(clearInterval);
      removeEventListener("resize", moved);
      close();
    },
  };
}

/**
 * Whether a card shows both of them: nothing was decided in between, and the file is as it was.
 *
 * @param {Proposed} one
 * @param {Proposed} other
 */
function alike(one, other) {
  /** @param {Proposed} of */
  const facts = (of) => JSON.stringify([of.digest, of.fits, of.hindrance, of.signed, of.effect, of.proposal]);
  return facts(one) === facts(other);
}

/**
 * @param {Element} cell
 * @param {Child} fresh
 */
function redraw(cell, fresh) {
  const made = show(h("div"), fresh);
  if (made.textContent !== cell.textContent) cell.replaceChildren(...made.childNodes);
}

/**
 * @param {Proposed} one
 * @returns {Child}
 */
function leftOf(one) {
  const { state, note } = one.proposal;
  if (state === "applied") return [timeBar(one), h("span", {}, `${span(undoFor(one))} to undo it`)];
  if (state === "proposed" && coolsIn(one) <= 0) return h("span", {}, "applies at once when approved");
  if (state === "proposed") return [timeBar(one), h("span", {}, `cools another ${span(coolsIn(one))}`)];
  if (state !== "approved" || note) return null;
  if (coolsIn(one) <= 0) return h("span", {}, "within a minute");
  const still = one.clock_trusted ? "" : ", clock not trusted";
  return [timeBar(one), h("span", {}, `${span(coolsIn(one))} until it applies${still}`)];
}

/**
 * @param {Proposed} one
 * @param {Act} what
 * @param {string} why
 * @returns {Promise<Sayso.Proposal>}
 */
async function carryOut({ proposal, digest, signed }, what, why) {
  const id = encodeURIComponent(proposal.id);
  const reason = why ? { why } : {};
  if (what === "reject") return post(`/v1/proposals/${id}/reject`, reason);
  if (what === "withdraw") return post(`/v1/proposals/${id}/withdraw`, reason);
  if (what === "apply") return post(`/v1/proposals/${id}/apply`);
  /** @param {Sayso.SignedBody} body */
  const send = (body) =>
    what === "undo" ? post(`/v1/proposals/${id}/undo`, body) : post(`/v1/proposals/${id}/approve`, body);
  const sign = async () => send({ digest, proof: await signProposal(proposal.id, what, digest) });
  if (signed) return sign();
  try {
    return await send({ digest });
  } catch (thrown) {
    if (faultIn(thrown).code !== "proof_needed") throw thrown;
    return sign();
  }
}
