// How far text reaches on the page, and whether all of it can be seen: measured at the text, not at its box.

const NEAR = 1;

/**
 * The area of a part and all of its text, measured from the corner of its box.
 *
 * @param {Element} part
 */
export function extent(part) {
  const box = part.getBoundingClientRect();
  const area = { left: box.left, top: box.top, right: box.right, bottom: box.bottom };
  for (const rect of textRects(part)) {
    area.left = Math.min(area.left, rect.left);
    area.top = Math.min(area.top, rect.top);
    area.right = Math.max(area.right, rect.right);
    area.bottom = Math.max(area.bottom, rect.bottom);
  }
  const [width, height] = [area.right - area.left, area.bottom - area.top];
  return { left: area.left - box.left, top: area.top - box.top, width, height };
}

/**
 * How far down in a part the first line stands that is another than before; 0 if that cannot be told.
 *
 * @param {Element} part
 * @param {string} before
 */
export function topOfChange(part, before) {
  const text = part.textContent;
  let left = 0;
  while (left < text.length && text[left] === before[left]) left += 1;
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = /** @type {Text} */ (walker.currentNode);
    if (left >= node.length) {
      left -= node.length;
      continue;
    }
    const range = document.createRange();
    range.setStart(node, left);
    range.setEnd(node, left + 1);
    const { top, height } = range.getBoundingClientRect();
    return height ? top - part.getBoundingClientRect().top : 0;
  }
  return 0;
}

/**
 * Whether a box in this part, or the part itself, cuts off or scrolls away some of what it holds.
 *
 * @param {Element} part
 */
export function isCutOff(part) {
  return [part, ...part.querySelectorAll("*")].some((one) => {
    if (one.scrollWidth <= one.clientWidth + NEAR && one.scrollHeight <= one.clientHeight + NEAR)
      return false;
    const { overflowX, overflowY, display } = getComputedStyle(one);
    const shows = overflowX === "visible" && overflowY === "visible";
    return !shows && display !== "inline" && !one.closest(".hidden");
  });
}

/**
 * Whether this point of the page is in the window, and in what a zoomed page shows of it.
 *
 * @param {number} x
 * @param {number} y
 */
export function onGlass(x, y) {
  const { offsetLeft: left, offsetTop: top, width, height } = window.visualViewport ?? windowView();
  return x >= left && y >= top && x <= left + width && y <= top + height;
}

/** Whether fingers have zoomed the page, so that the window shows only a part of it. */
export const isZoomed = () => (window.visualViewport?.scale ?? 1) > 1.01;

const windowView = () => ({ offsetLeft: 0, offsetTop: 0, width: innerWidth, height: innerHeight });

/**
 * The areas of all text in it, but for what is only heard.
 *
 * @param {Element} part
 */
function* textRects(part) {
  const range = document.createRange();
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, {
    acceptNode: (node) => (isHeardOnly(node) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT),
  });
  while (walker.nextNode()) {
    if (walker.currentNode.nodeType !== Node.TEXT_NODE) continue;
    range.selectNodeContents(walker.currentNode);
    const rect = range.getBoundingClientRect();
    if (rect.width && rect.height) yield rect;
  }
}

/** @param {Node} node */
const isHeardOnly = (node) => node instanceof Element && node.classList.contains("hidden");
