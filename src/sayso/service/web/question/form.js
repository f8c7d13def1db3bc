// A form for the arguments of a call: a field for each value, by its kind. What nobody touched stays as it is.

import { h, query, show } from "../lib/dom.js";
import { exactNumber } from "../lib/exact.js";
import { oddIn, visible } from "../lib/visible.js";
import { ordered } from "./shown.js";

/** @import {Child} from "../lib/dom.js" */

/** @typedef {Sayso.Json} Json */

/** @typedef {{ [name: string]: Json }} Values */

/**
 * What a field is about: its name, whether a whole number stays one, what its program says it takes, and what to call
 * after every change.
 *
 * @typedef {{ name: string, whole: boolean, type?: Sayso.ArgumentType, changed: () => void }} About
 */

/** @typedef {{ element: HTMLElement, read: () => Json }} Field */

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const WHOLE = /^-?(0|[1-9]\d*)$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const MOST_ROWS = 12;
let made = 0;

/** Something typed that is not a value of its kind; `field` is where. */
export class Unreadable extends Error {
  /**
   * @param {string} message
   * @param {HTMLInputElement} field
   */
  constructor(message, field) {
    super(message);
    this.field = field;
  }
}

/**
 * The form for these arguments. `editing` is what the service says can be edited. `read()` gives all arguments,
 * or throws Unreadable; `changed` is called after every change. The fields are in the order of the card.
 *
 * @param {Values} values
 * @param {Sayso.EditableArguments} editing
 * @param {() => void} changed
 * @param {Sayso.Piece[]} [because]
 */
export function formOf(values, editing, changed, because = []) {
  /** @param {string} name */
  const marked = (name) => because.some((one) => one.argument === name);
  const shown = ordered(Object.entries(values), marked).map(([name]) => name);
  const names = shown.filter((name) => editing.arguments.includes(name));
  /**
   * @param {string} name
   * @returns {About}
   */
  const about = (name) => ({ name, whole: editing.same_kinds, type: editing.types?.[name], changed });
  const fields = names.map((name) => named(name, fieldOf(values[name] ?? null, about(name))));
  return {
    elements: fields.map(([, field]) => field.element),
    /** What was typed, by name; as text where it is not a value of its kind. */
    typed: () => Object.fromEntries(fields.map(([name, field]) => [name, typedIn(field)])),
    read: () => ({ ...values, ...Object.fromEntries(fields.map(([name, field]) => [name, field.read()])) }),
  };
}

/**
 * @param {string} name
 * @param {Field} field
 * @returns {[string, Field]}
 */
const named = (name, field) => [name, field];

/**
 * @param {Field} field
 * @returns {Json}
 */
function typedIn(field) {
  try {
    return field.read();
  } catch (problem) {
    if (!(problem instanceof Unreadable)) throw problem;
    return problem.field.value;
  }
}

/**
 * The field for one value: by what its program says it takes, else by what the value is.
 *
 * @param {Json} value
 * @param {About} about
 * @returns {Field}
 */
function fieldOf(value, about) {
  if (about.type?.kind === "choice") return choiceField(value, about.type.choices, about);
  if (about.type?.kind === "date" && typeof value === "string" && DATE.test(value))
    return dateField(value, about);
  if (typeof value === "string") return textField(value, about);
  if (typeof value === "boolean") return flagField(value, about);
  if (typeof value === "number") return numberField(value, about);
  if (Array.isArray(value)) return listField(value, about);
  return value === null ? nothingField(about) : mapField(value, about);
}

/**
 * One of some values, each shown as what it is.
 *
 * @param {Json} value
 * @param {Json[]} choices
 * @param {About} about
 * @returns {Field}
 */
function choiceField(value, choices, about) {
  const own = JSON.stringify(value);
  const all = choices.some((one) => JSON.stringify(one) === own) ? choices : [value, ...choices];
  const options = all.map((one, at) => {
    const option = h("option", { value: String(at) }, choiceName(one));
    option.selected = JSON.stringify(one) === own;
    return option;
  });
  const select = h("select", bare(), options);
  select.addEventListener("change", about.changed);
  return { element: labelled(select, about), read: () => all[Number(select.value)] ?? null };
}

/** @param {Json} value */
function choiceName(value) {
  if (value === null) return "no value";
  return visible(typeof value === "string" && value ? value : JSON.stringify(value));
}

/**
 * @param {string} value
 * @param {About} about
 * @returns {Field}
 */
function dateField(value, about) {
  const input = h("input", { ...bare(), type: "date", value });
  input.addEventListener("input", about.changed);
  return {
    element: labelled(input, about),
    read() {
      if (!input.value) throw new Unreadable(`${about.name} takes a date.`, input);
      return input.value;
    },
  };
}

/**
 * @param {string} value
 * @param {About} about
 * @returns {Field}
 */
function textField(value, about) {
  const area = h("textarea", { ...bare(), rows: rowsFor(value), value, spellcheck: "false" });
  const before = area.value; // the browser makes every line end a plain one
  const windows = value.includes("\r\n") && !/(^|[^\r])\n/.test(value);
  area.addEventListener("input", () => {
    area.rows = rowsFor(area.value);
    about.changed();
  });
  const odd = oddIn(value).slice(0, 8);
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

/**
 * @param {number} value
 * @param {About} about
 * @returns {Field}
 */
function numberField(value, about) {
  const whole = about.type ? about.type.kind === "whole" : about.whole && Number.isInteger(value);
  const input = h("input", {
    ...bare(),
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

/**
 * @param {boolean} value
 * @param {About} about
 * @returns {Field}
 */
function flagField(value, about) {
  const box = h("input", { ...bare(), type: "checkbox" });
  box.checked = value;
  box.addEventListener("change", about.changed);
  const label = h("label", { class: "flag", for: box.id }, box, h("span", {}, visible(about.name)));
  return { element: h("div", { class: "field" }, label), read: () => box.checked };
}

/**
 * A list: items can be changed and taken out; texts can be added as well.
 *
 * @param {Json[]} value
 * @param {About} about
 * @returns {Field}
 */
function listField(value, about) {
  const texts = value.every((one) => typeof one === "string");
  const list = h("div", {});
  let items = value.map((one, at) => ({ ...fieldOf(one, item(at)), at }));
  let next = value.length;

  /**
   * @param {number} at
   * @returns {About}
   */
  function item(at) {
    return { ...about, type: undefined, name: `${about.name} ${at + 1}` };
  }
  /** @param {Field} gone */
  function without(gone) {
    items = items.filter((one) => one !== gone);
    draw();
    about.changed();
    (query(list, "textarea, input, select") || add || list).focus();
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
      one.element.querySelector("textarea")?.focus();
    });
  draw();
  return { element: group(about, list, add), read: () => items.map((one) => one.read()) };
}

/**
 * @param {Values} value
 * @param {About} about
 * @returns {Field}
 */
function mapField(value, about) {
  /** @param {string} name */
  const inside = (name) => ({ ...about, type: undefined, name });
  const fields = Object.entries(value).map(([name, one]) => named(name, fieldOf(one, inside(name))));
  const read = () => Object.fromEntries(fields.map(([name, field]) => [name, field.read()]));
  const shown = fields.length
    ? fields.map(([, field]) => field.element)
    : h("p", { class: "small" }, "empty");
  return { element: group(about, shown), read };
}

/**
 * @param {About} about
 * @returns {Field}
 */
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

/**
 * @param {HTMLElement} control
 * @param {About} about
 * @param {Child} [note]
 */
function labelled(control, { name }, note = null) {
  return h("div", { class: "field" }, h("label", { for: control.id }, visible(name)), control, note);
}

/**
 * @param {About} about
 * @param {...Child} children
 */
function group({ name }, ...children) {
  return h("fieldset", { class: "field" }, h("legend", {}, visible(name)), children);
}

/**
 * @param {string} name
 * @param {string} label
 * @param {() => void} does
 */
function quiet(name, label, does) {
  return h("button", { type: "button", class: "plain", "aria-label": label, onclick: does }, name);
}

/** @param {string} text */
const rowsFor = (text) =>
  Math.min(
    MOST_ROWS,
    Math.max(
      1,
      text.split("\n").reduce((sum, line) => sum + Math.ceil((line.length + 1) / 60), 0),
    ),
  );
