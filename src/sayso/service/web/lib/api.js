// Speaking to the service. The cookie says who we are; the page's key proves that this page is asking.

import { exactJson } from "./exact.js";

const KEY = "sayso-page";
const LONGEST = 120_000;
/** @type {Record<string, number>} */
const PATIENCE = { GET: 15_000, POST: LONGEST };
const SHOWN_AFTER = 2_000;
/** @type {() => void} */
let signedOut = () => {};
/** @type {(unanswered: number) => void} */
let slow = () => {};
let unanswered = 0;

/** What went wrong, in the service's own words. */
export class Problem extends Error {
  /**
   * @param {number} status
   * @param {{ detail?: string, title?: string, code?: string, hint?: string }} told
   */
  constructor(status, told) {
    super(told.detail || told.title || `the service answered ${status}`);
    this.status = status;
    this.code = told.code || "";
    this.hint = told.hint || "";
  }
}

/**
 * What was thrown: a problem, or another error, which says less.
 *
 * @typedef {Error & { status?: number, code?: string, hint?: string }} Fault
 */

/**
 * @param {unknown} thrown
 * @returns {Fault}
 */
export const faultIn = (thrown) => (thrown instanceof Error ? thrown : new Error(String(thrown)));

/** @typedef {Record<string, string | number | null | undefined>} Query */

/**
 * Some rows of a list, and a function that reads those that follow; null at the end.
 *
 * @template Row
 * @typedef {{ rows: Row[], more: (() => Promise<Page<Row>>) | null }} Page
 */

/**
 * @template {string} Path
 * @param {Path} path
 * @param {Query} [query]
 * @returns {Promise<Sayso.GetAnswer<Path>>}
 */
export const get = (path, query = {}) => ask("GET", address(path, query));

/**
 * @template {string} Path
 * @param {Path} path
 * @param {Sayso.PostBody<Path>} [body]
 * @returns {Promise<Sayso.PostAnswer<Path>>}
 */
export const post = (path, body) => ask("POST", path, body);

/**
 * @template {string} Path
 * @param {Path} path
 * @returns {Promise<Sayso.DeleteAnswer<Path>>}
 */
export const remove = (path) => ask("DELETE", path);

/**
 * The rows of the list at this path.
 *
 * @template {string} Path
 * @typedef {Sayso.GetAnswer<Path> extends (infer Row)[] ? Row : never} RowOf
 */

/**
 * The list at this path, and a function that reads its next page; null at the end.
 *
 * @template {string} Path
 * @param {Path} path
 * @param {Query} [query]
 * @returns {Promise<Page<RowOf<Path>>>}
 */
export async function page(path, query = {}) {
  const response = await reply("GET", address(path, query));
  const next = /<([^>]+)>;\s*rel="next"/.exec(response.headers.get("link") || "");
  const more = next?.[1] ? Object.fromEntries(new URL(next[1], location.href).searchParams) : null;
  return { rows: await response.json(), more: more && (() => page(path, more)) };
}

/**
 * Save what is at this path as a file.
 *
 * @param {string} path
 * @param {string} name
 */
export async function download(path, name) {
  const address = URL.createObjectURL(await (await reply("GET", path)).blob());
  const link = document.createElement("a");
  Object.assign(link, { href: address, download: name });
  link.click();
  URL.revokeObjectURL(address);
}

/**
 * Called whenever the service says that nobody is signed in here.
 *
 * @param {() => void} act
 */
export function whenSignedOut(act) {
  signedOut = act;
}

/**
 * Called with how many requests have had no answer for two seconds, whenever that changes.
 *
 * @param {(unanswered: number) => void} act
 */
export function whenSlow(act) {
  slow = act;
}

/** @param {string} code */
export async function signIn(code) {
  return keep(await post("/sign-in", { code }));
}

const ATTEMPT = "sayso-sign-in";

/**
 * Go to a provider to sign in there. It sends this browser back to `/sign-in/NAME`.
 *
 * @param {string} provider
 */
export async function goSignIn(provider) {
  const begun = await post(`/sign-in/${encodeURIComponent(provider)}/begin`);
  localStorage.setItem(ATTEMPT, begun.page);
  location.assign(begun.url);
}

/**
 * Sign in with what the provider sent back in the address; who it was.
 *
 * @param {string} provider
 * @param {URLSearchParams} given
 */
export async function finishSignIn(provider, given) {
  const [code, state, iss] = [given.get("code") ?? "", given.get("state") ?? "", given.get("iss")];
  const page = localStorage.getItem(ATTEMPT) ?? "";
  localStorage.removeItem(ATTEMPT);
  return keep(await post(`/sign-in/${encodeURIComponent(provider)}`, { code, state, iss, page }));
}

/**
 * Keep the key of this page, which the service told when somebody signed in; who it was.
 *
 * @param {Sayso.SignedInUser} told
 */
export function keep(told) {
  localStorage.setItem(KEY, told.page ?? "");
  return told.name;
}

export async function signOut() {
  await post("/sign-out");
  localStorage.removeItem(KEY);
}

/** Who is signed in; null if nobody is, or if this page has lost its key. */
export async function whoAmI() {
  if (!localStorage.getItem(KEY)) return null;
  return (await get("/signed-in")).name;
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 */
async function ask(method, path, body) {
  const response = await reply(method, path, body);
  return response.status === 204 ? null : response.json();
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 */
async function reply(method, path, body) {
  /** @type {Record<string, string>} */
  const headers = { "X-Sayso-Page": localStorage.getItem(KEY) || "" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  /** @type {RequestInit} */
  const sent = {
    method,
    headers,
    cache: "no-store",
    body: body === undefined ? undefined : exactJson(body),
  };
  /** @type {Response} */
  let response;
  try {
    const signal = AbortSignal.timeout(PATIENCE[method] ?? LONGEST);
    response = await patiently(fetch(path, { ...sent, signal }));
  } catch {
    throw new Problem(0, { code: "unreachable", detail: "the service cannot be reached" });
  }
  if (response.ok) return response;
  const problem = new Problem(response.status, await response.json().catch(() => ({})));
  if (problem.status === 401) signedOut();
  throw problem;
}

/**
 * The same promise; while it takes long, that is told.
 *
 * @param {Promise<Response>} answer
 */
async function patiently(answer) {
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    unanswered += 1;
    slow(unanswered);
  }, SHOWN_AFTER);
  try {
    return await answer;
  } finally {
    clearTimeout(timer);
    if (late) {
      unanswered -= 1;
      slow(unanswered);
    }
  }
}

/**
 * @param {string} path
 * @param {Query} query
 */
function address(path, query) {
  const given = Object.entries(query).filter(
    ([, value]) => value !== "" && value !== null && value !== undefined,
  );
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text ? `${path}?${text}` : path;
}
