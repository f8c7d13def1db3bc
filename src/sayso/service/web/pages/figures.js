// Figures: how much Sayso asks, and whether that is worth it. Each picture says its number in words too.

import { get } from "../lib/api.js";
import { bars, columns, key } from "../lib/charts.js";
import { h, show } from "../lib/dom.js";
import { empty, fill, table, title } from "../lib/parts.js";
import { moment, span } from "../lib/time.js";
import { capital, inline } from "../lib/visible.js";

/** @import {Bar} from "../lib/charts.js" */
/** @import {Child} from "../lib/dom.js" */
/** @import {View} from "../lib/parts.js" */

const WEEK = 7 * 86400;
/** @type {[seconds: number, word: string][]} */
const SPANS = [
  [86400, "a day"],
  [WEEK, "a week"],
  [30 * 86400, "a month"],
];
/** @type {["agents" | "categories", string][]} */
const GROUPS = [
  ["agents", "agent"],
  ["categories", "category"],
];
const HOUR = 3600;
const MOST = 8;
/** @param {number | null} value */
const share = (value) => (value === null ? "–" : `${Math.round(value * 100)} %`);
/** @param {number | null} value */
const number = (value) => (value === null ? "–" : value.toLocaleString("en", { maximumFractionDigits: 1 }));

/**
 * @param {HTMLElement} place
 * @returns {View}
 */
export function view(place) {
  const found = h("section", { class: "figures", "aria-label": "Figures" });
  let seconds = WEEK;
  const read = () => fill(found, "the figures", () => get("/v1/stats", { seconds }), draw);
  const choose = h(
    "select",
    { "aria-label": "How far back", onchange: chosen },
    SPANS.map(([value, word]) => h("option", { value }, `the last ${word.replace("a ", "")}`)),
  );
  function chosen() {
    seconds = Number(choose.value);
    read();
  }
  choose.value = String(seconds);
  show(place, title("Figures", choose), found);
  read();
  return {};
}

/**
 * @param {Sayso.StatsView} stats
 * @returns {Child}
 */
function draw({ since, figures, charts }) {
  if (!figures.decisions)
    return empty(
      "Nothing was decided in this time",
      "Choose a longer time, or come back once an agent has asked.",
    );
  return [
    tiles(figures),
    h(
      "div",
      { class: "charts" },
      hours(charts.hours, since),
      against(figures),
      [tally, pace, haste].flatMap((draw) => GROUPS.map(([name, by]) => draw(by, charts[name]))),
    ),
  ];
}

/**
 * The aims, each with what was measured and what is wanted.
 *
 * @param {Sayso.Figures} one
 */
function tiles(one) {
  const fast = one.answers ? `${one.answers_too_fast} of ${one.answers}` : "–";
  /** @type {[name: string, value: string, note: string][]} */
  const all = [
    ["Questions an hour", number(one.prompts_per_hour), `${one.prompts} in all`],
    [
      "Time to answer",
      one.median_time_to_answer === null ? "–" : span(one.median_time_to_answer),
      "half of them quicker",
    ],
    ["Too fast to be read", fast, "answers within a second"],
    ["High risk asked", share(one.high_risk_asked), "aim: 100 %"],
    ["Asked per category and task", number(one.prompts_per_category_per_task), "aim: at most 1"],
    ["Repeated commands already allowed", share(one.repeated_commands_on_allowlist), "aim: at least 50 %"],
    [
      "Questions rated clear",
      one.rated ? share(one.rated_clear) : "–",
      one.rated ? "aim: at least 90 %" : "not rated yet",
    ],
    ["Nobody answered", number(one.expired), "questions that expired"],
  ];
  return h(
    "dl",
    { class: "tiles" },
    all.map(([name, value, note]) =>
      h("div", {}, h("dt", {}, name), h("dd", {}, value, h("span", { class: "small" }, note))),
    ),
  );
}

/**
 * @param {Sayso.Tally[]} tallies
 * @param {number} since
 */
function hours(tallies, since) {
  const byHour = new Map(tallies.map((one) => [Number(one.name), one]));
  const last = Math.floor(Date.now() / 1000 / HOUR) * HOUR;
  /** @type {[label: string, value: number][]} */
  const values = [];
  for (let at = Math.max(Math.floor(since / HOUR) * HOUR, last - 47 * HOUR); at <= last; at += HOUR)
    values.push([moment(at).slice(0, -3), byHour.get(at)?.prompts ?? 0]);
  const most = Math.max(...values.map(([, value]) => value));
  return chart(
    "Questions, hour by hour",
    `At most ${most} in an hour, over the last ${values.length} hours.`,
    columns(values),
    ["Hour", "Questions"],
    values,
  );
}

/** @param {Sayso.Figures} one */
function against(one) {
  /** @type {[name: string, value: number, kind: string][]} */
  const values = [
    ["asked", one.prompts, "ask"],
    ["avoided by earlier answers", one.avoided, "allow"],
    ["denied without asking", one.denied, "deny"],
  ];
  const whole = one.prompts + one.avoided;
  const words = whole
    ? `${one.prompts} ${one.prompts === 1 ? "question" : "questions"} asked, ${one.avoided} avoided by earlier answers.`
    : "No call needed an answer.";
  return chart(
    "Asked against avoided",
    words,
    bars(values.map(([name, value, kind]) => [name, [[value, kind]], number(value)])),
    ["Calls", "How many"],
    values.map(([name, value]) => [name, value]),
  );
}

/**
 * Under each name: how much was asked, and how much of it an earlier word spared.
 *
 * @param {string} by
 * @param {Sayso.Tally[]} tallies
 */
function tally(by, tallies) {
  const asks = tallies.filter((one) => one.prompts + one.avoided);
  const first = most(asks, (one) => one.prompts);
  const words = first?.prompts
    ? [named(first), ` asked most: ${times(first.prompts)}; ${first.avoided} more were avoided.`]
    : "Nobody had to ask.";
  const shown = largest(asks, (one) => one.prompts + one.avoided).map(
    /** @returns {Bar} */ (one) => [
      named(one),
      [
        [one.prompts, "ask"],
        [one.avoided, "allow"],
      ],
      `${number(one.prompts)} / ${number(one.avoided)}`,
    ],
  );
  const picture = [
    key([
      ["asked", "ask"],
      ["avoided", "allow"],
    ]),
    bars(shown),
  ];
  const rows = tallies.map((one) => [named(one), one.prompts, one.avoided, one.allowed, one.denied]);
  return chart(
    `Asked against avoided, by ${by}`,
    words,
    picture,
    [capital(by), "Asked", "Avoided", "Allowed", "Denied"],
    rows,
  );
}

/**
 * Under each name how long answers take: half of them are quicker.
 *
 * @param {string} by
 * @param {Sayso.Tally[]} tallies
 */
function pace(by, tallies) {
  const name = `Time to answer, by ${by}`;
  const answered = tallies.filter((one) => one.answers);
  const slow = most(answered, median);
  if (!slow) return chart(name, "Nobody has answered yet.");
  const shown = largest(answered, median).map(
    /** @returns {Bar} */ (one) => [named(one), [[median(one), "plain"]], span(median(one))],
  );
  return chart(
    name,
    [named(slow), ` takes longest: half of its answers come after ${span(median(slow))}.`],
    bars(shown),
    [capital(by), "Half within", "Answers"],
    answered.map((one) => [named(one), span(median(one)), one.answers]),
  );
}

/**
 * Under each name how many answers came faster than anybody reads.
 *
 * @param {string} by
 * @param {Sayso.Tally[]} tallies
 */
function haste(by, tallies) {
  const name = `Too fast to be read, by ${by}`;
  const answered = tallies.filter((one) => one.answers);
  if (!answered.length) return chart(name, "Nobody has answered yet.");
  const fast = answered.filter((one) => one.answers_too_fast);
  const first = most(fast, (one) => one.answers_too_fast);
  /** @param {Sayso.Tally} one */
  const told = (one) => `${one.answers_too_fast} of ${one.answers}`;
  const words = first
    ? [named(first), `: ${told(first)} within a second.`]
    : "No answer came within a second.";
  const shown = largest(answered, (one) => one.answers_too_fast).map(
    /** @returns {Bar} */ (one) => [
      named(one),
      [
        [one.answers_too_fast, "deny"],
        [one.answers - one.answers_too_fast, "rest"],
      ],
      told(one),
    ],
  );
  return chart(
    name,
    words,
    [
      key([
        ["within a second", "deny"],
        ["later", "rest"],
      ]),
      bars(shown),
    ],
    [capital(by), "Too fast", "Answers"],
    answered.map((one) => [named(one), one.answers_too_fast, one.answers]),
  );
}

/**
 * A name in a picture or a table: an agent chose it, so it is quoted, and cut with its true length.
 *
 * @param {Sayso.Tally} one
 */
const named = (one) => inline(one.name, 40);
/** @param {Sayso.Tally} one */
const median = (one) => one.median_time_to_answer ?? 0;
/** @param {number} count */
const times = (count) => (count === 1 ? "once" : `${number(count)} times`);
/**
 * @param {Sayso.Tally[]} all
 * @param {(one: Sayso.Tally) => number} size
 */
const most = (all, size) =>
  all.reduce((a, b) => (a && size(a) >= size(b) ? a : b), /** @type {Sayso.Tally | null} */ (null));
/**
 * @param {Sayso.Tally[]} all
 * @param {(one: Sayso.Tally) => number} size
 */
const largest = (all, size) => [...all].sort((a, b) => size(b) - size(a)).slice(0, MOST);

/**
 * @param {string} name
 * @param {Child} words
 * @param {Child} [picture]
 * @param {string[]} [heads]
 * @param {Child[][]} [rows]
 */
function chart(name, words, picture, heads = [], rows = []) {
  if (!picture) return h("figure", {}, h("figcaption", {}, h("h2", {}, name), h("p", {}, words)));
  const behind = table(
    name,
    heads.map((head, i) => [head, i ? "number" : ""]),
    rows,
  );
  return h(
    "figure",
    {},
    h("figcaption", {}, h("h2", {}, name), h("p", {}, words)),
    picture,
    h("details", {}, h("summary", {}, "As a table"), behind),
  );
}
