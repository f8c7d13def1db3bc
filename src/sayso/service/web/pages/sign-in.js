// Signing in: the code of a one-time link is used up here, and leaves the address bar at once.

import { faultIn, signIn } from "../lib/api.js";
import { h, show } from "../lib/dom.js";
import { act, title } from "../lib/parts.js";
import { signIn as signInWith, unusable } from "../lib/passkeys.js";
import { capital } from "../lib/visible.js";

/** @import {Fault} from "../lib/api.js" */

/**
 * Use the code in the address, if there is one. Whether somebody is signed in now, or was before.
 *
 * @param {Element} place
 */
export async function useCode(place) {
  const code = location.hash.slice(1);
  window.history.replaceState(null, "", "/sign-in");
  if (!code) return true;
  show(place, h("div", { class: "state", role: "status" }, h("p", {}, "Signing in …")));
  try {
    await signIn(code);
    return true;
  } catch (thrown) {
    show(place, signInHelp(faultIn(thrown)));
    return false;
  }
}

/** @param {Fault | null} [problem] */
export function signInHelp(problem = null) {
  return h(
    "section",
    { class: "sign-in" },
    title(problem ? "This link does not sign you in" : "Sign in"),
    problem &&
      h(
        "p",
        { class: "fault", role: "alert" },
        `${capital(problem.message)}. ${problem.status === 0 ? "Is it running?" : ""}`,
      ),
    h(
      "p",
      {},
      "This page is for the person whose agents ask here. A link from your terminal signs this browser in:",
    ),
    h("pre", { class: "command", tabindex: "0", "aria-label": "Command" }, "sayso link"),
    h(
      "p",
      { class: "small" },
      "The link works once, within two minutes. Do not open one that you did not ask for.",
    ),
    !unusable() && h("p", {}, "Or use your passkey: ", withPasskey()),
  );
}

function withPasskey() {
  return act("Sign in with a passkey", { class: "outlined" }, async () => {
    await signInWith();
    location.replace("/");
  });
}
