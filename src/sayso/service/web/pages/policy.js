// The policy: domains against tiers, how long autonomous permissions still hold, and what a draft would change.

import { get, post } from "../lib/api.js";
import { h, show } from "../lib/dom.js";
import { rows as rowKeys } from "../lib/keys.js";
import { act, empty, fill, line, table, time, title } from "../lib/parts.js";
import { day, iso, moment, now, span } from "../lib/time.js";
import { visible } from "../lib/visible.js";
import { replayed, suggestions } from "./hindsight.js";
import { changes, policyFile } from "./policy-file.js";

/** @import {Child} from "../lib/dom.js" */
/** @import {Column, View} from "../lib/parts.js" */

const SOON = 3 * 86400;
/** @type {Column[]} */
const COLUMNS = [
  ["Domain", "first"],
  ["Autonomous", "across"],
  ["Needs approval", "across"],
  ["Blocked", "across"],
  ["Trusted channel", "across"],
  ["Decays", "left"],
];

/**
 * @param {HTMLElement} place
 * @param {{ live: () => boolean }} page
 * @returns {View}
 */
export function view(place, page) {
  const found = h("section", { "aria-label": "The policy in force" });
  const read = () => fill(found, "the policy", () => get("/v1/policy"), draw);
  const file = policyFile({ live: page.live, applied: read });
  const way = h("a", { href: "/review" }, "Review what agents may do unasked →");
  const team = h("a", { href: "/people" }, "The people who approve →");
  const readAll = () => [read(), file.read()];
  show(
    place,
    title("Policy", h("span", { class: "way-on" }, team, " ", way)),
    file.element,
    found,
    suggestions(),
    comparing(),
  );
  readAll();
  return {
    keys: rowKeys(found),
    heard: (event) => ["policy", "hello"].includes(event.kind) && readAll(),
    line: file.line,
    close: file.close,
  };
}

/**
 * @param {Sayso.PolicyView} policy
 * @returns {Child}
 */
function draw(policy) {
  const known = Object.keys(policy.operations).length;
  const intro = h(
    "p",
    {},
    "Mode ",
    h("strong", {}, visible(policy.mode)),
    `, ${policy.domains.length} domains, ${known} operations. Digest `,
    h("code", { title: policy.digest }, policy.digest.slice(0, 12)),
    ".",
  );
  if (!policy.domains.length)
    return [
      intro,
      operations(policy),
      empty("This policy names no domains", "It decides by operations and tools alone."),
    ];
  const note =
    "Each operation shows when it was last used, as far back as the audit trail goes; " +
    "one without a time was never used.";
  return [
    intro,
    h("p", { class: "small" }, note),
    table(
      "Domains and tiers",
      COLUMNS,
      policy.domains.map((domain) => row(domain, policy.uses)),
    ),
    operations(policy),
  ];
}

/**
 * @param {Sayso.DomainView} domain
 * @param {Sayso.PolicyView["uses"]} uses
 */
function row(domain, uses) {
  const level = domain.trust_level && h("div", { class: "small" }, `trust: ${visible(domain.trust_level)}`);
  const cells = [
    chips(domain.name, domain.autonomous, "allow", uses),
    chips(domain.name, domain.requires_approval, "ask", uses),
    chips(domain.name, domain.blocked, "deny", uses),
    chips(domain.name, domain.trusted_channel_required, "trusted", uses),
  ];
  return line(
    COLUMNS,
    [h("div", {}, h("strong", {}, visible(domain.name)), level), ...cells, decays(domain)],
    { tabindex: "-1" },
  );
}

/**
 * @param {string} domain
 * @param {string[]} names
 * @param {string} kind
 * @param {Sayso.PolicyView["uses"]} uses
 */
function chips(domain, names, kind, uses) {
  if (!names.length) return "";
  return h(
    "ul",
    { class: `chips ${kind}` },
    names.map((name) => h("li", {}, inPieces(visible(name)), lastUse(uses[`${domain}.${name}`]))),
  );
}

/**
 * A name that breaks after an underscore if it has to.
 *
 * @param {string} name
 */
const inPieces = (name) => name.split(/(?<=_)/).flatMap((one, at) => (at ? [h("wbr"), one] : [one]));

/**
 * How long ago it was last used; if it never was, when it was last asked for or refused.
 *
 * @param {Sayso.LastUse | undefined} use
 */
function lastUse(use) {
  if (!use) return null;
  const at = use.allowed_at || use.asked_at || use.refused_at;
  if (!at) return null;
  const word = use.allowed_at ? "" : use.asked_at ? "asked " : "refused ";
  const told = `${word || "used "}${moment(at)}`;
  return h("time", { class: "use", datetime: iso(at), title: told }, ` ${word}${span(now() - at)} ago`);
}

/** @param {Sayso.DomainView} domain */
function decays(domain) {
  if (domain.decayed) return h("strong", { class: "mark bad" }, "decayed: it asks");
  if (!domain.decays_at) return h("span", { class: "small" }, "never");
  const whole = Math.max(1, domain.decays_at - (domain.reviewed_at ?? domain.decays_at - 1));
  const rest = Math.max(0, domain.decays_at - now());
  const soon = rest <= SOON && h("strong", { class: "mark bad" }, "decays soon");
  return h(
    "div",
    { title: `reviewed ${domain.reviewed_at ? day(domain.reviewed_at) : "never"}` },
    soon,
    h("progress", { max: whole, value: rest, "aria-label": "Until it decays" }),
    h("span", {}, `${span(rest)}, ${day(domain.decays_at)}`),
  );
}

/** @param {Sayso.PolicyView} policy */
function operations(policy) {
  /** @type {Column[]} */
  const columns = [
    ["Operation", ""],
    ["Tier", ""],
    ["Risk", ""],
    ["Category", ""],
    ["Last used", ""],
    ["Last asked", ""],
    ["Last refused", ""],
    ["Why", "wide"],
  ];
  /** @param {number | null | undefined} moment */
  const at = (moment) => (moment ? time(moment) : "–");
  /** @param {Sayso.Json | undefined} value */
  const word = (value) => (typeof value === "string" ? value : "");
  const rows = Object.entries(policy.operations).map(([name, one]) => [
    h("code", {}, visible(name)),
    [visible(word(one.tier) || "–"), one.always_ask ? ", asks every time" : ""],
    visible(word(one.risk) || "–"),
    visible(word(one.category_words) || word(one.category) || "–"),
    at(policy.uses[name]?.allowed_at),
    at(policy.uses[name]?.asked_at),
    at(policy.uses[name]?.refused_at),
    visible(word(one.reason)),
  ]);
  return rows.length
    ? h("details", {}, h("summary", {}, `All ${rows.length} operations`), table("Operations", columns, rows))
    : null;
}

function comparing() {
  const draft = h("textarea", {
    id: "draft",
    rows: 8,
    spellcheck: "false",
    placeholder: "the text of a policy file",
  });
  /** @type {HTMLInputElement} */
  const file = h("input", {
    type: "file",
    accept: ".yaml,.yml,.json",
    "aria-label": "A policy file",
    onchange: async () => {
      draft.value = (await file.files?.[0]?.text()) ?? "";
    },
  });
  const result = h("div", { role: "status" });
  const compare = act("Compare", { class: "solid" }, async () =>
    show(result, difference(await post("/v1/policy/diff", { text: draft.value }))),
  );
  const replay = act("Replay 30 days", { class: "outlined" }, async () =>
    show(result, replayed(await post("/v1/policy/replay", { text: draft.value }))),
  );
  return h(
    "section",
    { class: "compare" },
    h("h2", {}, "Compare with a draft"),
    h(
      "p",
      { class: "small" },
      "Compare decides both in every situation that can matter; Replay decides the recorded past again under the " +
        "draft. Nothing is applied.",
    ),
    h("label", { for: "draft" }, "Draft"),
    draft,
    h("div", { class: "row" }, file, compare, replay),
    result,
  );
}

/**
 * @param {Sayso.DraftDiff} found
 * @returns {Child}
 */
function difference(found) {
  const lines = changes(found);
  if (!lines.length) return empty("The draft decides everything the same way");
  return [
    h(
      "p",
      { class: "big" },
      found.loosens ? "This draft loosens the policy." : "This draft only tightens the policy.",
    ),
    h("ul", { class: "changes" }, lines),
  ];
}
