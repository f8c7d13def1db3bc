// Building the page. Text goes in as text nodes only, so nothing an agent wrote can become markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element: its properties (class, on…, data, attributes), then its children; null ones are left out. */
export function h(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

export function svg(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

/** Put these children in place of the ones there were. */
export function show(parent, ...children) {
  parent.replaceChildren(...children.flat(Infinity).filter(present));
  return parent;
}

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) set(element, name, value);
  element.append(...children.flat(Infinity).filter(present));
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
