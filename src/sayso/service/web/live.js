// Live events. A line that broke is told at once, and tried again: soon at first, then less often.

const FIRST = 500;
const LONGEST = 10_000;
const KINDS = ["question", "answer", "grant", "session", "run", "decision", "policy", "hello"];

/** Listens until `close`. `heard` gets every event, `changed` whether the line holds. */
export function listen(heard, changed) {
  let source = null;
  let pause = FIRST;
  let timer = 0;
  let live = null;
  let over = false;

  function state(holds) {
    if (holds === live) return;
    live = holds;
    changed(holds);
  }

  function connect() {
    clearTimeout(timer);
    source?.close();
    if (over) return;
    source = new EventSource("/v1/events");
    source.onerror = lost;
    for (const kind of KINDS) source.addEventListener(kind, take);
  }

  function take(message) {
    pause = FIRST;
    state(true);
    heard(JSON.parse(message.data));
  }

  function lost() {
    state(false);
    source?.close();
    if (over) return;
    clearTimeout(timer);
    timer = setTimeout(connect, pause * (0.75 + Math.random() / 2));
    pause = Math.min(pause * 2, LONGEST);
  }

  function soon() {
    if (live) return;
    pause = FIRST;
    connect();
  }

  addEventListener("offline", lost);
  addEventListener("online", soon);
  document.addEventListener("visibilitychange", soon);
  connect();
  return {
    retry: soon,
    close() {
      over = true;
      clearTimeout(timer);
      source?.close();
    },
  };
}
