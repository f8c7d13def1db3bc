// What waits for the operator besides questions: proposals, and a policy file that is not in force. The list of proposals
// tells those that wait first, so its first page is enough to count them.

import { get, page } from "../lib/api.js";

const SOON = 300;
/** @type {Record<string, string>} */
const FILE_WAITS = {
  waits: "Your policy file waits to be applied",
  refused: "Your policy file is refused",
  not_the_locked_one: "Your locked policy file was changed",
};
/** @type {{ count: number, more: boolean, file: string }} */
const known = { count: 0, more: false, file: "" };
let turn = 0; // of several reads at once the one begun last counts
let timer = 0;

/** @returns {string} what a mark beside the name of the page shows; empty if none waits */
export const proposalsWaiting = () => (known.count ? `${known.count}${known.more ? "+" : ""}` : "");

/** @returns {string} what there is to do about the policy file; empty if nothing */
export const fileWaiting = () => FILE_WAITS[known.file] ?? "";

/**
 * Read it again if this event may have changed it, and call `changed` once it has. Many changes at once are one.
 *
 * @param {Sayso.LiveEvent} event
 * @param {() => void} changed
 */
export function countWaiting(event, changed) {
  if (event.kind === "hello") read(changed);
  if (event.kind !== "policy" || timer) return;
  timer = setTimeout(() => {
    timer = 0;
    read(changed);
  }, SOON);
}

/** @param {() => void} changed */
async function read(changed) {
  const mine = ++turn;
  const [found, status] = await Promise.all([
    page("/v1/proposals").catch(() => null), // the page itself tells what went wrong
    get("/v1/policy/file", { brief: 1 }).catch(() => null),
  ]);
  if (!found || mine !== turn) return;
  const waiting = found.rows.filter((one) => one.proposal.state === "proposed");
  const more = Boolean(found.more) && waiting.length === found.rows.length;
  const file = status?.state ?? "";
  if (known.count === waiting.length && known.more === more && known.file === file) return;
  Object.assign(known, { count: waiting.length, more, file });
  changed();
}
