// Building the page. Text goes in as text nodes only, so nothing an agent wrote can become markup.
//
// Words written from right to left stand each by itself, so that they never change the order of what is around
// them: `א /etc/passwd && rm ב` is shown in the order in which it runs.

const SVG = "http://www.w3.org/2000/svg";
const TEXT_ONLY = new Set(["OPTION", "TITLE", "TEXTAREA"]);
// The blocks whose characters, letters and digits alike, are laid out from right to left.
const FROM_RIGHT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]+/u;

/** An element: its properties (class, on…, data, attributes), then its children; null ones are left out. */
export function h(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

export function svg(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

/** Put these children in place of the ones there were. */
export function show(parent, ...children) {
  parent.replaceChildren(...placed(parent, children));
  return parent;
}

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) set(element, name, value);
  element.append(...placed(element, children));
  return element;
}

/** The children as they go in: no empty ones, and every word from right to left by itself. */
function placed(parent, children) {
  const found = children.flat(Infinity).filter(present);
  if (parent.namespaceURI === SVG || TEXT_ONLY.has(parent.tagName)) return found;
  return found.flatMap((one) => (one instanceof Node ? [one] : isolated(String(one))));
}

function isolated(text) {
  if (!FROM_RIGHT.test(text)) return [text];
  const around = text.split(FROM_RIGHT);
  const words = text.match(new RegExp(FROM_RIGHT.source, "gu"));
  return around
    .flatMap((plain, at) => (at ? [word(words[at - 1]), plain] : [plain]))
    .filter((one) => one !== "");
}

function word(text) {
  const element = document.createElement("bdi");
  element.append(text);
  return element;
}

function set(element, name, value) {
  if (!present(value)) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "data") Object.assign(element.dataset, value);
  else if (name === "value") element.value = value;
  else element.setAttribute(name, value === true ? "" : value);
}

function present(value) {
  return value !== null && value !== undefined && value !== false;
}
