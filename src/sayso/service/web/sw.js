// The shell, for when the service is away: the page then opens and says so. Answers of the service are never kept.

const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));
const SHELL = "sayso-shell";
const PAGES = [
  "/",
  "/sign-in",
  "/history",
  "/grants",
  "/sessions",
  "/workflows",
  "/proposals",
  "/policy",
  "/review",
  "/audit",
  "/figures",
  "/people",
  "/passkeys",
];

const FILES = "/web/files.json";
const PATIENCE = 2_000;
const LONGEST = 10_000; // for what was never kept: then the browser says that the service cannot be reached
const STAYS_SILENT = 10_000;
let silentUntil = 0; // the service did not answer in time: until then nothing waits for it

// Kept at the first visit, all of it or nothing: a page that opened once opens again, whatever the service does.
worker.addEventListener("install", (event) => {
  event.waitUntil(keepShell().then(() => worker.skipWaiting()));
});

worker.addEventListener("activate", (event) => {
  event.waitUntil(worker.clients.claim());
});

worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== worker.location.origin) return;
  if (request.mode === "navigate" && PAGES.includes(url.pathname)) event.respondWith(fresh(request, "/"));
  else if (url.pathname.startsWith("/web/")) event.respondWith(fresh(request, url.pathname));
});

// A question while no page is open. Everything in the message was made visible by the service, and is shown as text.
worker.addEventListener("push", (event) => {
  event.waitUntil(tell(event.data?.json() ?? {}));
});

worker.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const { data } = event.notification;
  event.waitUntil(event.action === "deny" ? deny(data) : openQuestion(data?.question));
});

/**
 * What the service sends: a question, how one ended, or a notice.
 *
 * @typedef {object} PushMessage
 * @property {string} [kind]
 * @property {string} [title]
 * @property {string} [body]
 * @property {string} [question]
 * @property {string} [surface]
 * @property {string} [deny] the token of that answer
 */

/** @param {PushMessage} message */
function tell({ kind, title = "Sayso", body = "", question = "", surface = "", deny = "" }) {
  const asks = kind === "question";
  return notify(title, body, {
    tag: question || undefined,
    silent: !asks,
    requireInteraction: asks,
    data: { question, surface, deny, title },
    actions: asks && deny ? [{ action: "deny", title: "Deny" }, OPEN] : [],
  });
}

const OPEN = { action: "open", title: "Open" };

/**
 * @param {string} title
 * @param {string} body
 * @param {NotificationOptions & { actions?: { action: string, title: string }[] }} more
 */
function notify(title, body, more) {
  const look = { icon: "/web/icon-192.png", badge: "/web/icon-192.png" };
  return worker.registration.showNotification(title, { body, ...look, ...more });
}

/**
 * Deny it, with the token that only this browser was sent and the cookie of its sign-in. Nothing else can be
 * answered here.
 *
 * @param {Required<PushMessage>} data
 */
async function deny({ question, surface, deny: token, title }) {
  let told = "Nothing was denied: open Sayso and sign in.";
  try {
    const response = await fetch(`/surfaces/v1/${encodeURIComponent(surface)}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ question, token }),
    });
    const stands = await response.json();
    if (response.ok) told = stands.yours ? "Denied." : `Already ${stands.state}.`;
  } catch {
    told = "It is not known whether the denial arrived: open Sayso.";
  }
  await notify(title, told, { tag: question, silent: true, data: { question }, actions: [OPEN] });
}

/** @param {string} [question] */
async function openQuestion(question) {
  const place = question ? `/#/question/${encodeURIComponent(question)}` : "/";
  const [open] = await worker.clients.matchAll({ type: "window" });
  if (!open) return worker.clients.openWindow(place);
  const shown = await open.focus().catch(() => open); // only a real click may bring it to the front
  return shown.navigate(place);
}

async function keepShell() {
  const listed = await fetch(FILES, { cache: "no-store" });
  const shell = await caches.open(SHELL);
  await shell.addAll(["/", ...(await listed.json())]);
}

/**
 * What the service has now; if it cannot be reached, or does not answer soon, what it had.
 *
 * @param {Request} request
 * @param {string} name
 */
async function fresh(request, name) {
  const shell = await caches.open(SHELL);
  const asked = fetch(request).then(async (response) => {
    if (response.ok) await shell.put(name, response.clone());
    return response;
  });
  const kept = await shell.match(name);
  if (!kept) return Promise.race([asked, errorLater()]);
  let answered = false;
  const now = asked
    .catch(() => kept)
    .finally(() => {
      answered = true;
    });
  return Promise.race([now, keptLater(kept, () => answered)]);
}

/**
 * What was kept, once the service has had time to answer. The files that follow then wait no more.
 *
 * @param {Response} kept
 * @param {() => boolean} answered
 * @returns {Promise<Response>}
 */
function keptLater(kept, answered) {
  return new Promise((resolve) => {
    setTimeout(
      () => {
        if (!answered() && Date.now() >= silentUntil) silentUntil = Date.now() + STAYS_SILENT;
        resolve(kept);
      },
      Date.now() < silentUntil ? 0 : PATIENCE,
    );
  });
}

/** @returns {Promise<Response>} */
function errorLater() {
  return new Promise((resolve) => {
    setTimeout(() => resolve(Response.error()), LONGEST);
  });
}
