// Runs programs in one process and records every access that leads out of what is listed.
const vm = require('vm');
const given = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const values = new Set([...given.values, 'Error']); // Node itself asks for Error when one is thrown
const Guard = Proxy;
let found = null;
const record = (name) => { if (found) { found.push(String(name)); } };
const guard = (place, object) => new Guard(object, {
  get(target, name) {
    if (!found) { return target[name]; }
    const path = `${place}.${String(name)}`;
    if (path in given.places) { return guard(path, target[name]); }
    if (!given.places[place].includes(name)) { record(path); return undefined; }
    const value = target[name];
    if (path === 'process.exit') { return () => { throw new Error('exit'); }; }
    if (place === 'console' || path === 'process.stdout.write') { return (...all) => require('util').inspect(all); }
    return typeof value === 'function' ? value.bind(target) : value;
  },
  set(_, name) { record(`set ${String(name)}`); return false; },
});
const guarded = {};
for (const place of Object.keys(given.places)) {
  if (!place.includes('.')) { guarded[place] = guard(place, globalThis[place]); }
}
const names = [...Object.getOwnPropertyNames(globalThis), ...require('module').builtinModules, 'require', 'module', 'exports'];
for (const name of names) {
  if (values.has(name) || name.includes('/') || name.includes(':')) { continue; }
  const kept = guarded[name] ?? globalThis[name];
  const get = () => { if (found && !(name in guarded)) { record(name); return undefined; } return kept; };
  Object.defineProperty(globalThis, name, { get, set: () => record(`set ${name}`), configurable: true });
}
for (const kind of [function () {}, async function () {}, function* () {}]) {
  const get = () => { record('Function'); return () => () => undefined; };
  Object.defineProperty(Object.getPrototypeOf(kind), 'constructor', { get, configurable: true });
}
const results = given.programs.map((text) => {
  let error = '';
  const mine = [];
  try {
    const script = new vm.Script(`{\n${text.replace(/^#!/, '//')}\n}`);
    found = mine;
    script.runInThisContext({ timeout: 2000 });
  } catch (fault) {
    found = null;
    error = `${fault && fault.name}`;
  }
  found = null;
  return [mine, error];
});
process.stdout.write(JSON.stringify(results));
