// Small, sharp charts. They are pictures of a table that stands behind them, so they are hidden from readers.

import { h, svg } from "./dom.js";

/** Columns side by side, such as one for each hour; every value is [label, number]. */
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

/** Bars, one below the other; every value is [label, number, kind]. */
export function bars(values) {
  const most = Math.max(1, ...values.map(([, value]) => value));
  const rows = values.map(([label, value, kind]) => {
    const bar = svg("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", class: "bar-picture" });
    bar.append(
      svg("rect", { width: 100, height: 8, class: "track" }),
      svg("rect", { width: (value / most) * 100, height: 8, class: `fill ${kind}` }),
    );
    return h(
      "div",
      { class: "bar-row" },
      h("span", {}, label),
      bar,
      h("span", { class: "number" }, value.toLocaleString("en")),
    );
  });
  return h("div", { class: "bars", "aria-hidden": "true" }, rows);
}
