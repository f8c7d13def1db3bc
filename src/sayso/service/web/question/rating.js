// Whether a question was clear: two small buttons beside the word that it was answered, one touch each.

import { faultIn, post } from "../lib/api.js";
import { h, show } from "../lib/dom.js";

/**
 * The two buttons for the question of this id.
 *
 * @param {string} id
 */
export function rating(id) {
  const place = h("span", { class: "rating" });
  /** @param {boolean} clear */
  const rate = (clear) => async () => {
    try {
      await post(`/v1/questions/${encodeURIComponent(id)}/rating`, { clear });
      show(place, clear ? " Rated clear." : " Rated not clear.");
    } catch (thrown) {
      show(place, ` Not rated: ${faultIn(thrown).message}`);
    }
  };
  show(place, " Was it clear? ", touch("Clear", rate(true)), " ", touch("Not clear", rate(false)));
  return place;
}

/**
 * @param {string} name
 * @param {() => unknown} act
 */
function touch(name, act) {
  const element = h("button", { type: "button", class: "plain small" }, name);
  element.addEventListener("click", (event) => {
    event.stopPropagation();
    act();
  });
  return element;
}
