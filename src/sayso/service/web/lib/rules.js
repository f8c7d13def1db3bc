// The rules that decide, in a few plain words; their names stand in the policy's reference.

import { h } from "./dom.js";
import { visible } from "./visible.js";

/** @type {Record<string, string>} */
const RULES = {
  blocked: "blocked by the policy",
  trusted_channel: "trusted channel only",
  approved_call: "approved before",
  denied_call: "denied before",
  stopped: "session was stopped",
  always_ask: "always asks",
  slash_command: "your slash command",
  user_initiated: "you started it",
  paranoid: "mode paranoid",
  allowlist: "standing consent",
  nested: "part of an allowed call",
  reduced_risk: "safe caller",
  operation_grant: "granted before",
  workflow_grant: "granted to the workflow",
  fan_out: "same content sent again",
  remembered: "remembered approval",
  autonomous: "listed as autonomous",
  safe: "low risk",
  risky: "high risk asks",
  task_grant: "granted for the task",
  plan: "part of the plan",
  confident: "confident enough",
  ask: "asks by default",
  workflow_start: "start of a workflow",
  claimed: "message to confirm",
  ungated: "needs no consent",
  flooding: "asked too much",
  effect_key: "done already",
  going_on: "decided again on resuming",
};

/**
 * The rule in plain words, its name beneath the pointer.
 *
 * @param {string} name
 */
export const ruleName = (name) =>
  h("span", { title: `rule ${visible(name)}` }, RULES[name] ?? visible(name.replaceAll("_", " ")));
