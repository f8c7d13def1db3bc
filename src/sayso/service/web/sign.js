// Signing an answer with a passkey.

/** The proof that a person approved exactly this question; null if none can be given here. */
export async function signAnswer(question) {
  return null;
}
