// Several questions alike, answered in one act: each is shown whole, and only the chosen ones are answered.
//
// None is chosen at first. What is chosen has to have been on screen, all of it, before it can be allowed.

import { faultIn } from "../lib/api.js";
import { h, query, show } from "../lib/dom.js";
import { inWords, say } from "../lib/parts.js";
import { inline } from "../lib/visible.js";
import { sleeper } from "../lib/wake.js";
import { ANSWERED } from "../lib/words.js";
import { HOW_TO_READ, READ_ON } from "./bar.js";
import { ending } from "./card.js";
import { asker, head, headline, items, reasons } from "./facts.js";
import { mayJoin, sharedBy } from "./groups.js";
import * as all from "./questions.js";
import { follow } from "./reading.js";
import { whatRuns } from "./shown.js";

/** @import {Question} from "./questions.js" */

/** @typedef {ReturnType<typeof several>} Several */

/** @typedef {{ question: Question, row: HTMLElement, box: HTMLInputElement, over: HTMLElement }} Member */

const UNREAD = "All of what is chosen has to be on screen before it can be allowed together.";

/**
 * The card of a group. `live` says whether answers can be sent at all; `leave` closes the card.
 *
 * @param {Question[]} questions
 * @param {{ live: () => boolean, leave: () => void }} means
 */
export function several(questions, { live, leave }) {
  /** @type {Map<string, Member>} */
  const members = new Map();
  let sending = false;
  let drawn = "";
  const every = h("input", { type: "checkbox", id: "every" });
  const list = h("ol", { class: "several", data: { read: "parts" } });
  const name = h("h2", { tabindex: "-1" });
  const top = h(
    "header",
    { data: { read: "no" } },
    name,
    h("p", { class: "small" }, "Each is its own call. Only those you choose are answered."),
    h("label", { class: "choose" }, every, " Choose all"),
  );
  const label = "Questions alike";
  const body = h(
    "div",
    { class: "card-body", tabindex: "0", role: "region", "aria-label": label },
    top,
    list,
  );
  const hint = h("p", { class: "hint", role: "status" });
  const no = h("span", { class: "no" });
  const yes = h("span", { class: "yeses" });
  const close = h("button", { type: "button", class: "plain", onclick: leave }, "Close");
  const buttons = h("div", { class: "buttons" }, no, h("span", { class: "extras" }, close), yes);
  const element = h(
    "article",
    { class: `card ${questions[0]?.risk ?? ""}`, "aria-label": label },
    body,
    h("footer", { class: "bar", "aria-label": "Answer those chosen" }, hint, buttons),
  );
  const reading = follow(body, draw);
  const calm = sleeper([no, yes], () => !live() || sending);

  const open = () => [...members.values()].filter((one) => mayJoin(one.question));
  const chosen = () => open().filter((one) => one.box.checked);

  /** The buttons: drawn again only if what they would do has changed, and then they sleep for a moment. */
  function draw() {
    const [count, of] = [chosen().length, open().length];
    const next = count ? reading.towards() : "";
    every.checked = count > 0 && count === of;
    every.indeterminate = count > 0 && count < of;
    const state = JSON.stringify([count, of, next, sending]);
    if (state === drawn) return;
    drawn = state;
    const focused = [no, yes].find((place) => place.contains(document.activeElement));
    show(
      name,
      of ? [`${of} like this: `, inline(sharedBy(questions), 80)] : "None of these is waiting any more",
    );
    show(
      no,
      button(count ? `Deny ${count}` : "Deny", "outlined deny", count, () => answer("deny")),
    );
    const allow = next
      ? button(READ_ON[next] ?? "read on", "solid read-on", 1, readOn)
      : button(count ? `Allow ${count} once` : "Allow once", "solid allow", count, () => answer("once"));
    show(yes, allow);
    calm.rest();
    if (focused) query(focused, "button")?.focus();
  }
  /**
   * @param {string} text
   * @param {string} kind
   * @param {number} count
   * @param {() => unknown} does
   */
  function button(text, kind, count, does) {
    const made = h("button", { type: "button", class: kind }, text);
    made.addEventListener("click", () => (count ? does() : show(hint, "Choose at least one.")));
    if (!count) made.dataset.off = "yes";
    return made;
  }
  function readOn() {
    reading.on();
    const still = reading.towards();
    show(hint, still && (still in HOW_TO_READ ? HOW_TO_READ[still] : UNREAD));
    draw();
  }
  /**
   * Give this answer to all that are chosen now, one after the other; the first that fails ends it.
   *
   * @param {string} given
   */
  async function answer(given) {
    const now = chosen().map((one) => one.question);
    if (given !== "deny" && reading.towards()) return draw();
    sending = true;
    draw();
    const done = await answerEach(now, given);
    sending = false;
    show(hint);
    draw();
    if (done === now.length && !open().length) leave();
  }
  /** @param {Question} question */
  function add(question) {
    const box = h("input", { type: "checkbox", onchange: pick });
    const over = h("p", { class: "ended", hidden: true });
    const label = h("label", { class: "choose" }, box, " ", inline(question.title, 140));
    const parts = [head(question), headline(question), whatRuns(question)];
    const row = h(
      "li",
      { data: { read: "later", several: question.id } },
      label,
      over,
      parts,
      reasons(question),
      items(question),
      asker(question),
    );
    members.set(question.id, { question, row, box, over });
    list.append(row);
  }
  function pick() {
    for (const { row, box } of members.values())
      if (!box.disabled) row.dataset.read = box.checked ? "parts" : "later";
    show(hint);
    draw();
  }
  every.addEventListener("change", () => {
    for (const { box } of open()) box.checked = every.checked;
    pick();
  });

  /**
   * What became of them meanwhile. Those that are over stay in their place, and cannot be chosen; new ones come last.
   *
   * @param {Question[]} now
   */
  function update(now) {
    for (const question of now) {
      if (!members.has(question.id) && mayJoin(question)) add(question);
      const known = members.get(question.id);
      if (known) Object.assign(known, { question });
    }
    for (const one of members.values()) {
      if (mayJoin(one.question) && all.questions.has(one.question.id)) continue;
      if (one.question.state === "open") one.question = { ...one.question, state: "cancelled" };
      one.box.checked = false;
      one.box.disabled = true;
      one.row.classList.add("over");
      one.over.hidden = false;
      show(one.over, ending(one.question));
      one.row.dataset.read = "no";
    }
    draw();
  }
  /**
   * From one to the next, as in a list.
   *
   * @param {number} step
   */
  function move(step) {
    const boxes = [every, ...open().map((one) => one.box)];
    const at = boxes.indexOf(/** @type {HTMLInputElement} */ (document.activeElement));
    const box = boxes[Math.min(Math.max(at < 0 ? Math.max(step, 0) : at + step, 0), boxes.length - 1)];
    box?.focus();
    box?.closest("li")?.scrollIntoView({ block: "nearest" });
  }
  /**
   * The same as the button, from the keyboard.
   *
   * @param {Element} place
   */
  const press = (place) => query(place, "button")?.click();
  const keys = {
    j: () => move(1),
    k: () => move(-1),
    a: () => press(yes),
    d: () => press(no),
    Escape: leave,
  };
  update(questions);
  return { element, body, update, keys, rest: calm.rest, look: reading.look, open: () => open().length };
}

/**
 * Give this answer to each, until one fails; how many it was given to.
 *
 * @param {Question[]} questions
 * @param {string} given
 */
async function answerEach(questions, given) {
  const word = ANSWERED[given] ?? given;
  let done = 0;
  try {
    for (const one of questions) {
      const seen = given === "deny" ? {} : { digest: one.digest };
      const stands = await all.answer(one, { answer: given, ...seen });
      if (stands?.yours) done += 1;
    }
    const rest = questions.length - done;
    say(`${done} ${word} by you${rest ? `; ${rest} were over already` : ""}`, rest ? "bad" : "");
  } catch (thrown) {
    const problem = faultIn(thrown);
    const lost = problem.code === "unreachable";
    const then = lost ? ". It is not known whether the next answer arrived" : ", and the next was refused";
    say([`${done} of ${questions.length} ${word}${then}: `, inWords(problem)], "bad");
    for (const one of questions) all.readOne(one.id);
  }
  return done;
}
