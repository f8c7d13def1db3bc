// Signing in: the code of a link, or of a provider, is used up here, and leaves the address bar at once.

import { faultIn, finishSignIn, get, goSignIn, Problem, signIn } from "../lib/api.js";
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
  const { provider, given } = fromProvider();
  const code = location.hash.slice(1);
  window.history.replaceState(null, "", "/sign-in");
  if (!code && !provider) return true;
  show(place, h("div", { class: "state", role: "status" }, h("p", {}, "Signing in …")));
  try {
    if (!provider) await signIn(code);
    else if (given.has("code")) await finishSignIn(provider, given);
    else throw new Problem(403, { detail: "the provider signed nobody in" });
    return true;
  } catch (thrown) {
    show(place, signInHelp(faultIn(thrown), provider ? "You are not signed in" : NO_LINK));
    return false;
  }
}

const NO_LINK = "This link does not sign you in";

/** The provider that sent this browser back, and what it gave along. */
function fromProvider() {
  const [, where, provider = ""] = location.pathname.split("/");
  const found = where === "sign-in" ? decodeURIComponent(provider) : "";
  return { provider: found, given: new URLSearchParams(location.search) };
}

/**
 * @param {Fault | null} [problem]
 * @param {string} [heading]
 */
export function signInHelp(problem = null, heading = NO_LINK) {
  const others = h("div", { class: "providers" });
  showProviders(others);
  return h(
    "section",
    { class: "sign-in" },
    title(problem ? heading : "Sign in"),
    problem &&
      h(
        "p",
        { class: "fault", role: "alert" },
        `${capital(problem.message)}. ${problem.status === 0 ? "Is it running?" : ""}`,
      ),
    others,
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

/**
 * The providers that people can sign in with here, if there are any.
 *
 * @param {HTMLElement} place
 */
async function showProviders(place) {
  const found = await get("/sign-in-providers").catch(() => []);
  if (!found.length) return;
  const buttons = found.map(({ name, label }) =>
    act(`Sign in with ${label}`, { class: "solid" }, () => goSignIn(name)),
  );
  show(place, ...buttons);
}

function withPasskey() {
  return act("Sign in with a passkey", { class: "outlined" }, async () => {
    await signInWith();
    location.replace("/");
  });
}
