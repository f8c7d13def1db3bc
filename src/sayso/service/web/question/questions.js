// The questions that wait, kept as they are in the service. Pages look here; nobody else reads them.

import { faultIn, get, page, post } from "../lib/api.js";

/** @import {Fault, Page} from "../lib/api.js" */

/**
 * A question as it is kept here. `whole`: it was read by itself, and not only in a list. `yours`: you answered it.
 *
 * @typedef {Sayso.QuestionDetails & { whole?: boolean, yours?: boolean }} Question
 */

/**
 * By id, in the order they were asked. One that was closed stays until it is forgotten, so that it can be told.
 *
 * @type {Map<string, Question>}
 */
export const questions = new Map();

/** @type {{ done: boolean, problem: Fault | null, more: Page<Sayso.QuestionDetails>["more"] }} */
export const reading = { done: false, problem: null, more: null };
/** @type {Set<() => void>} */
const listeners = new Set();
const MOST = 50;
const MOST_ROWS = 1000;
const FEW = 10;
const SOON = 300;
/** @type {Set<string>} */
const closed = new Set(); // what is over stays over, however late an older word of it arrives

export const waiting = () => [...questions.values()].filter((one) => one.state === "open");

/**
 * Call `listener` whenever something here has changed; the result ends that.
 *
 * @param {() => void} listener
 */
export function follow(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

let turn = 0; // of reads of the whole list, the one begun last counts
let missed = false; // something was asked before there was a list

/** Read the list from its beginning, as far as it is known here. */
export async function readAll() {
  const mine = ++turn;
  try {
    const { rows, more } = await asFarAsKnown();
    if (mine !== turn) return;
    Object.assign(reading, { done: true, problem: null, more });
    take(rows);
    const seen = new Set(rows.map((one) => one.id));
    const gone = waiting().filter((one) => !seen.has(one.id));
    await Promise.all(gone.slice(0, MOST).map((one) => readOne(one.id)));
  } catch (thrown) {
    if (mine === turn) reading.problem = faultIn(thrown);
  }
  changed();
  if (!missed || !reading.done) return;
  missed = false;
  await readAll();
}

/** @returns {Promise<Page<Sayso.QuestionDetails>>} */
async function asFarAsKnown() {
  const known = Math.min(waiting().length, MOST_ROWS);
  let { rows, more } = await page("/v1/questions");
  while (more && rows.length < known) {
    const next = await more();
    rows = [...rows, ...next.rows];
    more = next.more;
  }
  return { rows, more };
}

/** The next page. What was asked last comes last, so nothing that is shown moves.
 *
 * If the whole list is read again meanwhile, that read tells where the next page begins.
 */
export async function readMore() {
  if (!reading.more) return;
  const mine = turn;
  try {
    const { rows, more } = await reading.more();
    if (mine === turn) reading.more = more;
    take(rows);
  } catch (thrown) {
    if (mine === turn) reading.problem = faultIn(thrown);
  }
  changed();
}

/**
 * Read one again: it is new, was answered, or somebody wants to see all of it.
 *
 * @param {string} id
 */
export async function readOne(id) {
  try {
    const told = await get(`/v1/questions/${encodeURIComponent(id)}`);
    if (told.state === "open" || questions.has(id)) keep([{ ...told, whole: true }]);
    else closed.add(id);
  } catch (thrown) {
    if (faultIn(thrown).status === 404) questions.delete(id);
  }
  changed();
}

/** @param {string} id */
export function forget(id) {
  if (questions.delete(id)) changed();
}

/**
 * Give an answer; it names the digest of what was seen, if that was everything. Tells how it stands now.
 *
 * @param {Question} question
 * @param {Sayso.AnswerBody} given
 */
export async function answer(question, given) {
  const stands = await post(`/v1/questions/${encodeURIComponent(question.id)}/answer`, given);
  const { state, by, yours, answer: said, at } = stands;
  keep([{ ...question, state, by, yours, answer: said, closed_at: at }]);
  changed();
  return stands;
}

let again = 0; // the timer of the read that follows soon
/** @param {Sayso.LiveEvent} event */
export function heard(event) {
  if (event.kind === "question" && !questions.has(event.id)) {
    if (!reading.done) missed = true;
    if (!reading.done || reading.more) return; // it comes with the list, or with a later page of it
  }
  if (event.kind === "question" || event.kind === "answer") readOne(event.id);
  else if (event.kind === "waiting") questions.has(event.id) && readOne(event.id);
  else if (event.kind === "hello") readAll();
  else if (event.kind === "session") {
    if (again) return;
    again = setTimeout(() => {
      again = 0;
      readAll();
    }, SOON);
  }
}

/**
 * A list tells less of each than was told before of one that was read by itself.
 *
 * @param {Question[]} rows
 */
function take(rows) {
  keep(
    rows.map((one) => {
      const known = questions.get(one.id);
      return known?.whole ? { ...one, offers: known.offers, whole: true } : one;
    }),
  );
}

/**
 * Answers arrive in any order; the list keeps its own, and new questions stand at its end.
 *
 * @param {Question[]} rows
 */
function keep(rows) {
  const news = rows.some((one) => !questions.has(one.id));
  for (const one of rows) {
    if (one.state !== "open") closed.add(one.id);
    if (one.state !== "open" || !closed.has(one.id)) questions.set(one.id, one);
  }
  if (!news) return;
  const sorted = [...questions].sort(
    ([a, one], [b, other]) => one.opened_at - other.opened_at || (a < b ? -1 : 1),
  );
  questions.clear();
  for (const [id, one] of sorted) questions.set(id, one);
}

let filling = false;

/** When few of those that were read still wait, the list is read again: the next ones have moved up. */
async function refill() {
  if (filling || !reading.more || reading.problem || waiting().length >= FEW) return;
  filling = true;
  await readAll();
  filling = false;
}

function changed() {
  for (const listener of listeners) listener();
  refill();
}
