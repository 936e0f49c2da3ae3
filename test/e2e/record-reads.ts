/** Records which settings a running process reads, by the path of each value. */
import type { Settings } from "../../src/config/settings.ts";
import type { Current } from "../../src/core/current.ts";

/** From now on `settings.current` is a view whose reads are recorded. */
export function recordReads(settings: Current<Settings>, onRead: (path: string) => void): void {
  let value = settings.current;
  Object.defineProperty(settings, "current", {
    configurable: true,
    get: () => recording(value, "", onRead),
    set: (next: Settings) => {
      value = next;
    },
  });
}

const views = new WeakMap<object, unknown>();

/** Lists and secrets are values: only sections have paths below them. */
function recording<Value>(value: Value, path: string, onRead: (path: string) => void): Value {
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const known = views.get(value);
  if (known) return known as Value;
  const section = value as Record<string, unknown>;
  const get = (key: string): unknown => {
    const at = path === "" ? key : `${path}.${key}`;
    const child = recording(section[key], at, onRead);
    if (child === section[key]) onRead(at);
    return child;
  };
  // The section itself is frozen, and a view of it could not show other values.
  const view = new Proxy<Record<string, unknown>>(
    {},
    {
      get: (_, key) => (typeof key === "string" ? get(key) : undefined),
      has: (_, key) => key in section,
      ownKeys() {
        if (path !== "") onRead(path);
        return Reflect.ownKeys(section);
      },
      getOwnPropertyDescriptor: (_, key) =>
        typeof key === "string" && Object.hasOwn(section, key)
          ? { value: get(key), enumerable: true, configurable: true, writable: false }
          : undefined,
    },
  );
  views.set(value, view);
  return view as Value;
}
