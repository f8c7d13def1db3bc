// Building the page. Text goes in as text nodes only, so nothing an agent wrote can become markup.
//
// Words written from right to left stand each by itself, so that they never change the order of what is around
// them: `א /etc/passwd && rm ב` is shown in the order in which it runs.

const SVG = "http://www.w3.org/2000/svg";
const TEXT_ONLY = new Set(["OPTION", "TITLE", "TEXTAREA"]);
// The blocks whose characters, letters and digits alike, are laid out from right to left.
const FROM_RIGHT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]+/u;

/**
 * What goes into an element. Nothing and false are left out.
 *
 * @typedef {Node | string | number | boolean | null | undefined | Child[]} Child
 */

/**
 * What an element has: attributes, `data`, and what happens on an event.
 *
 * @template E
 * @typedef {{
 *   [attribute: string]: string | number | boolean | null | undefined | Data | ((event: never) => unknown),
 *   data?: Data,
 *   onclick?: (event: MouseEvent & { currentTarget: E }) => unknown,
 *   onchange?: (event: Event & { currentTarget: E }) => unknown,
 *   oninput?: (event: Event & { currentTarget: E }) => unknown,
 *   onsubmit?: (event: SubmitEvent & { currentTarget: E }) => unknown,
 * }} Properties
 */

/** @typedef {Record<string, string | number>} Data */

/**
 * An element: its properties (class, on…, data, attributes), then its children; null ones are left out.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Properties<HTMLElementTagNameMap[Tag]>} [properties]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/**
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Properties<SVGElementTagNameMap[Tag]>} [properties]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svg(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

/**
 * Put these children in place of the ones there were.
 *
 * @template {Element} Parent
 * @param {Parent} parent
 * @param {...Child} children
 * @returns {Parent}
 */
export function show(parent, ...children) {
  parent.replaceChildren(...placed(parent, children));
  return parent;
}

/**
 * @template {HTMLElement | SVGElement} E
 * @param {E} element
 * @param {Properties<E>} properties
 * @param {Child[]} children
 * @returns {E}
 */
function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) set(element, name, value);
  element.append(...placed(element, children));
  return element;
}

/**
 * The element of index.html with this id.
 *
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

/**
 * The first HTML element in this place that fits.
 *
 * @param {ParentNode} place
 * @param {string} selector
 * @returns {HTMLElement | null}
 */
export const query = (place, selector) => place.querySelector(selector);

/**
 * All of them.
 *
 * @param {ParentNode} place
 * @param {string} selector
 * @returns {NodeListOf<HTMLElement>}
 */
export const queryAll = (place, selector) => place.querySelectorAll(selector);

/**
 * The children as they go in: no empty ones, and every word from right to left by itself.
 *
 * @param {Element} parent
 * @param {Child[]} children
 * @returns {(Node | string)[]}
 */
function placed(parent, children) {
  const found = flat(children).filter(present);
  if (parent.namespaceURI === SVG || TEXT_ONLY.has(parent.tagName))
    return found.map((one) => (one instanceof Node ? one : String(one)));
  return found.flatMap((one) => (one instanceof Node ? [one] : isolated(String(one))));
}

/**
 * @param {Child[]} children
 * @returns {Exclude<Child, Child[]>[]}
 */
function flat(children) {
  return children.flatMap((one) => (Array.isArray(one) ? flat(one) : [one]));
}

/**
 * @param {string} text
 * @returns {(Node | string)[]}
 */
function isolated(text) {
  if (!FROM_RIGHT.test(text)) return [text];
  const around = text.split(FROM_RIGHT);
  const words = text.match(new RegExp(FROM_RIGHT.source, "gu")) ?? [];
  return around
    .flatMap((plain, at) => (at ? [word(words[at - 1] ?? ""), plain] : [plain]))
    .filter((one) => one !== "");
}

/** @param {string} text */
function word(text) {
  const element = document.createElement("bdi");
  element.append(text);
  return element;
}

/**
 * @template E
 * @param {HTMLElement | SVGElement} element
 * @param {string} name
 * @param {Properties<E>[string]} value
 */
function set(element, name, value) {
  if (!present(value)) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
  else if (name === "data") Object.assign(element.dataset, value);
  else if (name === "value") Object.assign(element, { value });
  else element.setAttribute(name, value === true ? "" : String(value));
}

/** @param {unknown} value */
function present(value) {
  return value !== null && value !== undefined && value !== false;
}
