// Figures: how much Sayso asks, and whether that is worth it. Each picture says its number in words too.

import { get } from "../lib/api.js";
import { bars, columns, key } from "../lib/charts.js";
import { h, show } from "../lib/dom.js";
import { empty, fill, table, title } from "../lib/parts.js";
import { moment, span } from "../lib/time.js";
import { inline } from "../lib/visible.js";

const SPANS = [
  [86400, "a day"],
  [7 * 86400, "a week"],
  [30 * 86400, "a month"],
];
const GROUPS = [
  ["agents", "agent"],
  ["categories", "category"],
];
const HOUR = 3600;
const MOST = 8;
const share = (value) => (value === null ? "–" : `${Math.round(value * 100)} %`);
const number = (value) => (value === null ? "–" : value.toLocaleString("en", { maximumFractionDigits: 1 }));

export function view(place) {
  const found = h("section", { class: "figures", "aria-label": "Figures" });
  let seconds = SPANS[1][0];
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

function draw({ since, figures, charts }) {
  if (!figures.decisions) return empty("Nothing was decided in this time");
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

/** The aims, each with what was measured and what is wanted. */
function tiles(one) {
  const fast = one.answers ? `${one.answers_too_fast} of ${one.answers}` : "–";
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
    ["Repeats on the allowlist", share(one.repeated_commands_on_allowlist), "aim: at least 50 %"],
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

function hours(tallies, since) {
  const byHour = new Map(tallies.map((one) => [Number(one.name), one]));
  const last = Math.floor(Date.now() / 1000 / HOUR) * HOUR;
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

function against(one) {
  const values = [
    ["asked", one.prompts, "ask"],
    ["avoided by an earlier word of yours", one.avoided, "allow"],
    ["denied unasked", one.denied, "deny"],
  ];
  const whole = one.prompts + one.avoided;
  const words = whole
    ? `${one.avoided} of ${whole} calls that needed your word had it already.`
    : "No call needed your word.";
  return chart(
    "Asked against avoided",
    words,
    bars(values.map(([name, value, kind]) => [name, [[value, kind]], number(value)])),
    ["Calls", "How many"],
    values.map(([name, value]) => [name, value]),
  );
}

/** Under each name: how much was asked, and how much of it an earlier word spared. */
function tally(by, tallies) {
  const asks = tallies.filter((one) => one.prompts + one.avoided);
  const first = most(asks, (one) => one.prompts);
  const words = first?.prompts
    ? [named(first), ` asked most: ${times(first.prompts)}; ${first.avoided} more were avoided.`]
    : "Nobody had to ask.";
  const shown = largest(asks, (one) => one.prompts + one.avoided).map((one) => [
    named(one),
    [
      [one.prompts, "ask"],
      [one.avoided, "allow"],
    ],
    `${number(one.prompts)} / ${number(one.avoided)}`,
  ]);
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

/** Under each name how long answers take: half of them are quicker. */
function pace(by, tallies) {
  const name = `Time to answer, by ${by}`;
  const answered = tallies.filter((one) => one.answers);
  if (!answered.length) return chart(name, "Nobody has answered yet.");
  const slow = most(answered, (one) => one.median_time_to_answer);
  const shown = largest(answered, (one) => one.median_time_to_answer).map((one) => [
    named(one),
    [[one.median_time_to_answer, "plain"]],
    span(one.median_time_to_answer),
  ]);
  return chart(
    name,
    [named(slow), ` takes longest: half of its answers come after ${span(slow.median_time_to_answer)}.`],
    bars(shown),
    [capital(by), "Half within", "Answers"],
    answered.map((one) => [named(one), span(one.median_time_to_answer), one.answers]),
  );
}

/** Under each name how many answers came faster than anybody reads. */
function haste(by, tallies) {
  const name = `Too fast to be read, by ${by}`;
  const answered = tallies.filter((one) => one.answers);
  if (!answered.length) return chart(name, "Nobody has answered yet.");
  const fast = answered.filter((one) => one.answers_too_fast);
  const first = most(fast, (one) => one.answers_too_fast);
  const told = (one) => `${one.answers_too_fast} of ${one.answers}`;
  const words = first
    ? [named(first), `: ${told(first)} within a second.`]
    : "No answer came within a second.";
  const shown = largest(answered, (one) => one.answers_too_fast).map((one) => [
    named(one),
    [
      [one.answers_too_fast, "deny"],
      [one.answers - one.answers_too_fast, "rest"],
    ],
    told(one),
  ]);
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

/** A name in a picture or a table: an agent chose it, so it is quoted, and cut with its true length. */
const named = (one) => inline(one.name, 40);
const capital = (word) => word[0].toUpperCase() + word.slice(1);
const times = (count) => (count === 1 ? "once" : `${number(count)} times`);
const most = (all, size) => all.reduce((a, b) => (a && size(a) >= size(b) ? a : b), null);
const largest = (all, size) => [...all].sort((a, b) => size(b) - size(a)).slice(0, MOST);

function chart(name, words, picture, heads, rows) {
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
