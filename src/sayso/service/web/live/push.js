// Notifications while the page is closed: whether this browser gets them, and the switch for it.

import { get, post, remove } from "../lib/api.js";
import { bytes } from "../lib/passkeys.js";

const WANTED = "sayso-notify";

/** Whether this browser can be told of questions while the page is closed. */
export const usable = () =>
  window.isSecureContext &&
  "serviceWorker" in navigator &&
  "PushManager" in window &&
  "Notification" in window;

/** Whether it is told now. Who wanted it before they signed in again, or whose address changed, is told again. */
export async function isOn() {
  const { on, key } = await get("/notify");
  if (localStorage.getItem(WANTED) !== "on" || Notification.permission !== "granted") return on;
  if (on && (await (await navigator.serviceWorker.ready).pushManager.getSubscription())) return true;
  return subscribe(key);
}

export async function turnOn() {
  if ((await Notification.requestPermission()) !== "granted")
    throw new Error(
      "this browser does not let the page notify you: change that in its settings for this page",
    );
  const { key } = await get("/notify");
  const on = await subscribe(key);
  localStorage.setItem(WANTED, "on");
  return on;
}

export async function turnOff() {
  localStorage.removeItem(WANTED);
  await unsubscribe();
  return (await remove("/notify")).on;
}

/** This browser's push service forgets us. */
export async function unsubscribe() {
  const worker = await navigator.serviceWorker?.getRegistration();
  await (await worker?.pushManager?.getSubscription())?.unsubscribe();
}

/**
 * A subscription holds for one key of ours: one with an earlier key is given up first.
 *
 * @param {string} key
 */
async function subscribe(key) {
  const { pushManager } = await navigator.serviceWorker.ready;
  const options = { userVisibleOnly: true, applicationServerKey: bytes(key) };
  const made = await pushManager.subscribe(options).catch(async () => {
    await unsubscribe();
    return pushManager.subscribe(options);
  });
  const { endpoint, keys, expirationTime } = made.toJSON();
  const spelled = { p256dh: keys?.p256dh ?? "", auth: keys?.auth ?? "" };
  const told = await post("/notify", { endpoint: endpoint ?? "", keys: spelled, expirationTime });
  return told.on;
}
