// Workflows: runs under way, step by step, and the way to withdraw trust in one.

import { get, post } from "../lib/api.js";
import { h, show } from "../lib/dom.js";
import { pressInRow, rows as rowKeys } from "../lib/keys.js";
import { act, empty, fill, line, say, table, time, title } from "../lib/parts.js";
import { inline, visible } from "../lib/visible.js";
import { SINCE } from "../lib/words.js";

/** @import {Column, View} from "../lib/parts.js" */

/** @type {Column[]} */
const COLUMNS = [
  ["Workflow", "first"],
  ["Steps", "wide"],
  ["State", ""],
  ["Began", ""],
  ["Actions", "do"],
];
/** @type {Record<string, string>} */
const MARKS = {
  succeeded: "✓",
  failed: "✗",
  denied: "✗",
  running: "…",
  waiting: "?",
  pending: "?",
  ambiguous: "?",
  stopped: "?",
};

/** States that have words; a step that waits does so for an answer. @type {Record<string, string>} */
const WORDED = { pending: "pending", waiting: "pending", allowed: "allowed", ambiguous: "ambiguous" };

/** @param {string} state */
const stateName = (state) => SINCE[WORDED[state] ?? ""] ?? visible(state);

/**
 * @param {HTMLElement} place
 * @returns {View}
 */
export function view(place) {
  const found = h("section", { "aria-label": "Runs" });
  const read = () => fill(found, "the workflows", () => get("/v1/runs"), draw);
  show(
    place,
    title("Workflows", h("p", { class: "small" }, "Runs under way, and how far they have come.")),
    found,
  );

  /** @param {Sayso.RunProgress[]} all */
  function draw(all) {
    if (!all.length) return empty("No workflow is running", "Runs appear here when an agent starts one.");
    return table("Workflow runs", COLUMNS, all.map(row));
  }
  /** @param {Sayso.RunProgress} run */
  function row(run) {
    const [session, workflow] = [encodeURIComponent(run.session), encodeURIComponent(run.workflow)];
    const revoke = act(
      "Revoke",
      { class: "outlined deny", "aria-label": `Revoke ${visible(run.workflow)}` },
      async () => {
        const told = await post(`/v1/sessions/${session}/workflows/${workflow}/revoke`);
        say([inline(run.workflow), `: ${told.ended} ${told.ended === 1 ? "grant" : "grants"} ended.`]);
        await read();
      },
    );
    const name = h("div", {}, inline(run.workflow, 80), h("div", { class: "small" }, inline(run.run, 60)));
    return line(COLUMNS, [name, steps(run), stateName(run.state), time(run.began), revoke], {
      tabindex: "-1",
    });
  }
  read();
  return {
    keys: {
      ...rowKeys(found),
      r: () => pressInRow(".do button"),
    },
    heard: (event) => ["run", "grant", "hello"].includes(event.kind) && read(),
  };
}

/** @param {Sayso.RunProgress} run */
function steps(run) {
  const all = Object.entries(run.steps);
  if (!all.length) return h("span", { class: "small" }, "no step has begun");
  /** @param {string} state */
  const mark = (state) =>
    h("span", { class: `step ${state in MARKS ? state : ""}`, "aria-hidden": "true" }, MARKS[state] ?? "·");
  return h(
    "ol",
    { class: "steps" },
    all.map(([name, state]) =>
      h("li", {}, mark(state), inline(name, 60), h("span", { class: "small" }, ` ${stateName(state)}`)),
    ),
  );
}
