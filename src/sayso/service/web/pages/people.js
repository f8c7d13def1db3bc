// The people who approve, who stands in for whom, and every broken glass.

import { get, post, remove } from "../lib/api.js";
import { h, show } from "../lib/dom.js";
import { act, empty, fill, line, risk, say, table, time, title } from "../lib/parts.js";
import { inline, visible } from "../lib/visible.js";

/** @import {Child} from "../lib/dom.js" */
/** @import {Column, View} from "../lib/parts.js" */

/** @type {Column[]} */
const PEOPLE = [
  ["Name", "first"],
  ["Groups", ""],
  ["Known by", "wide"],
];
/** @type {Column[]} */
const DELEGATIONS = [
  ["Who stands in", "first"],
  ["What", "wide"],
  ["Until", ""],
  ["Actions", "do"],
];
/** @type {Column[]} */
const BROKEN = [
  ["When", "first"],
  ["Who", "bare"],
  ["What", ""],
  ["Reason", "wide"],
];
/** @type {[hours: number, name: string][]} */
const SPANS = [
  [1, "an hour"],
  [8, "8 hours"],
  [24, "a day"],
  [168, "a week"],
  [720, "30 days"],
];
const RISKS = ["high", "moderate", "low"];

/** @typedef {[team: Sayso.PeopleView, broken: Sayso.BrokenGlass[], policy: Sayso.PolicyView]} Found */

/**
 * @param {HTMLElement} place
 * @returns {View}
 */
export function view(place) {
  const found = h("section", { "aria-label": "People" });
  /** @type {() => Promise<Found>} */
  const all = () => Promise.all([get("/v1/people"), get("/v1/people/broken-glass"), get("/v1/policy")]);
  const read = () => fill(found, "the team", all, draw);
  show(place, title("People", h("p", { class: "small" }, h("a", { href: "/policy" }, "← Policy"))), found);

  /**
   * @param {Found} found
   * @returns {Child}
   */
  function draw([team, broken, policy]) {
    if (!team.people.length)
      return [
        empty(
          "The policy names no people",
          "Any operator's answer is enough. `people` and `approvals` change that.",
        ),
        drawBroken(broken),
      ];
    return [
      h("p", { class: "intro" }, whoYouAre(team)),
      h("h2", {}, "Standing in"),
      team.you !== null &&
        form(
          team,
          policy.domains.map((one) => one.name),
        ),
      drawDelegations(team.delegations),
      h("h2", {}, "What has to be approved"),
      h(
        "ul",
        {},
        team.rules.map((rule) => h("li", {}, visible(rule))),
      ),
      team.break_glass.length > 0 &&
        h("p", {}, "May break the glass: ", team.break_glass.map(visible).join(", "), "."),
      h("h2", {}, "The team"),
      table("The people of the policy", PEOPLE, team.people.map(person)),
      drawBroken(broken),
    ];
  }
  /** @param {Sayso.PeopleView} team */
  function whoYouAre({ you }) {
    return you === null
      ? "The policy names nobody for your sign-in here: you can deny, but not approve or delegate."
      : ["You are ", h("strong", {}, visible(you)), "."];
  }
  /**
   * Let somebody approve for you. The service makes sure that it is never more than you may approve.
   *
   * @param {Sayso.PeopleView} team
   * @param {string[]} domains
   */
  function form({ people, you }, domains) {
    const others = people.filter((one) => one.name !== you).map((one) => option(one.name, visible(one.name)));
    const to = h("select", { id: "delegate-to" }, others);
    const hours = h(
      "select",
      { id: "delegate-for" },
      SPANS.map(([value, name]) => option(value, name)),
    );
    hours.value = "8";
    const domain = h(
      "select",
      { id: "delegate-domain" },
      option("", "everything I may approve"),
      domains.map((name) => option(name, visible(name))),
    );
    const upTo = h(
      "select",
      { id: "delegate-risk" },
      RISKS.map((name) => option(name, name)),
    );
    const add = act("Let them stand in", { class: "solid" }, async () => {
      const body = {
        to: to.value,
        hours: Number(hours.value),
        domain: domain.value || null,
        up_to: upTo.value,
      };
      const made = await post("/v1/people/delegations", body);
      say(`${visible(made.to)} approves for you until the time you chose.`);
      await read();
    });
    return h(
      "div",
      { class: "delegate" },
      field("Who", to),
      field("For how long", hours),
      field("In", domain),
      field("Up to risk", upTo),
      add,
    );
  }
  /** @param {Sayso.DelegationView[]} delegations */
  function drawDelegations(delegations) {
    if (!delegations.length) return h("p", { class: "small" }, "Nobody stands in for anybody.");
    return table("Delegations", DELEGATIONS, delegations.map(delegation));
  }
  /** @param {Sayso.DelegationView} one */
  function delegation(one) {
    const end = act(
      "End",
      { class: "outlined deny", "aria-label": `End: ${visible(one.to)} for ${visible(one.giver)}` },
      async () => {
        await remove(`/v1/people/delegations/${encodeURIComponent(one.id)}`);
        say(`Ended: ${visible(one.to)} no longer stands in for ${visible(one.giver)}.`);
        await read();
      },
    );
    const what = [one.domain === null ? "everything" : visible(one.domain), " up to ", risk(one.up_to)];
    return line(DELEGATIONS, [`${visible(one.to)} for ${visible(one.giver)}`, what, time(one.until), end]);
  }
  read();
  return { heard: (event) => ["answer", "hello"].includes(event.kind) && read() };
}

/**
 * @param {string | number} value
 * @param {string} name
 */
const option = (value, name) => h("option", { value: String(value) }, name);

/**
 * @param {string} name
 * @param {HTMLElement} control
 */
const field = (name, control) => h("div", {}, h("label", { for: control.id }, name), control);

/** @param {Sayso.PersonView} one */
function person(one) {
  const ids = one.ids.map((id) => [h("code", {}, visible(id)), " "]);
  return line(PEOPLE, [visible(one.name), one.groups.map(visible).join(", ") || "none", ids]);
}

/**
 * @param {Sayso.BrokenGlass[]} broken
 * @returns {Child}
 */
function drawBroken(broken) {
  const rows = broken.map((one) =>
    line(BROKEN, [
      time(one.at),
      visible(one.person),
      one.operations.map(visible).join(", "),
      inline(one.reason, 500),
    ]),
  );
  return [
    h("h2", {}, "Broken glass"),
    rows.length
      ? table("Every time somebody allowed alone what others have to approve", BROKEN, rows)
      : h("p", { class: "small" }, "Nobody broke the glass."),
  ];
}
