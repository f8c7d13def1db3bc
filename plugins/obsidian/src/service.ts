// Speaking to the service: requests and answers signed both ways (Standard Webhooks), with the surface's own secret.

export interface CardAnswer {
  answer: string;
  covers: string;
  token: string;
}

/** A question as the service gives it. What an agent wrote in it was made visible there, and is shown as text. */
export interface Card {
  question: string;
  risk: "low" | "moderate" | "high";
  agent: string;
  operations: string[];
  title: string;
  body: string;
  whole: boolean;
  digest: string;
  expires_at: number;
  answers: CardAnswer[];
  link: string | null;
}

export interface Standing {
  question: string;
  state: string;
  answer: string | null;
  yours: boolean;
}

export interface Reply {
  status: number;
  headers: Record<string, string>;
  text: string;
}

/** Posts this and gives the reply. In Obsidian it is `requestUrl`, which no page's rules get in the way of. */
export type Send = (url: string, headers: Record<string, string>, body: string) => Promise<Reply>;

export interface Place {
  url: string;
  surface: string;
  secret: string;
}

const WINDOW = 300;

/** Something went wrong, in words for the person. */
export class ServiceProblem extends Error {}

/** Whether this address may be spoken to: encrypted, or on this machine. */
export function isSafeAddress(url: string): boolean {
  try {
    const { protocol, hostname } = new URL(url);
    return protocol === "https:" || (protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(hostname));
  } catch {
    return false;
  }
}

/** The questions that wait. A reply that the service did not sign for this very request is refused. */
export async function fetchCards(place: Place, send: Send, now = Date.now()): Promise<Card[]> {
  const { reply, id } = await post(place, "/questions", { fetch: "questions" }, send, now);
  await checkReply(place, reply, id, now);
  return JSON.parse(reply.text) as Card[];
}

/** Give this answer. It counts only if nobody was faster: `yours` says so. */
export async function giveAnswer(
  place: Place,
  card: Card,
  given: CardAnswer,
  by: string,
  reason: string | null,
  send: Send,
  now = Date.now(),
): Promise<Standing> {
  const body = { question: card.question, answer: given.answer, token: given.token, by, reason };
  const { reply } = await post(place, "", body, send, now);
  return JSON.parse(reply.text) as Standing;
}

async function post(place: Place, path: string, body: unknown, send: Send, now: number) {
  if (!isSafeAddress(place.url)) throw new ServiceProblem("The address has to begin with https://, or be this machine.");
  const text = JSON.stringify(body);
  const id = `obsidian_${crypto.randomUUID().replaceAll("-", "")}`;
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now / 1000)),
    "webhook-signature": await sign(place.secret, id, Math.floor(now / 1000), text),
  };
  const url = `${place.url.replace(/\/+$/, "")}/surfaces/v1/${encodeURIComponent(place.surface)}${path}`;
  const reply = await send(url, headers, text);
  if (reply.status < 200 || reply.status >= 300) throw new ServiceProblem(describe(reply));
  return { reply, id };
}

async function checkReply(place: Place, reply: Reply, id: string, now: number): Promise<void> {
  const told = Object.fromEntries(Object.entries(reply.headers).map(([name, value]) => [name.toLowerCase(), value]));
  const at = Number(told["webhook-timestamp"]);
  const expected = await sign(place.secret, id, at, reply.text);
  const fits = told["webhook-id"] === id && told["webhook-signature"] === expected;
  if (!fits || !(Math.abs(now / 1000 - at) <= WINDOW))
    throw new ServiceProblem("The reply was not signed by your service. Nothing of it is shown.");
}

/** The signature of a message, as its header holds it. */
export async function sign(secret: string, id: string, at: number, body: string): Promise<string> {
  const raw = Uint8Array.from(atob(secret.replace(/^whsec_/, "")), (one) => one.charCodeAt(0));
  const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const mac = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(`${id}.${at}.${body}`));
  return `v1,${btoa(String.fromCharCode(...new Uint8Array(mac)))}`;
}

function describe(reply: Reply): string {
  try {
    const { detail, hint } = JSON.parse(reply.text) as { detail?: string; hint?: string };
    return [detail, hint].filter(Boolean).join(": ") || `The service answered ${reply.status}.`;
  } catch {
    return `The service answered ${reply.status}.`;
  }
}
