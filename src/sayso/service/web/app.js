// The page itself: which view is shown, who is signed in, whether the line holds, and the keyboard.

import { signOut, whenSignedOut, whenSlow, whoAmI } from "./lib/api.js";
import { mayDiscard } from "./lib/confirm.js";
import { byId, h, show } from "./lib/dom.js";
import { bind } from "./lib/keys.js";
import { listen } from "./lib/live.js";
import { act } from "./lib/parts.js";
import * as audit from "./pages/audit.js";
import * as figures from "./pages/figures.js";
import * as grants from "./pages/grants.js";
import * as history from "./pages/history.js";
import * as inbox from "./pages/inbox.js";
import * as passkeys from "./pages/passkeys.js";
import * as policy from "./pages/policy.js";
import * as sessions from "./pages/sessions.js";
import { signInHelp, useCode } from "./pages/sign-in.js";
import * as workflows from "./pages/workflows.js";
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
  ["/policy", "Policy", policy],
  ["/audit", "Audit", audit],
  ["/figures", "Figures", figures],
  ["/passkeys", "Passkeys", passkeys],
];
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

const page = { live: () => holds === true };

async function start() {
  whenSignedOut(leave);
  if (location.pathname === "/sign-in" && !(await useCode(main))) return;
  const name = await whoAmI().catch((problem) => (problem.status === 0 ? "" : null));
  if (name === null) return leave();
  if (location.pathname === "/sign-in") window.history.replaceState(null, "", "/");
  document.body.classList.add("signed-in");
  drawNav(name);
  questions.follow(count);
  whenSlow(slowChanged);
  line = listen(heard, lineChanged);
  open();
}

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
  show(main);
  view = module.view(main, page);
  for (const link of nav.querySelectorAll("a")) {
    if (link.pathname === path) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  byId("where").textContent = title;
  document.body.classList.toggle("at-inbox", path === "/");
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
  const links = PAGES.map(([path, title]) =>
    h("li", {}, h("a", { href: path }, title, path === "/" && h("span", { class: "count" }))),
  );
  const out = act("Sign out", { class: "plain", title: name ? `Signed in as ${name}` : null }, async () => {
    if (!(await mayLeave())) return;
    await signOut();
    leave();
  });
  show(nav, h("ul", {}, links, h("li", { class: "out" }, out)));
}

function count() {
  const open = questions.waiting().length;
  const shown = open ? `${open}${questions.reading.more ? "+" : ""}` : "";
  for (const place of document.querySelectorAll(".count")) place.textContent = shown;
  const told = open === 1 ? "1 question waits" : `${shown || "no"} questions wait`;
  const place = byId("waiting");
  if (place.textContent !== told) place.textContent = told;
  const title = byId("where").textContent;
  document.title = `${shown ? `(${shown}) ` : ""}${title} · Sayso`;
}

/** @param {Sayso.LiveEvent} event */
function heard(event) {
  questions.heard(event);
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
  drawLine();
}

/** What is known of the service: live only while it is heard, and answers what it is asked. */
function drawLine() {
  const lost = holds === false;
  document.body.classList.toggle("lost", lost);
  document.body.classList.toggle("slow", !lost && slow > 0);
  const told = slow ? "no answer from the service yet; it is asked still" : holds ? "live" : "connecting …";
  status.textContent = lost
    ? "connection lost; trying again. Nothing can be answered until it is back."
    : told;
}

nav.addEventListener("click", go);
byId("brand").addEventListener("click", go);
addEventListener("popstate", goBack);
addEventListener("beforeunload", (event) => view?.changed?.() && event.preventDefault());
bind(() => view?.keys ?? {});
if ("serviceWorker" in navigator) navigator.serviceWorker.register("/sw.js").catch(() => {});
start();
