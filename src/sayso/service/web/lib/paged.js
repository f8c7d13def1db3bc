// A list that is read a page at a time, and read again after news, as far as it was shown.

import { page } from "./api.js";
import { h, queryAll } from "./dom.js";
import { act, fill } from "./parts.js";

/** @import {Page, RowOf} from "./api.js" */
/** @import {Child} from "./dom.js" */

const SOON = 300;

/**
 * The list at this path, in this place. `draw` gets the rows there are so far, and whether there are more.
 * `read` reads it again at once; `soon` after a moment, however often it is asked meanwhile.
 *
 * @template {string} Path
 * @param {Element} place
 * @param {string} what
 * @param {Path} path
 * @param {(rows: RowOf<Path>[], more: boolean) => Child} draw
 */
export function paged(place, what, path, draw) {
  let pages = 1;
  let timer = 0;
  const read = () => fill(place, what, pagesShown, drawn);
  const next = act("Show more", { class: "outlined" }, async () => {
    const before = place.querySelectorAll("tbody tr").length;
    pages += 1;
    await read();
    queryAll(place, "tbody tr")[before]?.focus();
  });

  /** @returns {Promise<Page<RowOf<Path>>>} */
  async function pagesShown() {
    let { rows, more } = await page(path);
    for (let shown = 1; shown < pages && more; shown += 1) {
      const following = await more();
      rows = [...rows, ...following.rows];
      more = following.more;
    }
    return { rows, more };
  }

  /** @param {Page<RowOf<Path>>} page */
  function drawn({ rows, more }) {
    const beneath = h("p", { class: "more-below" }, `The first ${rows.length} are shown. `, next);
    return [draw(rows, Boolean(more)), more && beneath];
  }

  function soon() {
    timer ||= setTimeout(() => {
      timer = 0;
      read();
    }, SOON);
  }
  return { read, soon, close: () => clearTimeout(timer) };
}
