// A real provider of OpenID Connect on this machine, for the tests: `node serve.mjs PATH_OF_oidc-provider`.
//
// It prints its issuer, and reads a line of JSON: its client, and the accounts that can sign in (each by its name, with
// any password). Another line makes it begin again with those. It serves until its standard input ends.

import { generateKeyPairSync, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const { Provider } = await import(process.argv[2]);
let answer = (_, response) => response.writeHead(503).end();
const server = createServer((request, response) => answer(request, response));
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const issuer = `http://127.0.0.1:${server.address().port}`;
console.log(`issuer ${issuer}`);

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const { client, accounts } = JSON.parse(line);
  const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" });
  const provider = new Provider(issuer, {
    clients: [client],
    jwks: { keys: [{ ...key, use: "sig", alg: "RS256", kid: "one" }] },
    cookies: { keys: [randomBytes(16).toString("hex")] },
    pkce: { required: () => true },
    claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
    conformIdTokenClaims: false, // so that the claims of the scopes are in the ID token
    findAccount: (_, name) => ({
      accountId: name,
      claims: () => ({ sub: name, ...accounts[name] }),
    }),
  });
  answer = provider.callback();
  console.log(`ready ${client.client_id}`);
});
lines.once("close", () => process.exit());
