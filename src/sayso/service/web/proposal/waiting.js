// How many proposals wait for the operator. The list tells those first, so its first page is enough to count them.

import { page } from "../lib/api.js";

const SOON = 300;
/** @type {{ count: number, more: boolean }} */
const known = { count: 0, more: false };
let turn = 0; // of several reads at once the one begun last counts
let timer = 0;

/** @returns {string} what a mark beside the name of the page shows; empty if none waits */
export const proposalsWaiting = () => (known.count ? `${known.count}${known.more ? "+" : ""}` : "");

/**
 * Read it again if this event may have changed it, and call `changed` once it has. Many changes at once are one.
 *
 * @param {Sayso.LiveEvent} event
 * @param {() => void} changed
 */
export function countProposals(event, changed) {
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
  const found = await page("/v1/proposals").catch(() => null); // the page itself tells what went wrong
  if (!found || mine !== turn) return;
  const waiting = found.rows.filter((one) => one.proposal.state === "proposed");
  const more = Boolean(found.more) && waiting.length === found.rows.length;
  if (known.count === waiting.length && known.more === more) return;
  Object.assign(known, { count: waiting.length, more });
  changed();
}
