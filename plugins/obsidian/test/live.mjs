// Fetch what waits from a real service, press a button on the first question, and print how it went.
// node live.mjs MAIN_JS URL SURFACE SECRET NAME BUTTON

import { load, press, shown, type } from "./stub.mjs";

const [bundle, url, surface, secret, name, button] = process.argv.slice(2);
const send = async (where, headers, body) => {
  const reply = await fetch(where, { method: "POST", headers, body });
  return { status: reply.status, headers: Object.fromEntries(reply.headers), text: await reply.text() };
};
const world = await load(bundle, send, { data: { url, surface, name }, kept: { "sayso-secret": secret } });
for (let n = 0; n < 100 && !world.modals.length && !world.notices.length; n += 1) {
  await new Promise((resolve) => setTimeout(resolve, 100));
  await world.plugin.look();
}
const text = world.modals.length ? shown(world) : "";
if (text) {
  await new Promise((resolve) => setTimeout(resolve, 550));
  if (text.includes("HIGH")) type(world, "allow", "allow");
  await press(world, button);
}
const after = world.modals.length ? shown(world) : "";
console.log(JSON.stringify({ text, after, notices: world.notices }));
