// Passkeys: made, used to sign in, and used to sign one answer, approval or review.

import { keep, post } from "./api.js";

/** Whether passkeys can be used on this page at all; else why not. */
export function unusable() {
  if (!window.isSecureContext || !window.PublicKeyCredential) return "this browser has no passkeys here";
  if (/^[\d.]+$|^\[/.test(location.hostname))
    return `open http://localhost:${location.port || 80} instead: a passkey needs a name`;
  return null;
}

/**
 * Make a passkey for whoever is signed in.
 *
 * @param {string} name
 */
export async function register(name) {
  const options = await post("/v1/passkeys/options");
  /** @type {PublicKeyCredentialCreationOptions} */
  const publicKey = {
    ...options,
    challenge: bytes(options.challenge),
    user: { ...options.user, id: bytes(options.user.id) },
    excludeCredentials: options.excludeCredentials.map(named),
  };
  const made = await asked(() => navigator.credentials.create({ publicKey }));
  const { clientDataJSON, attestationObject } = /** @type {AuthenticatorAttestationResponse} */ (
    made.response
  );
  const response = { clientDataJSON: text(clientDataJSON), attestationObject: text(attestationObject) };
  const credential = { id: made.id, rawId: text(made.rawId), type: made.type, response };
  return post("/v1/passkeys", { name, credential });
}

/** Sign in with a passkey; who it was. */
export async function signIn() {
  return keep(await post("/v1/sign-in", await proof(await post("/v1/sign-in/options"))));
}

/**
 * The proof that a person gives exactly this answer to exactly this question.
 *
 * @param {{ id: string }} question
 * @param {Sayso.AnswerBody} given
 */
export async function signAnswer(question, given) {
  return proof(await post(`/v1/questions/${encodeURIComponent(question.id)}/challenge`, given));
}

/**
 * The proof that a person approves or undoes exactly this proposal.
 *
 * @param {string} id
 * @param {"approve" | "undo"} act
 * @param {string} digest
 */
export async function signProposal(id, act, digest) {
  return proof(await post(`/v1/proposals/${encodeURIComponent(id)}/challenge`, { act, digest }));
}

/**
 * The proof that a person keeps exactly what was shown of a domain.
 *
 * @param {string} domain
 * @param {string} digest
 */
export async function signReview(domain, digest) {
  return proof(await post(`/v1/policy/reviews/${encodeURIComponent(domain)}/challenge`, { digest }));
}

/**
 * The proof that a person applies exactly this policy file over exactly what is in force.
 *
 * @param {string} content
 * @param {string} shown
 */
export async function signApplying(content, shown) {
  return proof(await post("/v1/policy/apply/challenge", { content, shown }));
}

/**
 * @param {Sayso.SigningOptions} options
 * @returns {Promise<Sayso.Proof>}
 */
async function proof(options) {
  const publicKey = {
    ...options,
    challenge: bytes(options.challenge),
    allowCredentials: options.allowCredentials.map(named),
  };
  const signed = await asked(() => navigator.credentials.get({ publicKey }));
  const response = /** @type {AuthenticatorAssertionResponse} */ (signed.response);
  return {
    credential: signed.id,
    authenticator_data: text(response.authenticatorData),
    client_data: text(response.clientDataJSON),
    signature: text(response.signature),
  };
}

/**
 * What the browser's own window gave; in plain words if it gave nothing.
 *
 * @param {() => Promise<Credential | null>} what
 */
async function asked(what) {
  const why = unusable();
  if (why) throw new Error(why);
  try {
    return /** @type {PublicKeyCredential} */ (await what());
  } catch (cause) {
    const error = /** @type {Error} */ (cause);
    /** @type {Record<string, string>} */
    const words = {
      NotAllowedError: "the passkey was not used",
      InvalidStateError: "this device has a passkey for you already",
    };
    throw new Error(words[error.name] ?? error.message);
  }
}

/**
 * @param {Sayso.SpelledKey} one
 * @returns {PublicKeyCredentialDescriptor}
 */
const named = (one) => ({ ...one, id: bytes(one.id) });

/** @param {string} spelled */
export function bytes(spelled) {
  const plain = atob(spelled.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
}

/** @param {ArrayBuffer} buffer */
function text(buffer) {
  const plain = String.fromCharCode(...new Uint8Array(buffer));
  return btoa(plain).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
