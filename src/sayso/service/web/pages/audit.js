// Audit: how far the trail goes and is signed, whether it holds, its entries, and a proof for each.

import { get, post, page as readPage } from "../lib/api.js";
import { h, show } from "../lib/dom.js";
import { exactJson } from "../lib/exact.js";
import { rows as rowKeys } from "../lib/keys.js";
import { act, chevron, empty, fill, line, openByRow, proof, table, time, title } from "../lib/parts.js";
import { moment } from "../lib/time.js";
import { foreign, inline, visible } from "../lib/visible.js";

/** @import {Page} from "../lib/api.js" */
/** @import {Child} from "../lib/dom.js" */
/** @import {Column, View} from "../lib/parts.js" */

/** @type {Column[]} */
const COLUMNS = [
  ["Entry", "number"],
  ["Time", "when bare lead"],
  ["Event", "bare lead"],
  ["What", "wide"],
  ["Proof", "bare saves"],
];
/** @param {number} number */
const many = (number) => number.toLocaleString("en");

/**
 * @param {HTMLElement} place
 * @returns {View}
 */
export function view(place) {
  const state = h("section", { class: "chain", "aria-label": "State of the chain" });
  const result = h("div", { role: "status" });
  const found = h("section", { "aria-label": "Entries" });
  let text = "";
  let timer = 0;
  const read = () =>
    fill(found, "the entries", () => readPage("/v1/audit/entries", { limit: 50, text }), entries);
  const search = h("input", {
    type: "search",
    placeholder: "search the entries",
    "aria-label": "Search the entries",
  });
  search.addEventListener("input", () => {
    text = search.value.trim();
    clearTimeout(timer);
    timer = setTimeout(read, 250);
  });
  const check = act("Verify all", { class: "solid" }, async () => {
    show(result, h("p", {}, "Verifying …"));
    show(result, verdict(await post("/v1/audit/verify", {})));
  });
  show(
    place,
    title("Audit", check),
    state,
    result,
    h("form", { class: "filter", role: "search", onsubmit: (event) => event.preventDefault() }, search),
    found,
  );
  fill(state, "the chain", () => get("/v1/audit"), chain);
  read();
  return { keys: rowKeys(found), close: () => clearTimeout(timer) };
}

/** @param {Sayso.AuditState} told */
function chain(told) {
  const signed = told.checkpoint_at
    ? `signed to entry ${many(told.checkpoint_size)}, checkpoint ${moment(told.checkpoint_at)}`
    : "not signed yet";
  const newest = told.newest_at ? `, the newest of ${moment(told.newest_at)}` : "";
  return h("p", { class: "big" }, `${many(told.entries)} entries${newest}; ${signed}.`);
}

/**
 * @param {Sayso.AuditVerification} told
 * @returns {Child}
 */
function verdict(told) {
  const reported = told.tampering && h("p", { class: "fault", role: "alert" }, `⚠ ${told.tampering}`);
  if (told.clean && reported)
    return [h("p", { class: "big" }, `Verified to entry ${many(told.entries)}.`), reported];
  if (told.clean)
    return h(
      "p",
      { class: "verified" },
      `✓ Verified to entry ${many(told.entries)}: nothing was changed, added, taken out or moved.`,
    );
  return h(
    "div",
    { class: "fault", role: "alert" },
    reported,
    h(
      "p",
      {},
      `✗ The trail does not hold: ${many(told.findings.length)} findings in ${many(told.entries)} entries.`,
    ),
    h(
      "ul",
      {},
      told.findings.map((one) => h("li", {}, visible(one))),
    ),
  );
}

/**
 * @param {Page<Sayso.AuditEntryView>} page
 * @returns {Child}
 */
function entries({ rows, more }) {
  if (!rows.length) return empty("No entry fits");
  const made = table("Entries, newest first", COLUMNS, rows.flatMap(row));
  const older = act("Show older ones", { class: "plain" }, async () => {
    const next = await more?.();
    made.querySelector("tbody")?.append(...(next?.rows ?? []).flatMap(row));
    more = next?.more ?? null;
    if (!more) older.remove();
  });
  return [made, more && older];
}

/** @param {Sayso.AuditEntryView} one */
function row(one) {
  const [at = "", event = "", ...rest] = one.line.split(" | ");
  const opened = h("td", { colspan: COLUMNS.length });
  const below = h("tr", { class: "opened", hidden: true }, opened);
  const toggle = h(
    "button",
    { type: "button", class: "call", "aria-expanded": "false", data: { opens: "entry" } },
    chevron(),
    inline(rest.filter((one) => one !== "-").join(" | ") || event, 140),
  );
  toggle.addEventListener("click", (event) => {
    event.stopPropagation();
    below.hidden = !below.hidden;
    toggle.setAttribute("aria-expanded", String(!below.hidden));
    show(
      opened,
      foreign(one.entry ? exactJson(one.entry, 2) : one.line, { label: `Entry ${one.seq}` }),
      h("p", { class: "small" }, "Hash ", inline(one.hash, 80)),
    );
  });
  const when = Date.parse(at) ? time(Date.parse(at) / 1000) : visible(at);
  const place = one.stream === "main" ? many(one.seq) : `${visible(one.stream)} ${many(one.seq)}`;
  return [
    line(
      COLUMNS,
      [place, when, visible(event), toggle, one.stream === "main" ? proof(one.seq, "proof") : ""],
      { tabindex: "-1", class: "opens", onclick: openByRow(toggle) },
    ),
    below,
  ];
}
