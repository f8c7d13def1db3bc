// The questions that wait, kept as they are in the service. Pages look here; nobody else reads them.

import { get, page, post } from "./api.js";

/** By id, in the order they were asked. One that was closed stays until it is forgotten, so that it can be told. */
export const questions = new Map();
export const reading = { done: false, problem: null, more: null };
const listeners = new Set();
const MOST = 50;
const closed = new Set(); // what is over stays over, however late an older word of it arrives

export const waiting = () => [...questions.values()].filter((one) => one.state === "open");

/** Call `listener` whenever something here has changed; the result ends that. */
export function follow(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export async function readAll() {
  try {
    const { rows, more } = await page("/v1/questions");
    Object.assign(reading, { done: true, problem: null, more });
    take(rows);
    const seen = new Set(rows.map((one) => one.id));
    const gone = waiting().filter((one) => !seen.has(one.id));
    await Promise.all(gone.slice(0, MOST).map((one) => readOne(one.id)));
  } catch (problem) {
    reading.problem = problem;
  }
  changed();
}

export async function readMore() {
  if (!reading.more) return;
  const { rows, more } = await reading.more();
  reading.more = more;
  take(rows);
  changed();
}

/** Read one again: it is new, was answered, or somebody wants to see all of it. */
export async function readOne(id) {
  try {
    const told = await get(`/v1/questions/${encodeURIComponent(id)}`);
    if (told.state === "open" || questions.has(id)) keep([{ ...told, whole: true }]);
  } catch (problem) {
    if (problem.status === 404) questions.delete(id);
  }
  changed();
}

export function forget(id) {
  if (questions.delete(id)) changed();
}

/** Give an answer to what was seen: the digest goes with it. Tells how the question stands now. */
export async function answer(question, given) {
  const path = `/v1/questions/${encodeURIComponent(question.id)}/answer`;
  const stands = await post(path, { ...given, digest: question.digest });
  const { state, by, yours, answer: said, at } = stands;
  keep([{ ...question, state, by, yours, answer: said, closed_at: at }]);
  changed();
  return stands;
}

let again = 0;
export function heard(event) {
  if (event.kind === "question" || event.kind === "answer") readOne(event.id);
  else if (event.kind === "hello") readAll();
  else if (event.kind === "session") {
    clearTimeout(again);
    again = setTimeout(readAll, 300);
  }
}

/** A list tells less of each than was told before of one that was read by itself. */
function take(rows) {
  keep(
    rows.map((one) => {
      const known = questions.get(one.id);
      return known?.whole ? { ...one, offers: known.offers, whole: true } : one;
    }),
  );
}

/** Answers arrive in any order; the list keeps its own, and new questions stand at its end. */
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

function changed() {
  for (const listener of listeners) listener();
}
