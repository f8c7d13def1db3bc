// History: one row a call, from its first decision to its end. Each opens to its story, its proof and its trace.

import { page as readPage } from "../lib/api.js";
import { h, show } from "../lib/dom.js";
import { rows as rowKeys } from "../lib/keys.js";
import {
  act,
  chevron,
  empty,
  fill,
  line,
  loading,
  openByRow,
  RESULTS,
  risk,
  table,
  time,
  title,
  verdict,
} from "../lib/parts.js";
import { ruleName } from "../lib/rules.js";
import { inline, visible } from "../lib/visible.js";
import { ANSWERED, SINCE, STEPS } from "../lib/words.js";
import { openPast, triedAgain } from "./past.js";

/** @import {Page, Query} from "../lib/api.js" */
/** @import {Child, Properties} from "../lib/dom.js" */
/** @import {Column, View} from "../lib/parts.js" */

/** @type {Column[]} */
const COLUMNS = [
  ["Time", "when bare"],
  ["Agent", "bare"],
  ["Call", "wide"],
  ["Risk", "bare"],
  ["Rule", "rule"],
  ["Who", ""],
  ["Result", "bare"],
];

/**
 * @param {HTMLElement} place
 * @returns {View}
 */
export function view(place) {
  const found = h("section", { "aria-label": "Calls" });
  /** @type {Record<string, string>} */
  const filter = { text: "", agent: "", domain: "", risk: "", verdict: "" };
  let timer = 0;
  const none = () =>
    Object.values(filter).some(Boolean)
      ? empty("No decision matches.", "Clear the filter to see all of it.")
      : empty("Nothing was decided yet", "Each call of an agent appears here, with how it was decided.");
  const read = () => decisions(found, filter, none());
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(read, 250);
  };
  /**
   * @param {string} name
   * @param {{ placeholder: string, type?: string }} properties
   */
  const field = (name, properties) =>
    h("input", {
      ...properties,
      "aria-label": properties.placeholder,
      oninput: ({ currentTarget: input }) => {
        filter[name] = input.value.trim();
        soon();
      },
    });
  /**
   * @param {string} name
   * @param {string} label
   * @param {[value: string, word: string][]} words
   */
  const choice = (name, label, words) =>
    h(
      "select",
      {
        "aria-label": label,
        onchange: ({ currentTarget: select }) => {
          filter[name] = select.value;
          read();
        },
      },
      h("option", { value: "" }, label),
      words.map(([value, word]) => h("option", { value }, word)),
    );
  show(
    place,
    title("History"),
    h(
      "form",
      { class: "filter", role: "search", onsubmit: (event) => event.preventDefault() },
      field("text", { type: "search", placeholder: "search what ran" }),
      field("agent", { placeholder: "agent" }),
      field("domain", { placeholder: "domain" }),
      choice("risk", "any risk", [
        ["low", "low"],
        ["moderate", "moderate"],
        ["high", "high"],
      ]),
      choice("verdict", "any result", Object.entries(RESULTS)),
    ),
    found,
  );
  read();
  return { keys: rowKeys(found), close: () => clearTimeout(timer) };
}

/**
 * What is looked for in a place: a search that looks through much gives way to the next one.
 *
 * @type {WeakMap<Element, Query>}
 */
const newest = new WeakMap();

/**
 * A table of calls in this place, those decided last first.
 *
 * @param {Element} place
 * @param {Query} query
 * @param {Child} none what is shown if there is none
 */
export function decisions(place, query, none) {
  const search = { ...query };
  newest.set(place, search);
  const wanted = () => newest.get(place) === search;
  /**
   * @param {Page<Sayso.HistoryEntry>} page
   * @returns {Child}
   */
  const draw = ({ rows, more }) => {
    if (!rows.length) return none;
    const made = table("Calls, newest first", COLUMNS, rows.flatMap(row));
    const older = act("Show older ones", { class: "plain" }, async () => {
      const next = more && (await someRows(await more(), wanted));
      made.querySelector("tbody")?.append(...(next?.rows ?? []).flatMap(row));
      more = next?.more ?? null;
      if (!more) older.remove();
    });
    return [made, more && older];
  };
  const read = async () => {
    const found = await readPage("/v1/history", { limit: 50, ...search });
    if (!found.rows.length && found.more && wanted()) show(place, loading("older calls; none matches yet"));
    return someRows(found, wanted);
  };
  return fill(place, "the history", read, draw);
}

/**
 * The page, or the first after it that holds something: a search may look through much and find nothing yet.
 *
 * @param {Page<Sayso.HistoryEntry>} found
 * @param {() => boolean} wanted
 */
async function someRows(found, wanted) {
  while (!found.rows.length && found.more && wanted()) found = await found.more();
  return found;
}

/** @param {Sayso.HistoryEntry} one */
function row(one) {
  const opened = h("td", { colspan: COLUMNS.length });
  const below = h("tr", { class: "opened", hidden: true }, opened);
  const toggle = h(
    "button",
    { type: "button", class: "call", "aria-expanded": "false", onclick: open, data: { opens: "call" } },
    chevron(),
    inline(one.title, 140),
  );
  /** @param {MouseEvent} event */
  function open(event) {
    event.stopPropagation();
    below.hidden = !below.hidden;
    toggle.setAttribute("aria-expanded", String(!below.hidden));
    if (!below.hidden) openPast(opened, one);
  }
  const named = typeof one.call?.command === "string" && one.tool; // else the title names the tool
  const cells = [
    time(one.at),
    inline(one.agent, 40),
    [toggle, named && h("div", { class: "small" }, inline(named, 60))],
    one.risk ? risk(one.risk) : "",
    ruleName(one.rule),
    one.by ? visible(one.by) : "",
    result(one),
  ];
  return [line(COLUMNS, cells, { tabindex: "-1", class: "opens", onclick: openByRow(toggle) }), below];
}

/**
 * How it was decided or answered, and how far it came since.
 *
 * @param {Sayso.HistoryEntry} one
 * @returns {Child}
 */
function result(one) {
  const asked = one.verdict === "ask";
  const said = asked ? (one.answer ? answered(one.answer) : unanswered(one.state)) : verdict(one.verdict);
  const since = SINCE[one.state];
  const repeated = one.steps.find((step) => step.what === "repeated");
  return [
    said,
    since && h("div", { class: "small" }, since),
    repeated && h("div", { class: "small" }, triedAgain(repeated.times).toLowerCase()),
  ];
}

/** @param {string} answer */
function answered(answer) {
  const words = ANSWERED[answer] ?? `allowed (${visible(answer)})`; // item by item
  return h("span", { class: `verdict ${answer === "deny" ? "deny" : "allow"}` }, words);
}

/** @param {string} state */
function unanswered(state) {
  const denied = state === "denied";
  const words = denied ? ANSWERED.deny : STEPS[state];
  return h("span", { class: `verdict ${denied ? "deny" : "ask"}` }, words ?? "asked");
}
