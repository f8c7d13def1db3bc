// Live events, heard by every tab from one stream: a browser has only a few connections to a service.
//
// Where there are shared workers one of them holds the stream. Else the tabs agree on one that does, by a lock
// of the browser, and it passes on what it hears. Without either a tab listens by itself, while it is looked at.

import { silence, stream } from "./stream.js";

const NAME = "sayso-live-1"; // another number, another way of speaking between the tabs
const ATTACHES_AGAIN = 5_000;
const LOOKS_EVERY = 1_000;

/** @import {Message, Stream} from "./stream.js" */

/**
 * A way to the stream, while it is used.
 *
 * @typedef {{ again: () => void, close: () => void }} Way
 */

/**
 * Listens until `close`. `heard` gets every event, `changed` whether the line holds: live is what was heard.
 *
 * @param {(event: Sayso.LiveEvent) => void} heard
 * @param {(holds: boolean) => void} changed
 */
export function listen(heard, changed) {
  /** @type {Way | null} */
  let line = null;
  /** @type {boolean | null} */
  let live = null;
  let every = 5;
  let last = Date.now();
  let attached = 0;

  /** @param {boolean} holds */
  function state(holds) {
    if (holds === live) return;
    live = holds;
    changed(holds);
  }

  /** @param {Message} message */
  function take(message) {
    last = Date.now();
    if ("event" in message) return heard(message.event);
    if ("beat" in message) return;
    every = message.every;
    const news = message.live && (message.fresh || !live);
    state(message.live);
    if (news) heard({ kind: "hello", id: "", session: "" });
  }

  function attach() {
    line?.close();
    attached = Date.now();
    line = way()(take);
  }

  /** Two heartbeats missed is not live, whoever failed to pass them on; then it connects again. */
  function look() {
    const silent = Date.now() - last > silence(every);
    if (silent) state(false);
    if ((silent || !live) && Date.now() - attached > ATTACHES_AGAIN) attach();
  }

  function back() {
    if (document.hidden) return;
    look();
    if (!live) line?.again();
  }

  const gone = () => {
    line?.close();
    state(false);
  };
  /** @param {PageTransitionEvent} event */
  const shown = (event) => event.persisted && attach();
  const away = () => state(false);
  addEventListener("offline", away);
  addEventListener("online", back);
  addEventListener("pagehide", gone);
  addEventListener("pageshow", shown);
  document.addEventListener("visibilitychange", back);
  const looking = setInterval(look, LOOKS_EVERY);
  attach();
  return {
    close() {
      clearInterval(looking);
      removeEventListener("offline", away);
      removeEventListener("online", back);
      removeEventListener("pagehide", gone);
      removeEventListener("pageshow", shown);
      document.removeEventListener("visibilitychange", back);
      line?.close();
    },
  };
}

function way() {
  if ("SharedWorker" in globalThis) return byWorker;
  return navigator.locks && "BroadcastChannel" in globalThis ? byLeader : byItself;
}

/**
 * @param {(message: Message) => void} take
 * @returns {Way}
 */
function byWorker(take) {
  const { port } = new SharedWorker("/web/live-worker.js", { type: "module", name: NAME });
  port.onmessage = ({ data }) => take(data);
  port.postMessage("join");
  return {
    again: () => port.postMessage("again"),
    close() {
      port.onmessage = null;
      port.postMessage("leave");
      port.close();
    },
  };
}

/**
 * The tab that has the lock listens for all. When it is closed, the lock goes to the next one by itself.
 *
 * @param {(message: Message) => void} take
 * @returns {Way}
 */
function byLeader(take) {
  const channel = new BroadcastChannel(NAME);
  const leaving = new AbortController();
  /** @type {Stream | null} */
  let own = null;
  /** @type {(value?: unknown) => void} */
  let yieldLead = () => {};

  /** @param {Message} message */
  function tell(message) {
    channel.postMessage(message);
    take(message);
  }
  function lead() {
    own = stream(tell);
    return new Promise((resolve) => {
      yieldLead = resolve;
    });
  }
  channel.onmessage = ({ data }) => {
    if (data === "join") {
      if (own) channel.postMessage(own.state());
    } else if (data === "again") own?.again();
    else take(data);
  };
  navigator.locks.request(NAME, { signal: leaving.signal }, lead).catch(() => {});
  channel.postMessage("join");
  return {
    again: () => (own ? own.again() : channel.postMessage("again")),
    close() {
      leaving.abort();
      own?.close();
      yieldLead();
      channel.close();
    },
  };
}

/**
 * @param {(message: Message) => void} take
 * @returns {Way}
 */
function byItself(take) {
  /** @type {Stream | null} */
  let own = null;
  const look = () => {
    if (document.hidden) {
      own?.close();
      own = null;
      take({ live: false, every: 5 });
    } else own ??= stream(take);
  };
  document.addEventListener("visibilitychange", look);
  look();
  return {
    again: () => own?.again(),
    close() {
      document.removeEventListener("visibilitychange", look);
      own?.close();
    },
  };
}
