// The page itself: which view is shown, who is signed in, whether the line holds, and the keyboard.

import { signOut, whenSignedOut, whenSlow, whoAmI } from "./lib/api.js";
import { mayDiscard } from "./lib/confirm.js";
import { byId, h, show } from "./lib/dom.js";
import { bind } from "./lib/keys.js";
import { act, say } from "./lib/parts.js";
import { listen } from "./live/events.js";
import * as push from "./live/push.js";
import * as audit from "./pages/audit.js";
import * as figures from "./pages/figures.js";
import * as grants from "./pages/grants.js";
import * as history from "./pages/history.js";
import * as inbox from "./pages/inbox.js";
import * as passkeys from "./pages/passkeys.js";
import * as people from "./pages/people.js";
import * as policy from "./pages/policy.js";
import * as proposals from "./pages/proposals.js";
import * as review from "./pages/review.js";
import * as sessions from "./pages/sessions.js";
import { signInHelp, useCode } from "./pages/sign-in.js";
import * as workflows from "./pages/workflows.js";
import { countWaiting, proposalsWaiting } from "./proposal/waiting.js";
import * as questions from "./question/questions.js";

/** @import {View} from "./lib/parts.js" */

/** @typedef {{ view: (place: HTMLElement, page: { live: () => boolean }) => View }} PageModule */

/** @type {[path: string, title: string, module: PageModule]} */
const INBOX = ["/", "Inbox", inbox];
/** @type {(typeof INBOX)[]} */
const PAGES = [
  INBOX,
  ["/history", "History", history],
  ["/grants", "Grants", grants],
  ["/sessions", "Sessions", sessions],
  ["/workflows", "Workflows", workflows],
  ["/proposals", "Proposals", proposals],
  ["/policy", "Policy", policy],
  ["/audit", "Audit", audit],
  ["/figures", "Figures", figures],
  ["/people", "People", people],
  ["/passkeys", "Passkeys", passkeys],
  ["/review", "Review", review],
];
/** Pages that another one leads to, with the one that the menu shows in their place. @type {Record<string, string>} */
const BELOW = { "/review": "/policy", "/people": "/policy" };
/** Pages on which something may wait; the menu tells how much. */
const COUNTED = ["/", "/proposals"];
const main = byId("main");
const nav = byId("nav");
const status = byId("line");
/** @type {View | null} */
let view = null;
/** @type {ReturnType<typeof listen> | null} */
let line = null;
/** @type {boolean | null} */
let holds = null; // not known yet
let slow = 0;
let at = ""; // the path of the view on show

const PATIENCE = 2_000;
const page = { live: () => holds === true };

const signingIn = () => location.pathname === "/sign-in" || location.pathname.startsWith("/sign-in/");

async function start() {
  whenSignedOut(leave);
  whenSlow(slowChanged);
  if (signingIn() && !(await useCode(main))) return;
  const asked = whoAmI().catch((problem) => (problem.status === 0 ? "" : null));
  const name = await Promise.race([asked, later("")]);
  if (name === null) return leave();
  asked.then((known) => known === null && leave());
  if (location.pathname === "/sign-in") window.history.replaceState(null, "", "/");
  document.body.classList.add("signed-in");
  drawNav(name);
  questions.follow(count);
  line = listen(heard, lineChanged);
  open();
}

/**
 * This value, if nothing else is known soon: a service that does not answer leaves no page blank.
 *
 * @param {string} value
 * @returns {Promise<string>}
 */
const later = (value) => new Promise((resolve) => setTimeout(() => resolve(value), PATIENCE));

/** Nobody is signed in here: nothing is shown but how to sign in. */
function leave() {
  line?.close();
  line = null;
  holds = null;
  drawLine();
  view?.close?.();
  view = null;
  document.body.classList.remove("signed-in");
  show(nav);
  show(main, signInHelp());
}

/** @param {boolean} [focus] */
function open(focus = false) {
  const [path, title, module] = PAGES.find(([one]) => one === location.pathname) ?? INBOX;
  view?.close?.();
  at = path;
  show(main);
  document.body.classList.toggle("at-inbox", path === "/");
  view = module.view(main, page);
  for (const link of nav.querySelectorAll("a")) {
    if (link.pathname === (BELOW[path] ?? path)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  byId("where").textContent = title;
  count();
  if (focus) main.querySelector("h1")?.focus();
}

/** @param {MouseEvent} event */
async function go(event) {
  /** @type {HTMLAnchorElement | null} */
  const link = event.target instanceof Element ? event.target.closest("a[href^='/']") : null;
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || link.download) return;
  event.preventDefault();
  byId("menu").removeAttribute("open");
  if (!(await mayLeave())) return;
  window.history.pushState(null, "", link.getAttribute("href"));
  open(true);
}

/** The way back of the browser cannot be held up, so the page goes forth again before it asks. */
async function goBack() {
  if (!document.body.classList.contains("signed-in")) return;
  if (location.pathname === at && view?.back?.()) return;
  if (!view?.changed?.()) return open();
  const wanted = location.pathname;
  window.history.pushState(null, "", "/");
  if (!(await mayLeave())) return;
  window.history.pushState(null, "", wanted);
  open();
}

/** Whether nothing is lost by leaving what is shown, or the person wants it so. */
async function mayLeave() {
  return !view?.changed?.() || (await mayDiscard());
}

/** @param {string} name */
function drawNav(name) {
  const links = PAGES.filter(([path]) => !BELOW[path]).map(([path, title]) =>
    h("li", {}, h("a", { href: path }, title, COUNTED.includes(path) && h("span", { class: "count" }))),
  );
  const out = act("Sign out", { class: "plain", title: name ? `Signed in as ${name}` : null }, async () => {
    if (!(await mayLeave())) return;
    await push.unsubscribe().catch(() => {});
    await signOut();
    leave();
  });
  show(nav, h("ul", {}, links, h("li", { class: "out" }, notifySwitch(), out)));
}

/** The switch for notifications while the page is closed; none where the browser has none. */
function notifySwitch() {
  if (!push.usable()) return null;
  const flip = act("Notify me", { class: "plain", hidden: true, "aria-pressed": "false" }, async () => {
    const on = await (flip.getAttribute("aria-pressed") === "true" ? push.turnOff() : push.turnOn());
    draw(on);
    say(
      on
        ? "This browser notifies you of questions, even while the page is closed."
        : "Notifications are off.",
    );
  });
  /** @param {boolean} on */
  const draw = (on) => {
    flip.hidden = false;
    flip.setAttribute("aria-pressed", String(on));
    flip.title = on
      ? "You are notified of questions while this page is closed"
      : "Get notified while this page is closed";
  };
  push.isOn().then(draw, () => draw(false));
  return flip;
}

function count() {
  const open = questions.waiting().length;
  const shown = open ? `${open}${questions.reading.more ? "+" : ""}` : "";
  tellCount('#nav [href="/"] .count', shown);
  tellCount('#nav [href="/proposals"] .count', proposalsWaiting());
  tellCount("#menu .count", shown || proposalsWaiting());
  const known = open || questions.reading.done;
  const many = open === 1 ? "1 question waits" : `${shown || "no"} questions wait`;
  const told = known ? many : "it is not known yet what waits";
  const place = byId("waiting");
  if (place.textContent !== told) place.textContent = told;
  const title = byId("where").textContent;
  document.title = `${shown ? `(${shown}) ` : ""}${title} · Sayso`;
}

/**
 * @param {string} selector
 * @param {string} shown
 */
function tellCount(selector, shown) {
  for (const place of document.querySelectorAll(selector)) place.textContent = shown;
}

/** @param {Sayso.LiveEvent} event */
function heard(event) {
  questions.heard(event);
  countWaiting(event, () => {
    count();
    view?.proposals?.();
  });
  view?.heard?.(event);
}

/** @param {boolean} now */
function lineChanged(now) {
  holds = now;
  drawLine();
  view?.line?.(now);
  if (!now)
    whoAmI().then(
      (name) => name === null && leave(),
      () => {},
    );
}

/** @param {number} now */
function slowChanged(now) {
  slow = now;
  clearInterval(telling);
  if (slow) {
    tellOthers();
    telling = setInterval(tellOthers, TELLS_EVERY);
  }
  drawLine();
}

const TELLS_EVERY = 1_000;
const BELIEVED = 2_500;
const tabs = "BroadcastChannel" in globalThis ? new BroadcastChannel("sayso-slow-1") : null;
const tellOthers = () => tabs?.postMessage("slow");
let telling = 0;
let othersWait = 0; // another tab has no answer: the timer until that is forgotten
tabs?.addEventListener("message", () => {
  clearTimeout(othersWait);
  othersWait = setTimeout(() => {
    othersWait = 0;
    drawLine();
  }, BELIEVED);
  drawLine();
});

/** What is known of the service: live only while it is heard, and answers what the tabs ask. */
function drawLine() {
  const lost = holds === false;
  document.body.classList.toggle("lost", lost);
  const silent = slow > 0 || othersWait > 0;
  document.body.classList.toggle("slow", !lost && silent);
  const told = silent ? "no answer yet" : holds ? "live" : "connecting …";
  status.textContent = lost
    ? "connection lost; trying again. Nothing can be answered until it is back."
    : told;
}

nav.addEventListener("click", go);
byId("brand").addEventListener("click", go);
main.addEventListener("click", go);
byId("said").addEventListener("click", go);
addEventListener("popstate", goBack);
// Another link opened in a tab that shows how to sign in: only what follows the # has changed.
addEventListener("hashchange", () => {
  if (location.pathname === "/" && location.hash.startsWith("#/question/")) view?.named?.();
  if (location.pathname === "/sign-in" && location.hash !== "#main") location.reload();
});
addEventListener("beforeunload", (event) => view?.changed?.() && event.preventDefault());
bind(() => view?.keys ?? {});
if ("serviceWorker" in navigator) navigator.serviceWorker.register("/sw.js").catch(() => {});
start();
