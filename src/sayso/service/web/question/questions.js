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
/** @type {Set<string>} */
const newer = new Set(); // heard of while the list was read: the list may not know it yet

/** Read the list from its beginning, as far as it is known here. */
export async function readAll() {
  const mine = ++turn;
  newer.clear();
  try {
    const { rows, more } = await asFarAsKnown();
    if (mine !== turn) return;
    Object.assign(reading, { done: true, problem: null, more });
    take(rows);
    const seen = new Set(rows.map((one) => one.id));
    const doubtful = waiting().filter((one) => !seen.has(one.id) || newer.has(one.id));
    newer.clear();
    await Promise.all(doubtful.slice(0, MOST).map((one) => readOne(one.id)));
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
 * Reads of one question under way, by its id. Whoever wants to know more meanwhile has it read again afterwards: an
 * answer that was on its way already may not know the news, and two at once may arrive in any order.
 *
 * @type {Map<string, { again: boolean, done: Promise<void> }>}
 */
const underWay = new Map();

/**
 * Read one again: it is new, was answered, or somebody wants to see all of it.
 *
 * @param {string} id
 * @returns {Promise<void>}
 */
export function readOne(id) {
  const now = underWay.get(id);
  if (now) {
    now.again = true;
    return now.done;
  }
  const mine = { again: false, done: Promise.resolve() };
  underWay.set(id, mine);
  mine.done = readUntilSettled(id, mine);
  return mine.done;
}

/**
 * @param {string} id
 * @param {{ again: boolean }} mine
 */
async function readUntilSettled(id, mine) {
  do {
    mine.again = false;
    await readOnce(id);
  } while (mine.again);
  underWay.delete(id);
}

/** @param {string} id */
async function readOnce(id) {
  try {
    const told = await get(`/v1/questions/${encodeURIComponent(id)}`);
    const known = questions.get(id);
    if (told.state === "open" || known)
      keep([{ ...told, whole: true, ...(known?.yours && { yours: true }) }]);
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
 * Answers that were sent, by the question's id: until one settles, no other is given.
 *
 * @type {Map<string, string>}
 */
const sent = new Map();

/**
 * The answer to this question that is under way; null if there is none.
 *
 * @param {string} id
 */
export const sentAnswer = (id) => sent.get(id) ?? null;

/**
 * Give an answer; it names the digest of what was seen, if that was everything. Tells how it stands now; null if another
 * answer is under way, and this one was not sent.
 *
 * @param {Question} question
 * @param {Sayso.AnswerBody} given
 */
export async function answer(question, given) {
  if (sent.has(question.id)) return null;
  sent.set(question.id, given.answer ?? "items");
  changed();
  try {
    const stands = await post(`/v1/questions/${encodeURIComponent(question.id)}/answer`, given);
    const { state, by, yours, answer: said, at } = stands;
    if (state === "open") await readOne(question.id);
    else keep([{ ...question, state, by, yours, answer: said, closed_at: at }]);
    return stands;
  } finally {
    sent.delete(question.id);
    changed();
  }
}

let again = 0; // the timer of the read that follows soon
/** @param {Sayso.LiveEvent} event */
export function heard(event) {
  if (event.id) newer.add(event.id);
  if (event.kind === "question" && !questions.has(event.id)) {
    if (!reading.done) missed = true;
    if (!reading.done || reading.more) return; // it comes with the list, or with a later page of it
  }
  if (event.kind === "question" || event.kind === "answer") readOne(event.id);
  else if (event.kind === "waiting") (questions.has(event.id) || underWay.has(event.id)) && readOne(event.id);
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
      const same = known?.whole && known.offers.length === one.offers.length;
      return same ? { ...one, offers: known.offers, whole: true } : one;
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
