// Live events. A line that broke is told at once, and tried again: soon at first, then less often.

const FIRST = 500;
const LONGEST = 10_000;
const SILENCE = 5_000;
const LOOKS_EVERY = 20_000;
const KINDS = ["question", "answer", "grant", "session", "run", "decision", "policy", "hello"];

/**
 * Listens until `close`. `heard` gets every event, `changed` whether the line holds. A line can die without a
 * word, so `alive` is asked now and then, and whenever somebody comes back to the page.
 */
export function listen(heard, changed, alive) {
  let source = null;
  let pause = FIRST;
  let timer = 0;
  let live = null;
  let over = false;

  function state(holds) {
    if (holds === live || over) return;
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
    timer = setTimeout(lost, SILENCE); // the service says hello first
  }

  function take(message) {
    clearTimeout(timer);
    pause = FIRST;
    state(true);
    heard(JSON.parse(message.data));
  }

  function lost() {
    state(false);
    source?.close();
    clearTimeout(timer);
    if (over) return;
    timer = setTimeout(connect, pause * (0.75 + Math.random() / 2));
    pause = Math.min(pause * 2, LONGEST);
  }

  function look() {
    if (document.hidden || over) return;
    if (live) return void alive().catch(lost);
    pause = FIRST;
    connect();
  }

  addEventListener("offline", lost);
  addEventListener("online", look);
  document.addEventListener("visibilitychange", look);
  const looking = setInterval(() => live && look(), LOOKS_EVERY);
  connect();
  return {
    close() {
      over = true;
      clearTimeout(timer);
      clearInterval(looking);
      source?.close();
    },
  };
}
