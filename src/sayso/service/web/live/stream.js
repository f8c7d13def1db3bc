// The stream of events: one for the whole browser, wherever it runs. A lost one is tried again, soon at first.

/** @typedef {{ live: boolean, every: number, fresh?: boolean }} State */

/** @typedef {State | { beat: true } | { event: Sayso.LiveEvent }} Message */

/** @typedef {ReturnType<typeof stream>} Stream */

const FIRST = 500;
const LONGEST = 10_000;
const PATIENCE = 5_000; // the service says hello first
const KINDS = ["question", "answer", "grant", "session", "run", "decision", "policy", "waiting"];

/**
 * How long a line may be silent: two heartbeats missed, and a moment for a busy machine.
 *
 * @param {number} every
 */
export const silence = (every) => every * 2000 + 1000;

/**
 * Listens to the service until `close`. `tell` gets what the tabs need to know: `{live, every}` whenever the
 * line begins or ends to hold (and with `fresh` if events were missed), `{beat}`, and `{event}`.
 *
 * @param {(message: Message) => void} tell
 */
export function stream(tell) {
  /** @type {EventSource | null} */
  let source = null;
  let pause = FIRST;
  let timer = 0;
  /** @type {State} */
  let state = { live: false, every: PATIENCE / 1000 };

  function connect() {
    clearTimeout(timer);
    source?.close();
    source = new EventSource("/v1/events");
    source.onerror = lost;
    source.addEventListener("hello", hello);
    source.addEventListener("ping", () => {
      wait();
      tell({ beat: true });
    });
    for (const kind of KINDS) source.addEventListener(kind, take);
    timer = setTimeout(lost, PATIENCE);
  }

  function wait() {
    clearTimeout(timer);
    timer = setTimeout(lost, silence(state.every));
  }

  /** @param {MessageEvent} message */
  function hello(message) {
    pause = FIRST;
    state = { live: true, every: JSON.parse(message.data).every };
    wait();
    tell({ ...state, fresh: true });
  }

  /** @param {MessageEvent} message */
  function take(message) {
    wait();
    tell({ event: JSON.parse(message.data) });
  }

  function lost() {
    source?.close();
    clearTimeout(timer);
    state = { ...state, live: false };
    tell(state);
    timer = setTimeout(connect, pause * (0.75 + Math.random() / 2));
    pause = Math.min(pause * 2, LONGEST);
  }

  /** Somebody came back to the page: if the line is lost, it is tried at once. */
  function again() {
    if (state.live) return;
    pause = FIRST;
    connect();
  }

  connect();
  return {
    state: () => state,
    again,
    close() {
      clearTimeout(timer);
      source?.close();
    },
  };
}
