// The plugin in a stub of Obsidian, against a service that signs as Sayso does. `npm test` builds main.js first.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { buttons, El, load, press, shown, type } from "./stub.mjs";

const BUNDLE = process.env.SAYSO_PLUGIN ?? fileURLToPath(new URL("../main.js", import.meta.url));
const RAW = Buffer.from("0123456789abcdef0123456789abcdef");
const SECRET = `whsec_${RAW.toString("base64")}`;
const READY = { data: { name: "ana" }, kept: { "sayso-secret": SECRET } };
const HOSTILE = "<img src=x onerror=alert(1)> [[link]] **bold** \\u202e";

const mac = (id, at, body, raw = RAW) =>
  `v1,${createHmac("sha256", raw).update(`${id}.${at}.${body}`).digest("base64")}`;

const card = (more = {}) => ({
  question: "s_1.q1",
  risk: "moderate",
  agent: "claude",
  operations: ["files.edit"],
  title: "claude: files.edit (moderate risk)",
  body: "Edit notes.txt",
  whole: true,
  digest: "d1",
  expires_at: 1e10,
  answers: ["once", "task", "deny"].map((answer) => ({ answer, covers: answer, token: `t-${answer}` })),
  link: null,
  ...more,
});

/** A service with these cards. `seen` is what it was sent; `wrong` changes its reply. */
function service(cards, wrong = (reply) => reply) {
  const seen = [];
  const send = async (url, headers, body) => {
    const id = headers["webhook-id"];
    if (headers["webhook-signature"] !== mac(id, headers["webhook-timestamp"], body))
      return { status: 401, headers: {}, text: '{"detail": "not signed"}' };
    const sent = JSON.parse(body);
    seen.push({ url, ...sent });
    if (!url.endsWith("/questions"))
      return { status: 200, headers: {}, text: JSON.stringify({ ...sent, state: "answered", yours: true }) };
    const at = Math.floor(Date.now() / 1000);
    const text = JSON.stringify(cards);
    const signed = { "webhook-id": id, "webhook-timestamp": String(at), "webhook-signature": mac(id, at, text) };
    return wrong({ status: 200, headers: signed, text });
  };
  return { send, seen, cards, answers: () => seen.filter((one) => one.answer) };
}

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const open = async (made, more = READY) => {
  const world = await load(BUNDLE, made.send, more);
  await settled(world);
  return world;
};
/** Wait until the plugin has fetched what waits. */
async function settled(world) {
  while (world.plugin.reading) await wait(5);
}

beforeEach(() => {
  El.callHeight = 50;
});

test("a question is a modal, and the answer is posted back with its token and a name", async () => {
  const made = service([card()]);
  const world = await open(made);
  assert.match(shown(world), /MODERATE risk/);
  assert.match(shown(world), /Edit notes.txt/);
  await wait(550);
  await press(world, "Allow once");
  const [given] = made.answers();
  assert.deepEqual(
    [given.question, given.answer, given.token, given.by],
    ["s_1.q1", "once", "t-once", "ana"],
  );
  assert.equal(given.url, "http://127.0.0.1:7333/surfaces/v1/obsidian");
  assert.equal(world.modals.length, 0);
});

test("deny carries its reason", async () => {
  const made = service([card()]);
  const world = await open(made);
  await wait(550);
  type(world, "reason", "not today");
  await press(world, "Deny");
  assert.equal(made.answers()[0].reason, "not today");
});

test("in its first half second nothing is an answer", async () => {
  const made = service([card()]);
  const world = await open(made);
  await press(world, "Allow once");
  await press(world, "Deny");
  assert.equal(made.answers().length, 0);
  assert.match(shown(world), /Not so fast/);
});

test("high risk wants the word allow, and the call read to its end", async () => {
  El.callHeight = 500;
  const made = service([card({ risk: "high" })]);
  const world = await open(made);
  await wait(550);
  await press(world, "Allow once");
  assert.match(shown(world), /Read to the end first/);
  const [call] = world.modals[0].contentEl.all("pre");
  call.scrollTop = 400;
  call.fire("scroll");
  type(world, "allow", "yes");
  await press(world, "Allow once");
  assert.match(shown(world), /Type the word allow/);
  assert.equal(made.answers().length, 0);
  type(world, "allow", "allow");
  await press(world, "Allow once");
  assert.equal(made.answers()[0].answer, "once");
});

test("what was not given whole has no yes at high risk", async () => {
  const world = await open(service([card({ risk: "high", whole: false })]));
  assert.deepEqual(buttons(world), ["Deny"]);
});

test("text of an agent is shown as text", async () => {
  const world = await open(service([card({ title: HOSTILE, body: HOSTILE, agent: HOSTILE })]));
  const [call] = world.modals[0].contentEl.all("pre");
  assert.equal(call.text, HOSTILE);
  assert.equal(world.modals[0].contentEl.all("img").length, 0);
});

test("a question that was answered elsewhere leaves, and the next one is shown", async () => {
  const made = service([card(), card({ question: "s_1.q2", body: "Edit other.txt" })]);
  const world = await open(made);
  made.cards.shift();
  await world.plugin.look();
  assert.match(world.notices.join(), /answered elsewhere/);
  await world.plugin.look();
  assert.match(shown(world), /other.txt/);
});

test("one that was closed without an answer answers nothing, and is not forced on anybody again", async () => {
  const made = service([card()]);
  const world = await open(made);
  world.modals[0].close();
  await world.plugin.look();
  assert.equal(world.modals.length, 0);
  assert.equal(made.answers().length, 0);
  world.commands[0].callback();
  await settled(world);
  assert.equal(world.modals.length, 1);
});

for (const [name, wrong] of Object.entries({
  "another secret": (reply) => {
    const { "webhook-id": id, "webhook-timestamp": at } = reply.headers;
    const signature = mac(id, at, reply.text, Buffer.alloc(32));
    return { ...reply, headers: { ...reply.headers, "webhook-signature": signature } };
  },
  "changed words": (reply) => ({ ...reply, text: reply.text.replace("notes", "other") }),
  "another request": (reply) => {
    const at = reply.headers["webhook-timestamp"];
    return { ...reply, headers: { ...reply.headers, "webhook-id": "x", "webhook-signature": mac("x", at, reply.text) } };
  },
  "long ago": (reply) => {
    const id = reply.headers["webhook-id"];
    const signature = mac(id, 1000, reply.text);
    return { ...reply, headers: { "webhook-id": id, "webhook-timestamp": "1000", "webhook-signature": signature } };
  },
  "no signature": (reply) => ({ ...reply, headers: {} }),
}))
  test(`a reply with ${name} is not shown`, async () => {
    const world = await open(service([card()], wrong));
    assert.equal(world.modals.length, 0);
    assert.match(world.notices.join(), /not signed by your service/);
  });

test("a service that is away is told of once, and asked again", async () => {
  let down = true;
  const made = service([card()]);
  const send = async (...sent) => {
    if (down) throw new Error("cannot be reached");
    return made.send(...sent);
  };
  const world = await open({ send });
  await world.plugin.look();
  assert.equal(world.notices.length, 1);
  down = false;
  await world.plugin.look();
  assert.equal(world.modals.length, 1);
});

test("an answer that was refused leaves the question open", async () => {
  const made = service([card()]);
  const send = async (url, headers, body) =>
    url.endsWith("/questions")
      ? made.send(url, headers, body)
      : { status: 403, headers: {}, text: '{"detail": "this person may not answer there"}' };
  const world = await open({ send });
  await wait(550);
  await press(world, "Allow once");
  assert.match(shown(world), /Nothing was answered: this person may not answer there/);
});

test("nothing is sent to an address that is neither encrypted nor this machine", async () => {
  const made = service([card()]);
  const world = await open(made, { ...READY, data: { name: "ana", url: "http://example.org" } });
  assert.equal(made.seen.length, 0);
  assert.match(world.notices.join(), /https/);
});

test("the secret is kept outside the vault", async () => {
  const world = await open(service([]), { data: { name: "ana" }, kept: {} });
  world.settings.display();
  world.fields.Secret(SECRET);
  await world.fields["Your name"]("bo");
  assert.equal(world.kept["sayso-secret"], SECRET);
  assert.equal(world.saved.name, "bo");
  assert.ok(!JSON.stringify(world.saved).includes("whsec_"));
});
