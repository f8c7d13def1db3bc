// Edit and allow: the call's arguments as JSON, checked while they are typed.

import { h } from "./dom.js";
import { holdButton } from "./hold.js";
import { visible } from "./visible.js";

/** The editor for a question. `give` gets the answer; `cancel` is called when the person thinks better of it. */
export function editor(question, give, cancel) {
  const alone = question.command !== null && !named(question);
  const command = alone ? area("edit-command", question.command, 3) : null;
  const args = area("edit-arguments", draft(question.arguments), 10);
  const fault = h("p", { class: "fault", role: "status" });
  const send = () => check() && give(edited(question, read(args.value).values, command?.value ?? null));
  const careful = question.risk === "high" && !question.signed;
  const allow = careful
    ? holdButton(
        { class: "solid", "data-what": "The edited call, once" },
        "Hold to allow the edited call",
        send,
      )
    : h("button", { type: "submit", class: "solid" }, "Allow the edited call once");
  args.setAttribute("aria-describedby", "edit-fault");
  fault.id = "edit-fault";

  function check() {
    const { problem } = read(args.value);
    fault.textContent = problem || "";
    args.setAttribute("aria-invalid", String(Boolean(problem)));
    allow.setAttribute("aria-disabled", String(Boolean(problem)));
    return !problem;
  }
  args.addEventListener("input", check);

  return h(
    "form",
    {
      class: "editor",
      onsubmit(event) {
        event.preventDefault();
        if (!careful) send();
      },
    },
    h("h2", {}, "Edit and allow"),
    h(
      "p",
      { class: "small" },
      "The policy decides the edited call again. Only the edited call is allowed, once.",
    ),
    command && [h("label", { for: "edit-command" }, "Command"), command],
    h("label", { for: "edit-arguments" }, "Arguments, as JSON"),
    args,
    fault,
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", class: "plain", onclick: cancel }, "Cancel"),
      allow,
    ),
  );
}

/** What was typed, as arguments; or what is wrong with it. */
export function read(text) {
  let values;
  try {
    values = JSON.parse(text);
  } catch (error) {
    return { problem: `This is not JSON: ${error.message}` };
  }
  if (values === null || typeof values !== "object" || Array.isArray(values)) {
    return { problem: "The arguments must be an object: names and values in braces." };
  }
  return { values };
}

/** JSON to edit. Characters that would not show are escaped, as JSON can. */
export function draft(values) {
  const text = JSON.stringify(values, null, 2);
  return text.replace(/[^ -~]/gu, (one) => (one === "\n" || visible(one) === one ? one : escaped(one)));
}

function escaped(character) {
  return Array.from({ length: character.length }, (_, i) => unit(character.charCodeAt(i))).join("");
}

const unit = (code) => `\\u${code.toString(16).padStart(4, "0")}`;

/** The name of the argument that is the command; then editing it there is enough. */
function named(question) {
  return Object.keys(question.arguments).find((name) => question.arguments[name] === question.command);
}

function edited(question, values, command) {
  const name = question.command !== null && named(question);
  const line = command ?? (name && typeof values[name] === "string" ? values[name] : null);
  return { answer: "edit", edited: values, ...(line === null ? {} : { command: line }) };
}

function area(id, value, rows) {
  return h("textarea", { id, value, rows, spellcheck: "false", autocapitalize: "off", autocomplete: "off" });
}
