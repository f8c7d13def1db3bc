// Sessions: agents at work, what they are at, and the button that stops them.

import { post } from "./api.js";
import { h, show } from "./dom.js";
import { rows as rowKeys } from "./keys.js";
import { paged } from "./paged.js";
import { act, empty, line, say, table, time, title } from "./parts.js";
import { inline, visible } from "./visible.js";

const COLUMNS = [
  ["Agent", "first"],
  ["Task", "across"],
  ["Turn", "number"],
  ["Questions", "number"],
  ["Consents", ""],
  ["Since", ""],
  ["Actions", "do"],
];

export function view(place) {
  const found = h("section", { "aria-label": "Sessions" });
  const { read, soon, close } = paged(found, "the sessions", "/v1/sessions", draw);
  const all = act("Stop all agents", { class: "outlined deny" }, async () => {
    const { stopped, settled } = await post("/v1/sessions/stop");
    const others = settled ? "" : " New ones kept coming: stop them again.";
    say(`${stopped} stopped: everything asks until you tell them to go on.${others}`, settled ? "" : "bad");
    await read();
  });
  show(
    place,
    title(
      "Sessions",
      h(
        "p",
        { class: "small" },
        "Agents at work. A stopped one asks for everything until it is told to go on.",
      ),
      all,
    ),
    found,
  );

  function draw(rows) {
    all.hidden = !rows.length;
    if (!rows.length)
      return empty(
        "No agent is at work",
        "A session begins when an agent, or the program it lives in, speaks to Sayso.",
      );
    return table("Open sessions", COLUMNS, rows.map(row));
  }
  function row(session) {
    const button = act(
      "Stop",
      { class: "outlined deny", "aria-label": `Stop ${visible(session.agent)}` },
      async () => {
        await stop(session.id);
        say(`${visible(session.agent)} is stopped: everything asks until you tell it to go on.`);
        await read();
      },
    );
    return line(
      COLUMNS,
      [
        agent(session),
        task(session),
        session.turn,
        session.questions || "–",
        consents(session),
        time(session.opened_at),
        session.stopped ? "" : button,
      ],
      { tabindex: "-1" },
    );
  }
  read();
  return {
    keys: rowKeys(found),
    heard: (event) => ["session", "hello", "grant", "question", "answer"].includes(event.kind) && soon(),
    close,
  };
}

const stop = (id) => post(`/v1/sessions/${encodeURIComponent(id)}/stop`);

function agent(session) {
  const marks = [
    session.stopped && h("strong", { class: "mark" }, "stopped"),
    session.tampered && h("strong", { class: "mark bad" }, "rows changed by hand: it grants nothing"),
  ];
  return h(
    "div",
    {},
    inline(session.agent, 60),
    " ",
    marks,
    h("div", { class: "small" }, inline(session.id, 60)),
  );
}

function task(session) {
  const where = session.workspace && h("div", { class: "small" }, "in ", inline(session.workspace, 100));
  const phase = session.phase ? ` (${visible(session.phase)})` : "";
  return h("div", {}, session.task ? [inline(session.task, 120), phase] : "no task", where);
}

function consents(session) {
  if (!session.grants.length) return "none";
  const list = session.grants.map((grant) => h("li", {}, inline(grant.words, 100)));
  const count = session.grants.length === 1 ? "1 grant" : `${session.grants.length} grants`;
  return h("details", {}, h("summary", {}, count), h("ul", {}, list));
}
