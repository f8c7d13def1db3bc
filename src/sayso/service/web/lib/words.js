// Words for answers, steps and states. Written by `python -m tools.page.words` from gate/words.py.

/**
 * What an answer did.
 *
 * @type {Record<string, string>}
 */
export const ANSWERED = {
  once: "allowed once",
  task: "allowed for this task",
  temporary: "allowed for 15 minutes",
  always: "allowed for this session",
  remember: "allowed and remembered",
  edit: "edited and allowed",
  deny: "denied",
};

/**
 * A step in the story of a call; one that is not listed is its own word.
 *
 * @type {Record<string, string>}
 */
export const STEPS = {
  expired: "nobody answered in time",
  cancelled: "taken back",
  ran_out: "the approval ran out",
  taken_back: "the approval was taken back",
  repeated: "tried again",
};

/**
 * How far a call came, beside its decision or answer.
 *
 * @type {Record<string, string>}
 */
export const SINCE = {
  pending: "waits for an answer",
  allowed: "has not started",
  ran_out: "was not started in time",
  taken_back: "was taken back before it started",
  used_elsewhere: "the same call, made again, ran on its approval",
  running: "started, no end reported yet",
  waiting: "waits inside",
  succeeded: "ended well",
  failed: "failed",
  ambiguous: "nobody knows how it ended",
};
