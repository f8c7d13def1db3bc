// Times as people say them. All times of the service are seconds since 1970.

export const now = () => Date.now() / 1000;

/**
 * "0:42", "12:05", "1:02:09".
 *
 * @param {number} seconds
 */
export function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  /** @param {number} number */
  const two = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/**
 * "8 s", "12 min", "3 h", "5 days".
 *
 * @param {number} seconds
 */
export function span(seconds) {
  const s = Math.max(0, seconds);
  if (s < 90) return `${Math.round(s)} s`;
  if (s < 90 * 60) return `${Math.round(s / 60)} min`;
  if (s < 36 * 3600) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} days`;
}

/**
 * Today only the hour, before that with the day.
 *
 * @param {number} at
 */
export function moment(at) {
  const then = new Date(at * 1000);
  const hour = then.toLocaleTimeString([], {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hour12: false,
  });
  if (then.toDateString() === new Date().toDateString()) return hour;
  return `${then.toLocaleDateString([], { day: "numeric", month: "short" })} ${hour}`;
}

/** @param {number} at */
export function day(at) {
  return new Date(at * 1000).toLocaleDateString([], { day: "numeric", month: "short", year: "numeric" });
}

/** @param {number} at */
export const iso = (at) => new Date(at * 1000).toISOString();
