// JSON with every digit of a whole number. JavaScript spells a large one short: 2 ** 60 as 1152921504606847000.

/** @param {unknown} value */
const isLong = (value) => Number.isInteger(value) && !Number.isSafeInteger(value);

/**
 * The value as JSON, in which every whole number stands with the very value that it has.
 *
 * @param {unknown} value
 * @param {number} [indent]
 */
export function exactJson(value, indent) {
  const mark = crypto.getRandomValues(new Uint32Array(4)).join("-");
  /**
   * @param {string} _
   * @param {unknown} one
   */
  const marked = (_, one) => (isLong(one) ? `${mark}${BigInt(Number(one))}` : one);
  return JSON.stringify(value ?? null, marked, indent).replaceAll(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
}

/**
 * A number as it is, digit by digit.
 *
 * @param {number} value
 */
export const exactNumber = (value) => (isLong(value) ? String(BigInt(value)) : String(value));
