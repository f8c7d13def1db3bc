// A form for the arguments of a call: a field for each value, by its kind. What nobody touched stays as it is.

import { h, show } from "../lib/dom.js";
import { exactNumber } from "../lib/exact.js";
import { visible } from "../lib/visible.js";
import { ordered } from "./shown.js";

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const WHOLE = /^-?(0|[1-9]\d*)$/;
const MOST_ROWS = 12;
let made = 0;

/** Something typed that is no value of its kind; `field` is where. */
export class Unreadable extends Error {
  constructor(message, field) {
    super(message);
    this.field = field;
  }
}

/**
 * The form for these arguments. `editing` is what the service says can be edited. `read()` gives all arguments,
 * or throws Unreadable; `changed` is called after every change. The fields are in the order of the card.
 */
export function formOf(values, editing, changed, because = []) {
  const marked = (name) => because.some((one) => one.argument === name);
  const shown = ordered(Object.entries(values), marked).map(([name]) => name);
  const names = shown.filter((name) => editing.arguments.includes(name));
  const about = (name) => ({ name, whole: editing.same_kinds, changed });
  const fields = names.map((name) => [name, fieldOf(values[name], about(name))]);
  return {
    elements: fields.map(([, field]) => field.element),
    /** What was typed, by name; as text where it is no value of its kind. */
    typed: () => Object.fromEntries(fields.map(([name, field]) => [name, typedIn(field)])),
    read: () => ({ ...values, ...Object.fromEntries(fields.map(([name, field]) => [name, field.read()])) }),
  };
}

function typedIn(field) {
  try {
    return field.read();
  } catch (problem) {
    if (!(problem instanceof Unreadable)) throw problem;
    return problem.field.value;
  }
}

/** The field for one value, by what the value is. */
function fieldOf(value, about) {
  if (typeof value === "string") return textField(value, about);
  if (typeof value === "boolean") return flagField(value, about);
  if (typeof value === "number") return numberField(value, about);
  if (Array.isArray(value)) return listField(value, about);
  return value === null ? nothingField(about) : mapField(value, about);
}

function textField(value, about) {
  const area = h("textarea", { ...bare(about), rows: rowsFor(value), value, spellcheck: "false" });
  const before = area.value; // the browser makes every line end a plain one
  const windows = value.includes("\r\n") && !/(^|[^\r])\n/.test(value);
  area.addEventListener("input", () => {
    area.rows = rowsFor(area.value);
    about.changed();
  });
  const odd = oddIn(value);
  const note = odd.length
    ? h("p", { class: "small" }, `Has characters that do not show as themselves: ${odd.join(" ")}`)
    : null;
  return {
    element: labelled(area, about, note),
    read() {
      if (area.value === before) return value;
      return windows ? area.value.replaceAll("\n", "\r\n") : area.value;
    },
  };
}

function numberField(value, about) {
  const whole = about.whole && Number.isInteger(value);
  const input = h("input", {
    ...bare(about),
    inputmode: whole ? "numeric" : "decimal",
    value: exactNumber(value),
  });
  input.addEventListener("input", about.changed);
  return {
    element: labelled(input, about),
    read() {
      const typed = input.value.trim();
      if (typed === exactNumber(value)) return value;
      const number = Number(typed);
      if (!(whole ? WHOLE : NUMBER).test(typed))
        throw new Unreadable(`${about.name} takes a ${whole ? "whole number" : "number"}.`, input);
      if (
        !Number.isFinite(number) ||
        (WHOLE.test(typed) && !Number.isSafeInteger(number) && exactNumber(number) !== typed)
      )
        throw new Unreadable(`${about.name} is too long a number to be exact.`, input);
      return number;
    },
  };
}

function flagField(value, about) {
  const box = h("input", { ...bare(about), type: "checkbox" });
  box.checked = value;
  box.addEventListener("change", about.changed);
  const label = h("label", { class: "flag", for: box.id }, box, h("span", {}, visible(about.name)));
  return { element: h("div", { class: "field" }, label), read: () => box.checked };
}

/** A list: items can be changed and taken out; texts can be added as well. */
function listField(value, about) {
  const texts = value.every((one) => typeof one === "string");
  const list = h("div", {});
  let items = value.map((one, at) => ({ ...fieldOf(one, item(at)), at }));
  let next = value.length;

  function item(at) {
    return { ...about, name: `${about.name} ${at + 1}` };
  }
  function without(gone) {
    items = items.filter((one) => one !== gone);
    draw();
    about.changed();
    (list.querySelector("textarea, input, select") ?? add ?? list).focus?.();
  }
  function draw() {
    show(
      list,
      items.map((one) =>
        h(
          "div",
          { class: "item" },
          one.element,
          quiet("Remove", `Remove ${visible(about.name)} ${one.at + 1}`, () => without(one)),
        ),
      ),
    );
  }
  const add =
    texts &&
    quiet("Add another", `Add another to ${visible(about.name)}`, () => {
      const one = { ...textField("", item(next)), at: next };
      next += 1;
      items = [...items, one];
      draw();
      about.changed();
      one.element.querySelector("textarea").focus();
    });
  draw();
  return { element: group(about, list, add), read: () => items.map((one) => one.read()) };
}

function mapField(value, about) {
  const inside = (name) => ({ ...about, name });
  const fields = Object.entries(value).map(([name, one]) => [name, fieldOf(one, inside(name))]);
  const read = () => Object.fromEntries(fields.map(([name, field]) => [name, field.read()]));
  const shown = fields.length
    ? fields.map(([, field]) => field.element)
    : h("p", { class: "small" }, "empty");
  return { element: group(about, shown), read };
}

function nothingField(about) {
  const words = h(
    "p",
    { class: "small" },
    h("strong", {}, visible(about.name)),
    " has no value (null) and keeps it.",
  );
  return { element: h("div", { class: "field" }, words), read: () => null };
}

/** What every field has. */
const bare = () => ({ id: `field-${++made}`, autocapitalize: "off", autocomplete: "off" });

function labelled(control, { name }, note = null) {
  return h("div", { class: "field" }, h("label", { for: control.id }, visible(name)), control, note);
}

function group({ name }, ...children) {
  return h("fieldset", { class: "field" }, h("legend", {}, visible(name)), children);
}

function quiet(name, label, does) {
  return h("button", { type: "button", class: "plain", "aria-label": label, onclick: does }, name);
}

const rowsFor = (text) =>
  Math.min(
    MOST_ROWS,
    Math.max(
      1,
      text.split("\n").reduce((sum, line) => sum + Math.ceil((line.length + 1) / 60), 0),
    ),
  );

/** The spellings of what a field would not show as itself, each once. */
function oddIn(text) {
  const odd = Array.from(text).filter((one) => one !== "\n" && one !== "\t" && visible(one) !== one);
  return [...new Set(odd.map(visible))].slice(0, 8);
}
