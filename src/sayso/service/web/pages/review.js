// The review: what agents may do unasked, how they used it since the last review, and when that ends by itself.

import { faultIn, get, post } from "../lib/api.js";
import { confirmed } from "../lib/confirm.js";
import { h, show } from "../lib/dom.js";
import { pressInRow, rows as rowKeys } from "../lib/keys.js";
import { act, empty, fill, inWords, line, say, table, title } from "../lib/parts.js";
import { signReview } from "../lib/passkeys.js";
import { day, span } from "../lib/time.js";
import { visible } from "../lib/visible.js";

/** @import {Child} from "../lib/dom.js" */
/** @import {Column, View} from "../lib/parts.js" */

/** @typedef {Sayso.DomainReview} Review */

/** @type {Column[]} */
const COLUMNS = [
  ["Domain", "first"],
  ["May do unasked, and did since the last review", "wide"],
  ["Decays", "left"],
  ["Actions", "do"],
];
const DAY = 86_400;
const STILL =
  "The clock of this machine is not trusted: everything asks until you confirm it (sayso store clock).";

/**
 * @param {HTMLElement} place
 * @returns {View}
 */
export function view(place) {
  const found = h("section", { "aria-label": "Domains to review" });
  const read = () => fill(found, "the review", () => get("/v1/policy/reviews"), draw);
  show(
    place,
    title("Review", h("p", { class: "small" }, h("a", { href: "/policy" }, "← Policy"))),
    h(
      "p",
      { class: "intro" },
      "What agents may do without asking you. Keep what you still want. What you do not keep decays by itself: from that day on it asks.",
    ),
    found,
  );

  /**
   * @param {Review[]} all
   * @returns {Child}
   */
  function draw(all) {
    if (!all.length)
      return empty(
        "Agents may do nothing unasked",
        "This policy lists no autonomous permission, so there is nothing to review.",
      );
    return [
      all.some((one) => !one.clock_trusted) && h("p", { class: "raised", role: "status" }, STILL),
      table("Domains, those that decay first on top", COLUMNS, all.map(row)),
    ];
  }
  /** @param {Review} one */
  function row(one) {
    const keep = act(
      one.signed ? "Keep with a passkey" : "Keep",
      { class: "outlined", data: { keep: one.domain } },
      () => keepDomain(one),
    );
    keep.append(h("span", { class: "hidden" }, ` what ${visible(one.domain)} may do unasked`));
    const cells = [
      h("strong", {}, visible(one.domain)),
      h(
        "ul",
        { class: "uses" },
        one.permissions.map((each) => use(one.domain, each)),
      ),
      holds(one),
      keep,
    ];
    return line(COLUMNS, cells, { tabindex: "-1" });
  }
  /** @param {Review} one */
  async function keepDomain(one) {
    const names = one.permissions.map((each) => visible(each.operation)).join(", ");
    const lines = [`Agents may go on doing this unasked: ${names}.`];
    if (!(await confirmed(`Keep ${visible(one.domain)}?`, lines, "Keep"))) return;
    const kept = await signed(one);
    const fresh = kept.find((each) => each.domain === one.domain);
    const until = fresh?.decay.decays_at ? ` until ${day(fresh.decay.decays_at)}` : "";
    say(`Kept: what ${visible(one.domain)} may do unasked holds${until}.`);
    await read();
  }
  read();
  return {
    keys: { ...rowKeys(found), y: () => pressInRow("[data-keep]") },
    heard: (event) => ["policy", "hello"].includes(event.kind) && read(),
  };
}

/**
 * Keep it as it was shown, signed with a passkey where that is needed.
 *
 * @param {Review} one
 */
async function signed({ domain, digest, signed: must }) {
  /** @param {Sayso.ReviewBody} body */
  const send = (body) => post(`/v1/policy/reviews/${encodeURIComponent(domain)}`, body);
  const sign = async () => send({ digest, proof: await signReview(domain, digest) });
  if (must) return sign();
  try {
    return await send({ digest });
  } catch (thrown) {
    if (faultIn(thrown).code !== "proof_needed") throw thrown;
    return sign();
  }
}

/**
 * @param {string} domain
 * @param {Sayso.PermissionUse} one
 */
function use(domain, one) {
  const counts = [
    one.used && `used ${times(one.used)}`,
    one.asked && `asked ${times(one.asked)}`,
    one.refused && `refused ${times(one.refused)}`,
  ].filter(Boolean);
  const told = counts.length ? counts.join(", ") : "not used";
  const name = { "aria-label": `Make ${visible(one.operation)} ask` };
  const tighten = act("make it ask", { class: "plain inline", ...name }, () =>
    proposeToAsk(domain, one.operation),
  );
  return h(
    "li",
    {},
    h("code", {}, visible(one.operation)),
    " ",
    h("span", { class: "small" }, told),
    " ",
    tighten,
  );
}

/**
 * File a change of the policy by which this asks. It waits with the other proposals.
 *
 * @param {string} domain
 * @param {string} operation
 */
async function proposeToAsk(domain, operation) {
  const action = operation.slice(domain.length + 1);
  /** @type {Sayso.Proposal} */
  let filed;
  try {
    filed = await post(`/v1/policy/reviews/${encodeURIComponent(domain)}/tighten`, { action });
  } catch (thrown) {
    const problem = faultIn(thrown);
    return say(["Nothing was proposed: ", inWords(problem)], "bad");
  }
  const there = h("a", { href: `/proposals#${encodeURIComponent(filed.id)}` }, "Look at it and approve it");
  say(["Proposed that ", h("code", {}, visible(operation)), " asks. ", there, "."]);
  there.focus(); // it goes by itself after a while, too soon for somebody who has to find it by Tab
}

/** @param {number} count */
const times = (count) => (count === 1 ? "once" : `${count.toLocaleString("en")} times`);

/** @param {Review} one */
function holds({ decay, days_left: days }) {
  if (decay.decayed) return h("strong", { class: "mark bad" }, "decayed: it asks");
  if (days === null || !decay.decays_at) return h("span", { class: "small" }, "never");
  const whole = decay.decays_at - (decay.reviewed_at ?? decay.decays_at - 1);
  const soon = days <= 3 ? "soon" : "";
  return h(
    "div",
    { title: `reviewed or first seen ${decay.reviewed_at ? day(decay.reviewed_at) : "never"}` },
    h("progress", {
      max: Math.max(1, whole),
      value: days * DAY,
      "aria-label": "Until it decays",
      class: soon,
    }),
    h("span", {}, `${soon && "only "}${span(days * DAY)}, ${day(decay.decays_at)}`),
  );
}
