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
  "/policy",
  "/audit",
  "/figures",
  "/passkeys",
];

worker.addEventListener("install", (event) => {
  event.waitUntil(worker.skipWaiting());
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

/**
 * What the service has now; only if it cannot be reached, what it had.
 *
 * @param {Request} request
 * @param {string} name
 */
async function fresh(request, name) {
  const shell = await caches.open(SHELL);
  try {
    const response = await fetch(request);
    if (response.ok) await shell.put(name, response.clone());
    return response;
  } catch (error) {
    const kept = await shell.match(name);
    if (kept) return kept;
    throw error;
  }
}
