// Sessions: what is open, what each is at and when it was last seen; the button that stops it, and the way back.

import { post } from "../lib/api.js";
import { confirmed } from "../lib/confirm.js";
import { h, query, queryAll, show } from "../lib/dom.js";
import { rows as rowKeys } from "../lib/keys.js";
import { paged } from "../lib/paged.js";
import { act, empty, line, say, table, time, title } from "../lib/parts.js";
import { iso, now, span } from "../lib/time.js";
import { inline, visible } from "../lib/visible.js";

/** @import {Child} from "../lib/dom.js" */
/** @import {Column, View} from "../lib/parts.js" */

/** @typedef {Sayso.SessionView} Session */

/** @type {Column[]} */
const COLUMNS = [
  ["Agent", "first"],
  ["Task", "across"],
  ["Turn", "number"],
  ["Questions", "number"],
  ["Consents", ""],
  ["Last seen", ""],
  ["Since", ""],
  ["Actions", "do"],
];

/**
 * @param {HTMLElement} place
 * @returns {View}
 */
export function view(place) {
  const found = h("section", { "aria-label": "Sessions" });
  const { read, soon, close } = paged(found, "the sessions", "/v1/sessions", draw);
  const all = act("Stop all agents", { class: "outlined deny" }, async () => {
    if (!(await confirmed("Stop all agents?", clearing(await read()), "Stop all"))) return;
    const { stopped, settled } = await post("/v1/sessions/stop");
    const others = settled ? "" : " New ones kept coming: stop them again.";
    say(`${stopped} stopped: everything asks until you let them go on.${others}`, settled ? "" : "bad");
    await read();
    if (all.classList.contains("away")) query(place, "h1")?.focus();
  });
  const onAll = act("Let all go on", { class: "outlined" }, async () => {
    const { resumed, busy, tampered } = await post("/v1/sessions/resume");
    const others =
      busy + tampered ? ` ${busy + tampered} stay stopped: try again, or look at the audit.` : "";
    say(`${resumed} may go on: the policy decides again. What was cleared stays cleared.${others}`);
    await read();
    if (onAll.hidden) query(place, "h1")?.focus();
  });
  show(
    place,
    title(
      "Sessions",
      h(
        "p",
        { class: "small" },
        "Sessions that are open. A stopped one asks for everything until you let it go on.",
      ),
      h("div", { class: "acts" }, onAll, all),
    ),
    found,
  );

  /** @param {Session[]} rows */
  function draw(rows) {
    all.classList.toggle("away", !rows.some((one) => !one.stopped));
    onAll.hidden = !rows.some((one) => one.stopped);
    if (!rows.length)
      return empty(
        "No session is open",
        "A session begins when an agent, or the program it lives in, speaks to Sayso.",
      );
    return table("Open sessions", COLUMNS, rows.map(row));
  }
  /** @param {Session} session */
  function row(session) {
    const button = act(
      "Stop",
      { class: "outlined deny", "aria-label": `Stop ${visible(session.agent)}` },
      async () => {
        await stop(session.id);
        say([
          inline(session.agent, 60),
          ` is stopped: everything asks until you let it go on. ${taken(session)}`,
        ]);
        await read();
      },
    );
    const goOn = act(
      "Let it go on",
      { class: "outlined", "aria-label": `Let ${visible(session.agent)} go on` },
      async () => {
        const { held_by: above } = await post(`/v1/sessions/${encodeURIComponent(session.id)}/resume`);
        const held = above
          ? ` A session above it is stopped (${visible(above)}): until that goes on, it asks.`
          : "";
        say([inline(session.agent, 60), ` may go on: the policy decides again.${held}`], above ? "bad" : "");
        await read();
      },
    );
    return line(
      COLUMNS,
      [
        agent(session),
        task(session),
        session.turn,
        session.questions || "–",
        consents(session),
        seen(session),
        time(session.opened_at),
        acts(session.stopped ? goOn : null, session.stopped ? null : button),
      ],
      { tabindex: "-1" },
    );
  }
  const timer = setInterval(() => {
    for (const one of queryAll(found, "[data-seen]")) one.textContent = ago(Number(one.dataset.seen));
  }, 1000);
  // That a program has fallen silent makes no event: only reading again shows it.
  const look = setInterval(soon, 10_000);
  read();
  return {
    keys: rowKeys(found),
    heard: (event) =>
      ["session", "hello", "grant", "question", "answer", "run", "waiting"].includes(event.kind) && soon(),
    close() {
      clearInterval(timer);
      clearInterval(look);
      close();
    },
  };
}

/**
 * The way back and Stop have a place each: neither ever takes the other's.
 *
 * @param {Child} back
 * @param {Child} stops
 */
const acts = (back, stops) => h("div", { class: "two-acts" }, h("span", {}, back), h("span", {}, stops));

/** @param {string} id */
const stop = (id) => post(`/v1/sessions/${encodeURIComponent(id)}/stop`);

/** @param {number} at */
const ago = (at) => `${span(now() - at)} ago`;

/**
 * At work only if that is known: it keeps the lease of a call, or holds a connection. Else since when it is silent,
 * if it holds a call, or when it was last seen.
 *
 * @param {Session} session
 */
function seen(session) {
  if (session.presence === "working") return h("strong", { class: "verdict allow" }, "at work");
  if (session.presence === "waiting") return h("strong", { class: "verdict ask" }, "waits for an answer");
  if (session.last_seen === null) return "not lately";
  if (session.presence === "silent")
    return h("strong", { class: "verdict ask" }, "not heard from since ", time(session.last_seen));
  return h(
    "span",
    { title: iso(session.last_seen), data: { seen: session.last_seen } },
    ago(session.last_seen),
  );
}

/**
 * What a stop took from a session; nothing is said of what there was none of.
 *
 * @param {Session} session
 */
function taken(session) {
  const asked = session.questions;
  return [
    lost(session) && `It lost ${count(lost(session), "grant")}.`,
    asked && `${count(asked, "open question")} ${asked === 1 ? "was" : "were"} withdrawn.`,
  ]
    .filter(Boolean)
    .join(" ");
}

/**
 * How many grants a stop clears; standing consent for a command stays.
 *
 * @param {Session} session
 */
const lost = (session) => session.grants.filter((grant) => grant.kind !== "command").length;

/**
 * What stopping all of these clears, in words, before it is done; they were read just now, or could not be.
 *
 * @param {{ rows: Session[], more: unknown } | null} found
 */
function clearing(found) {
  if (!found) return ["Stops every session. How much that clears could not be read. This cannot be undone."];
  const { rows, more } = found;
  const working = rows.filter((one) => !one.stopped);
  /** @param {(session: Session) => number} count */
  const sum = (count) => working.reduce((whole, one) => whole + count(one), 0);
  const grants = sum(lost);
  const standing = sum((one) => one.grants.filter((grant) => grant.kind === "command").length);
  const and = more ? " at least" : "";
  const stays = `Standing consent for ${count(standing, "command")} stays, and counts again once they go on.`;
  return [
    `Stops${and} ${count(working.length, "session")}: from then on everything asks, even what the policy allows.`,
    `Clears ${count(grants, "grant")} and withdraws ${count(
      sum((one) => one.questions),
      "open question",
    )}. This cannot be undone.`,
    ...(standing ? [stays] : []),
  ];
}

/**
 * @param {number} number
 * @param {string} word
 */
const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

/** @param {Session} session */
function agent(session) {
  const through = session.opened_by &&
    session.opened_by !== session.agent && [" through ", inline(session.opened_by, 60)];
  const marks = [
    session.stopped && h("strong", { class: "mark" }, "stopped"),
    session.tampered && h("strong", { class: "mark bad" }, "tampered with: it grants nothing"),
  ];
  return h(
    "div",
    {},
    inline(session.agent, 60),
    through && h("span", { class: "small" }, through),
    " ",
    marks,
    h("div", { class: "small" }, inline(session.id, 60)),
  );
}

/** @param {Session} session */
function task(session) {
  const where = session.workspace && h("div", { class: "small" }, "in ", inline(session.workspace, 100));
  const phase = session.phase ? ` (${visible(session.phase)})` : "";
  return h("div", {}, session.task ? [inline(session.task, 120), phase] : "no task", where);
}

/** @param {Session} session */
function consents(session) {
  if (!session.grants.length) return "none";
  const list = session.grants.map((grant) =>
    h("li", {}, inline(grant.words, 100), grant.about && [": ", inline(grant.about, 100)]),
  );
  const count = session.grants.length === 1 ? "1 grant" : `${session.grants.length} grants`;
  return h("details", {}, h("summary", {}, count), h("ul", {}, list));
}
