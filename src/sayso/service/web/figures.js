// Figures: how much Sayso asks, and whether that is worth it. Each picture says its number in words too.

import { get } from "./api.js";
import { bars, columns } from "./charts.js";
import { h, show } from "./dom.js";
import { empty, fill, table, title } from "./parts.js";
import { moment, span } from "./time.js";
import { visible } from "./visible.js";

const SPANS = [
  [86400, "a day"],
  [7 * 86400, "a week"],
  [30 * 86400, "a month"],
];
const HOUR = 3600;
const share = (value) => (value === null ? "–" : `${Math.round(value * 100)} %`);
const number = (value) => (value === null ? "–" : value.toLocaleString("en", { maximumFractionDigits: 1 }));

export function view(place) {
  const found = h("section", { class: "figures", "aria-label": "Figures" });
  let seconds = SPANS[1][0];
  const read = () => fill(found, "the figures", () => get("/v1/stats", { seconds }), draw);
  const choose = h(
    "select",
    { "aria-label": "How far back", onchange: () => ((seconds = Number(choose.value)), read()) },
    SPANS.map(([value, word]) => h("option", { value }, `the last ${word.replace("a ", "")}`)),
  );
  choose.value = seconds;
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
      tally("By agent", charts.agents),
      tally("By category", charts.categories),
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
    values.push([moment(at).slice(0, -3), byHour.get(at)?.asked ?? 0]);
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
    bars(values),
    ["", "Calls"],
    values.map(([name, value]) => [name, value]),
  );
}

function tally(name, tallies) {
  const top = tallies.slice(0, 8);
  if (!top.length) return null;
  const first = top.reduce((a, b) => (b.asked > a.asked ? b : a));
  const words = first.asked
    ? `${visible(first.name)} asked most: ${first.asked} times.`
    : "Nobody had to ask.";
  const rows = tallies.map((one) => [visible(one.name), one.asked, one.avoided, one.allowed, one.denied]);
  return chart(
    name,
    words,
    bars(top.map((one) => [visible(one.name).slice(0, 40), one.asked, "ask"])),
    ["", "Asked", "Avoided", "Allowed", "Denied"],
    rows,
  );
}

function chart(name, words, picture, heads, rows) {
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
