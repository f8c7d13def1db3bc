// The policy file that waits: what it would loosen and tighten, and the button that puts it in force. It is applied only
// by whoever had all of that on screen, and deliberately: held, typed or signed with a passkey.

import { faultIn, get, post } from "../lib/api.js";
import { h, query, show } from "../lib/dom.js";
import { failed, inWords, say, sentence } from "../lib/parts.js";
import { signApplying } from "../lib/passkeys.js";
import { capital, foreign, inline, linePieces } from "../lib/visible.js";
import { sleeper, whenReleased } from "../lib/wake.js";
import { typedWord } from "../proposal/typed.js";
import { READ_ON } from "../question/bar.js";
import { holdButton } from "../question/hold.js";
import { follow } from "../question/reading.js";

/** @import {Child} from "../lib/dom.js" */

/** @typedef {Sayso.PolicyStatus} Status */

/** @type {Record<string, string>} */
const HEADINGS = {
  waits: "Your policy file waits",
  tightens: "Your policy file tightens what is in force",
  refused: "Your policy file is refused",
  not_the_locked_one: "Your policy file is not the one that was locked",
  new: "Your policy file is not in force",
};
/** @type {Record<string, string>} */
const MEANS = {
  waits:
    "It loosens what is in force. Until you apply it, the stricter of the two applies, so what it tightens counts already. You can apply it once all of it was on screen.",
  tightens: "It is in force with the next decision.",
  refused: "What was in force before stays. Fix the file.",
  not_the_locked_one:
    "The locked policy stays in force, and self_modification is denied. Restore the file, or unlock it at a terminal: sayso policy unlock.",
  new: "Nothing valid is in force here, so what it changes cannot be shown. Apply it at a terminal: sayso policy apply.",
};
const LOOSENS_NOTHING =
  "It waits because an earlier version of it was not applied. Applying it loosens nothing.";
/** A list of up to so many changes is read at once, and needs no summary. */
const SHORT = 12;
const HOLD = "Hold the button for a second to apply it.";

/**
 * The part of the page about the file; empty while the file is in force. `applied` is called once it was applied.
 *
 * @param {{ live: () => boolean, applied: () => unknown }} means
 */
export function policyFile({ live, applied }) {
  const place = h("section", { class: "policy-file", "aria-label": "Your policy file" });
  let drawn = "";
  /** @type {(() => void) | null} */
  let look = null;

  async function read() {
    /** @type {Status | null} */
    let found = null;
    try {
      found = await get("/v1/policy/file");
    } catch (thrown) {
      const problem = faultIn(thrown);
      if (problem.status === 401) return;
      if (problem.code !== "cannot_apply") {
        [drawn, look] = ["", null];
        return show(place, failed(problem, read));
      }
    }
    await whenReleased();
    const state = JSON.stringify(found && [found.state, found.shown, found.must_sign, found.problem]);
    if (state === drawn) return look?.();
    drawn = state;
    look = null;
    if (!found || found.state === "in_force") return show(place);
    draw(found);
  }
  /** @param {Status} found */
  function draw(found) {
    const body = h("div", { class: "policy-file-body" });
    const reading = follow(body, () => button?.draw());
    const button = found.state === "waits" ? applying(found, { reading, live, done }) : null;
    show(
      body,
      h("h2", {}, HEADINGS[found.state] ?? "Your policy file"),
      h("p", {}, inline(found.file, 2000)),
      h("p", { class: found.state === "refused" ? "raised" : null }, meaning(found)),
      found.problem &&
        (found.state === "refused" || found.state === "not_the_locked_one"
          ? foreign(found.problem, { label: "The problem", fold: Infinity })
          : h("p", { class: "raised" }, sentence(capital(found.problem)), ".")),
      summary(found),
      h("ul", { class: "changes", data: { read: "parts" } }, changes(found)),
    );
    show(place, body, button?.element);
    look = reading.look;
    reading.look();
  }
  async function done() {
    drawn = "";
    await read();
    applied();
  }
  const seen = () => look?.();
  addEventListener("scroll", seen, { passive: true });
  addEventListener("resize", seen);
  return {
    element: place,
    read,
    line: () => look?.(),
    close() {
      removeEventListener("scroll", seen);
      removeEventListener("resize", seen);
    },
  };
}

/** @param {Status} found */
function meaning({ state, loosened, beyond }) {
  const loosens = loosened.length > 0 || beyond.some((one) => one.loosens);
  return state === "waits" && !loosens ? LOOSENS_NOTHING : MEANS[state];
}

/**
 * @param {Status} found
 * @param {{ reading: ReturnType<typeof follow>, live: () => boolean, done: () => Promise<void> }} means
 */
function applying(found, { reading, live, done }) {
  const hint = h("p", { class: "hint", role: "status" });
  const yeses = h("div", { class: "row yeses" });
  let sent = false;
  let drawn = "";
  const careful = sleeper([yeses], () => !live() || sent);

  /** Draw the button again if what it can do has changed. */
  function draw() {
    const next = reading.towards();
    if (next === drawn && yeses.hasChildNodes()) return;
    drawn = next;
    const focused = yeses.contains(document.activeElement);
    show(yeses, next ? unread(next) : deliberate());
    careful.rest();
    if (focused) query(yeses, "button")?.focus({ preventScroll: next !== "" });
  }
  /** @param {string} next */
  const unread = (next) =>
    h(
      "button",
      { type: "button", class: "solid read-on", onclick: reading.onInPage },
      READ_ON[next] ?? "read on",
    );
  function deliberate() {
    const properties = { class: "solid allow" };
    if (found.must_sign)
      return h("button", { type: "button", ...properties, onclick: run }, "Apply with a passkey");
    return holdButton(properties, "Hold to apply", {
      sure: run,
      short: () => show(hint, HOLD),
      typed: () => typedWord("apply", "Apply", inline(found.file, 200)),
    });
  }
  async function run() {
    if (sent) return;
    if (!live()) return say("The connection is lost. Nothing was done.", "bad");
    sent = true;
    careful.rest();
    try {
      await send(found);
      say("Applied: your policy file is in force.");
    } catch (thrown) {
      const problem = faultIn(thrown);
      const what =
        problem.code === "unreachable" ? "It is not known whether that arrived" : "Nothing was done";
      say([`${what}: `, inWords(problem)], "bad");
    } finally {
      sent = false;
      careful.rest();
      await done();
    }
  }
  draw();
  return { element: h("div", { class: "policy-file-bar" }, hint, yeses), draw };
}

/**
 * Apply it as it was shown, signed with a passkey where that is needed.
 *
 * @param {Status} found
 */
async function send({ content, shown, must_sign: must }) {
  const sign = async () =>
    post("/v1/policy/apply", { content, shown, proof: await signApplying(content, shown) });
  if (must) return sign();
  try {
    return await post("/v1/policy/apply", { content, shown });
  } catch (thrown) {
    if (faultIn(thrown).code !== "proof_needed") throw thrown;
    return sign();
  }
}

/**
 * How much a long list loosens and tightens, and where: to know before it is read.
 *
 * @param {Pick<Sayso.DraftDiff, "loosened" | "tightened" | "beyond">} found
 */
export function summary({ loosened, tightened, beyond }) {
  if (loosened.length + tightened.length + beyond.length <= SHORT) return null;
  /** @param {boolean} looser */
  const parts = (looser) => beyond.filter((one) => one.loosens === looser).map((one) => one.what);
  const freed = loosened.filter((one) => one.before === "deny");
  const eased = loosened.filter((one) => one.before !== "deny");
  const lines = [
    counted("Blocked before, no longer", operations(freed), (name) => name),
    counted("Asked before, allowed in more situations", operations(eased), domain),
    counted("Other parts loosened", parts(true), kind),
    counted("Operations tightened", operations(tightened), domain),
    counted("Other parts tightened", parts(false), kind),
  ];
  return h("ul", { class: "summary", "aria-label": "Summary of the changes" }, lines);
}

/** @param {{ operation: string }[]} changed */
const operations = (changed) => [...new Set(changed.map((one) => one.operation))];

/** @param {string} name */
const domain = (name) => (name === "*" ? "unlisted" : name.replace(/\..*/s, ""));

/** @param {string} what */
const kind = (what) => what.replace(/[ .].*/s, "");

/**
 * A heading with the number of names, and how many there are of each group.
 *
 * @param {string} heading
 * @param {string[]} names
 * @param {(name: string) => string} group
 */
function counted(heading, names, group) {
  if (!names.length) return null;
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const name of names) counts.set(group(name), (counts.get(group(name)) ?? 0) + 1);
  const groups = [...counts].sort(([, one], [, other]) => other - one);
  const where = groups.map(([name, count]) => (count > 1 ? `${name} ${count}` : name)).join(", ");
  return h("li", {}, `${heading}: `, h("strong", {}, String(names.length)), " (", linePieces(where), ")");
}

/**
 * What a change of the policy loosens and tightens, a line for each, the former first. No line is cut: it is to be read.
 *
 * @param {Pick<Sayso.DraftDiff, "loosened" | "tightened" | "beyond">} found
 * @returns {HTMLElement[]}
 */
export function changes({ loosened, tightened, beyond }) {
  const other = beyond.filter((one) => one.loosens);
  const rest = beyond.filter((one) => !one.loosens);
  return [
    ...loosened.map((one) => changed("loosened", one.operation, one)),
    ...other.map((one) => changed("loosened", one.what, one)),
    ...tightened.map((one) => changed("tightened", one.operation, one)),
    ...rest.map((one) => changed("tightened", one.what, one)),
  ];
}

/**
 * @param {string} kind
 * @param {string} what
 * @param {{ before: string, after: string, conditions?: string[] }} one
 */
function changed(kind, what, one) {
  const when = one.conditions?.length
    ? h("span", { class: "small" }, " (", linePieces(one.conditions.join("; ")), ")")
    : null;
  return h(
    "li",
    { class: kind },
    h("strong", {}, kind),
    " ",
    h("code", {}, linePieces(what)),
    ": ",
    linePieces(one.before),
    " → ",
    linePieces(one.after),
    when,
  );
}
