// The one listener of a browser that has shared workers: it holds the stream, and every tab has a port to it.

import { stream } from "./live/stream.js";

/** @import {Message, Stream} from "./live/stream.js" */

const worker = /** @type {SharedWorkerGlobalScope} */ (/** @type {unknown} */ (self));
/** @type {Set<MessagePort>} */
const ports = new Set();
/** @type {Stream | null} */
let line = null;

/** @param {Message} message */
function tell(message) {
  for (const port of ports) port.postMessage(message);
}

/** @type {Record<string, (port: MessagePort) => void>} */
const DOES = {
  /** A tab is there. What holds the stream answers at once, so that the tab knows that it is heard. */
  join(port) {
    ports.add(port);
    line ??= stream(tell);
    port.postMessage(line.state());
  },
  again: () => line?.again(),
  leave(port) {
    ports.delete(port);
    if (ports.size) return;
    line?.close();
    line = null;
  },
};

worker.addEventListener("connect", ({ ports: [port] }) => {
  if (!port) return;
  port.addEventListener("message", ({ data }) => DOES[data]?.(port));
  port.start();
});
