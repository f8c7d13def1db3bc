// Small, sharp charts. They are pictures of a table that stands behind them, so they are hidden from readers.

import { h, svg } from "./dom.js";

/** @import {Child} from "./dom.js" */

/** @typedef {[value: number, kind: string]} Part */

/** @typedef {[label: Child, parts: Part[], words: string]} Bar */

/**
 * Columns side by side, such as one for each hour; every value is [label, number].
 *
 * @param {[label: string, value: number][]} values
 */
export function columns(values) {
  const [width, height, foot] = [480, 120, 18];
  const most = Math.max(1, ...values.map(([, value]) => value));
  const step = width / Math.max(1, values.length);
  const made = values.map(([label, value], i) => {
    const tall = (value / most) * (height - 4);
    const place = {
      x: i * step + step * 0.1,
      y: height - tall,
      width: step * 0.8,
      height: tall,
      class: "column",
    };
    return svg("rect", place, svg("title", {}, `${label}: ${value}`));
  });
  const ends = [
    svg("text", { x: 0, y: height + foot - 4 }, values[0]?.[0] ?? ""),
    svg("text", { x: width, y: height + foot - 4, "text-anchor": "end" }, values.at(-1)?.[0] ?? ""),
    svg("text", { x: 0, y: 10 }, String(most)),
  ];
  const ground = svg("line", { x1: 0, y1: height, x2: width, y2: height, class: "ground" });
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height + foot}`, class: "chart", "aria-hidden": "true" },
    made,
    ground,
    ends,
  );
}

/**
 * Bars, one below the other. Every value is [label, parts, words]: the parts, each [number, kind], stand in one
 * bar, and the words say what they come to.
 *
 * @param {Bar[]} values
 */
export function bars(values) {
  /** @param {Bar} bar */
  const length = ([, parts]) => parts.reduce((sum, [value]) => sum + value, 0);
  const most = Math.max(Number.MIN_VALUE, ...values.map(length));
  const rows = values.map(([label, parts, words]) => {
    const bar = svg("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", class: "bar-picture" });
    bar.append(svg("rect", { width: 100, height: 8, class: "track" }));
    let from = 0;
    for (const [value, kind] of parts) {
      const width = (value / most) * 100;
      bar.append(svg("rect", { x: from, width, height: 8, class: `fill ${kind}` }));
      from += width;
    }
    return h(
      "div",
      { class: "bar-row" },
      h("span", { class: "label" }, label),
      bar,
      h("span", { class: "number" }, words),
    );
  });
  return h("div", { class: "bars", "aria-hidden": "true" }, rows);
}

/**
 * What the parts of bars mean: [word, kind] each.
 *
 * @param {[word: string, kind: string][]} parts
 */
export function key(parts) {
  const made = parts.map(([word, kind]) => {
    const square = svg("svg", { viewBox: "0 0 10 10", class: "square" });
    square.append(svg("rect", { width: 10, height: 10, class: `fill ${kind}` }));
    return h("span", {}, square, word);
  });
  return h("p", { class: "key small", "aria-hidden": "true" }, made);
}
