// The bar to answer with. Deny and Allow once are always in the same place; whatever is wider is behind "more".

import { h, show } from "./dom.js";
import { holdButton, typedAllow } from "./hold.js";
import { say } from "./parts.js";
import { visible } from "./visible.js";
import { sleeper } from "./wake.js";

const NAMES = {
  once: "Allow once",
  task: "For this task",
  temporary: "For 15 minutes",
  always: "Always, in this session",
  remember: "Allow and remember the tool",
};

/** Whether it asks if the user wrote a message, and not if a call may run. */
export const isClaim = (question) => question.rule === "claimed";

/** Whether its arguments can be edited here: not where only the program that asks knows what fits. */
export const editable = (question) =>
  !isClaim(question) && question.world === null && !question.tool.startsWith("workflow:");

export function bar(question, { give, live, edit, why }) {
  const names = isClaim(question) ? { ...NAMES, once: "I wrote this" } : NAMES;
  const deliberate = question.risk === "high" && !question.signed;
  const reason = h("input", {
    class: "reason",
    placeholder: "reason for the agent",
    "aria-label": "Reason for the agent",
    maxlength: "2000",
  });
  const wider = h("div", { class: "wider", id: "wider", hidden: true });
  const more = button("more", "plain", () => open(wider.hidden));
  more.setAttribute("aria-expanded", "false");
  more.setAttribute("aria-controls", "wider");
  const offered = question.offers.map((offer) => offer.answer);
  const buttons = h(
    "div",
    { class: "buttons" },
    button("Deny", "outlined deny", deny),
    reason,
    h(
      "span",
      { class: "extras" },
      button("Why", "plain", why),
      offered.length > 1 && editable(question) && button("Edit…", "plain", edit),
      more,
    ),
    offered.includes("once") && yes("once", names.once, "solid allow"),
  );
  const element = h("footer", { class: "bar", "aria-label": "Answer" }, wider, buttons);
  const sleep = sleeper(element, () => !live());

  function deny() {
    give({ answer: "deny", ...(reason.value.trim() ? { reason: reason.value.trim() } : {}) });
  }
  /** A button that allows: at high risk it wants to be held. */
  function yes(answer, name, kind) {
    const sure = () => give({ answer });
    if (!deliberate) return button(question.signed ? `${name} ⚿` : name, kind, sure);
    const shown = name === NAMES.once ? "Hold to allow once" : `Hold: ${name}`;
    return holdButton({ class: kind, "data-what": name }, shown, sure);
  }
  /** The same from the keyboard. */
  async function byKey(answer) {
    if (!sleep.awake() || !offered.includes(answer)) return;
    if (answer === "deny") deny();
    else if (!deliberate || (await typedAllow(names[answer]))) await give({ answer });
  }
  function open(wanted) {
    wider.hidden = !wanted;
    element.classList.toggle("open", wanted);
    more.setAttribute("aria-expanded", String(wanted));
    if (wanted) show(wider, offers(question, yes), oneByOne(question, give, deliberate));
    sleep.rest();
  }
  return { element, byKey, rest: sleep.rest };
}

/** Wider answers, each with what it covers, and what it would have covered lately. */
function offers(question, yes) {
  const wide = question.offers.filter((offer) => offer.answer !== "deny" && offer.answer !== "once");
  if (!wide.length)
    return h("p", { class: "small" }, "This can only be allowed once: nothing wider is offered for it.");
  return h(
    "ul",
    { class: "offers" },
    wide.map((offer) =>
      h("li", {}, yes(offer.answer, NAMES[offer.answer] ?? offer.answer, "outlined"), covers(offer)),
    ),
  );
}

function covers(offer) {
  const lately = offer.of_last
    ? ` Would have covered ${offer.would_have_covered} of your last ${offer.of_last} questions.`
    : "";
  return h("span", { class: "small" }, `${visible(offer.words)}.${lately}`);
}

/** For several operations: an answer to each. One refused, and the call is refused. */
function oneByOne(question, answer, deliberate) {
  if (question.items.length < 2) return null;
  const chosen = {};
  const give = () => answer({ items: chosen });
  const label = "Give these answers";
  const send = deliberate
    ? holdButton({ class: "solid" }, `Hold: ${label}`, give)
    : button(label, "solid", give);
  send.hidden = true;
  const rows = question.items.map((item) => {
    const options = question.offers.map((offer) =>
      h("option", { value: offer.answer }, NAMES[offer.answer] ?? "Deny"),
    );
    const select = h(
      "select",
      { id: `item-${item.id}`, value: "" },
      h("option", { value: "" }, "choose"),
      options,
    );
    select.value = "";
    select.addEventListener("change", () => {
      if (select.value) chosen[item.id] = select.value;
      else delete chosen[item.id];
      send.hidden = Object.keys(chosen).length < question.items.length;
    });
    return h(
      "li",
      {},
      h("label", { for: select.id }, `${item.id}. `, h("code", {}, visible(item.operation))),
      select,
    );
  });
  return [
    h("h2", {}, "One by one"),
    h("p", { class: "small" }, "They are parts of one call: one refused, and it does not run."),
    h("ol", { class: "one-by-one" }, rows),
    send,
  ];
}

function button(name, kind, does) {
  return h("button", { type: "button", class: kind, onclick: () => run(does) }, name);
}

async function run(does) {
  try {
    await does();
  } catch (problem) {
    say(`That failed: ${problem.message}`, "bad");
  }
}
