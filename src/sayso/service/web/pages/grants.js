// Grants: what agents may do right now without asking. Revoking is one key, and immediate.

import { get, remove } from "../lib/api.js";
import { h, queryAll, show } from "../lib/dom.js";
import { exactJson } from "../lib/exact.js";
import { pressInRow, rows as rowKeys } from "../lib/keys.js";
import { paged } from "../lib/paged.js";
import { act, empty, line, risk, say, table, time, title } from "../lib/parts.js";
import { now, span } from "../lib/time.js";
import { foreign, inline, visible } from "../lib/visible.js";

/** @import {Column, View} from "../lib/parts.js" */

/** @type {Column[]} */
const COLUMNS = [
  ["What", "wide"],
  ["Agent", "bare"],
  ["Risk", "bare"],
  ["Time left", "left"],
  ["Uses", "number"],
  ["Given", ""],
  ["Actions", "do"],
];
/** @type {Record<string, string>} */
const ENDS = { turn: "ends with the turn", task: "ends with the task", session: "ends with the session" };

/**
 * @param {HTMLElement} place
 * @returns {View}
 */
export function view(place) {
  const found = h("section", { "aria-label": "Grants" });
  const { read, soon, close } = paged(found, "what is granted", "/v1/grants", draw);
  show(
    place,
    title("Grants", h("p", { class: "small" }, "What agents may do right now without asking.")),
    found,
  );

  /** @param {Sayso.ListedGrant[]} all */
  function draw(all) {
    if (!all.length)
      return empty("Nothing is granted", "Agents ask for everything the policy does not allow by itself.");
    return table("What is granted now", COLUMNS, all.map(row));
  }
  /** @param {Sayso.ListedGrant} grant */
  function row(grant) {
    const revoke = act(
      "Revoke",
      {
        class: "outlined deny",
        "aria-label": `Revoke: ${visible(grant.words)} ${visible(grant.about ?? "")}`,
      },
      async () => {
        const ended = await remove(`/v1/grants/${encodeURIComponent(grant.id)}`);
        const all = [ended, ...ended.also].flatMap((one, at) => [at ? "; " : "", inline(one.words)]);
        say([`${ended.already ? "It was over already" : "Revoked"}: `, ...all]);
        await read();
      },
    );
    const uses = grant.uses === null ? `${grant.used}` : `${grant.used} of ${grant.uses}`;
    const given = h("span", {}, visible(grant.given_by), ", ", time(grant.given_at));
    const cells = [what(grant), inline(grant.agent, 40), risk(grant.risk), left(grant), uses, given, revoke];
    return line(COLUMNS, cells, { tabindex: "-1", data: { id: grant.id } });
  }
  const timer = setInterval(() => tick(found), 1000);
  read();
  return {
    keys: {
      ...rowKeys(found),
      r: () => pressInRow(".do button"),
    },
    heard: (event) => ["grant", "answer", "session", "hello"].includes(event.kind) && soon(),
    close() {
      clearInterval(timer);
      close();
    },
  };
}

/**
 * The grant in plain words, with what it is pinned to.
 *
 * @param {Sayso.ListedGrant} grant
 */
export function what(grant) {
  const pins = [
    grant.pins.command && ["command ", inline(grant.pins.command, 120)],
    grant.pins.tool && ["tool ", inline(grant.pins.tool, 60)],
    grant.pins.targets?.length && ["on ", grant.pins.targets.map((one) => [inline(one, 80), " "])],
    grant.pins.workspace && ["in ", inline(grant.pins.workspace, 80)],
    ENDS[grant.ends_with],
  ].filter(Boolean);
  const shown = pins.flatMap((pin, i) => (i ? ["; ", pin] : [pin]));
  return h(
    "div",
    {},
    grant.about ? [inline(grant.about, 140), h("div", {}, visible(grant.words))] : inline(grant.words, 200),
    h("div", { class: "small" }, shown),
    grant.question && asked(grant.question),
  );
}

/**
 * The question it was an answer to, read when somebody wants to see it.
 *
 * @param {string} question
 */
function asked(question) {
  const place = h("div");
  const see = act("show the call", { class: "plain inline", data: { opens: "call" } }, async () => {
    const told = await get(`/v1/questions/${encodeURIComponent(question)}`);
    show(
      place,
      foreign(told.command ?? `${told.tool} ${exactJson(told.arguments, 2)}`, {
        label: "The call",
      }),
    );
    see.remove();
  });
  return [see, place];
}

/** @param {Sayso.ListedGrant} grant */
function left(grant) {
  const whole = Math.max(1, grant.expires_at - grant.given_at);
  const bar = h("progress", {
    max: whole,
    value: Math.max(0, grant.expires_at - now()),
    "aria-label": "Time left",
  });
  return h("div", { data: { until: grant.expires_at } }, bar, h("span", {}, span(grant.expires_at - now())));
}

/** @param {Element} place */
function tick(place) {
  for (const one of queryAll(place, "[data-until]")) {
    const [bar, word] = [one.querySelector("progress"), one.querySelector("span")];
    const rest = Math.max(0, Number(one.dataset.until) - now());
    if (bar) bar.value = rest;
    if (word) word.textContent = rest ? span(rest) : "over";
  }
}
