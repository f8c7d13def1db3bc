// Your passkeys: which there are, one more, one less.

import { get, remove } from "../lib/api.js";
import { h, show } from "../lib/dom.js";
import { act, empty, fill, line, say, table, time, title } from "../lib/parts.js";
import { register, unusable } from "../lib/passkeys.js";
import { visible } from "../lib/visible.js";

/** @import {Child} from "../lib/dom.js" */
/** @import {Column, View} from "../lib/parts.js" */

/** @type {Column[]} */
const COLUMNS = [
  ["Name", "wide"],
  ["For", "bare"],
  ["Made", ""],
  ["Last used", ""],
  ["", "do"],
];
/** @type {Record<string, string>} */
const NEEDED = {
  all: "Every answer that allows something has to be signed with a passkey.",
  high: "Answers that allow something of high risk have to be signed with a passkey.",
  never: "No answer has to be signed.",
};

/**
 * @param {HTMLElement} place
 * @returns {View}
 */
export function view(place) {
  const found = h("section", { "aria-label": "Passkeys" });
  const name = h("input", {
    id: "passkey-name",
    maxlength: "100",
    value: "this device",
    autocomplete: "off",
  });
  const read = () => fill(found, "your passkeys", () => get("/v1/passkeys"), draw);
  const add = act("Add a passkey", { class: "solid" }, async () => {
    const added = await register(name.value.trim());
    say(`Added: ${visible(added.name)}`);
    await read();
  });
  const why = unusable();
  const form = why
    ? h("p", { class: "fault" }, `No passkey can be added: ${why}.`)
    : h("p", { class: "row from-left" }, h("label", { for: "passkey-name" }, "Name "), name, " ", add);
  show(
    place,
    title(
      "Passkeys",
      h(
        "p",
        { class: "small" },
        "A passkey signs you in, and signs what you allow. You can add or remove one for five minutes after you signed in.",
      ),
    ),
    form,
    found,
  );

  /**
   * @param {Sayso.PasskeysView} view
   * @returns {Child}
   */
  function draw({ passkeys, require }) {
    const chosen = require ?? (passkeys.length ? "high" : "never");
    const note = h(
      "p",
      { class: "small" },
      NEEDED[chosen],
      " ",
      h("code", {}, "sayso passkey require"),
      " changes that, at a terminal.",
    );
    if (!passkeys.length)
      return [
        empty(
          "You have no passkey",
          "Until you add one, nothing proves that it was you who allowed something.",
        ),
        note,
      ];
    return [table("Your passkeys", COLUMNS, passkeys.map(row)), note];
  }
  /** @param {Sayso.PasskeyView} one */
  function row(one) {
    const drop = act(
      "Remove",
      { class: "outlined deny", "aria-label": `Remove: ${visible(one.name)}` },
      async () => {
        await remove(`/v1/passkeys/${encodeURIComponent(one.id)}`);
        say(`Removed: ${visible(one.name)}`);
        await read();
      },
    );
    return line(COLUMNS, [
      visible(one.name),
      one.place,
      time(one.made_at),
      one.used_at === null ? "never" : time(one.used_at),
      drop,
    ]);
  }
  read();
  return {};
}
