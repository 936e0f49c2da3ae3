/**
 * The configuration of a running node, as a view that always shows the current values. A part may keep the view or any
 * section of it. A value read from it is true at that moment only, so parts are built inside `building`, where reading a
 * value that a reload may change is an error: a kept value would miss the reload.
 */
import type { Config } from "../../config/config-schema.ts";
import { isLive } from "../../config/live-keys.ts";
import { InvariantError } from "../../core/errors.ts";

export interface LiveConfig {
  /** The same object for the life of the process. */
  readonly config: Config;
  /** The plain values now. For code that reads them at each use. */
  current(): Config;
  replace(next: Config): void;
  /** Runs code that builds parts. Throws `InvariantError` if it reads a value that a reload may change. */
  building<T>(build: () => T): T;
}

type Values = Readonly<Record<string, unknown>>;

/** `onRead` is called with the path of each value that is read. */
export function liveConfigOf(initial: Config, onRead?: (path: string) => void): LiveConfig {
  let root = initial;
  let generation = 0;
  let isBuilding = false;

  const read = (path: string): void => {
    if (isBuilding && isLive(path)) {
      throw new InvariantError(`${path} is read while parts are built: a reload would not change it.`);
    }
    onRead?.(path);
  };

  const viewOf = (path: string, resolve: () => unknown): Values => {
    let known = -1;
    let values: Values = {};
    const current = (): Values => {
      if (known !== generation) {
        const found = resolve();
        values = isSection(found) ? found : {};
        known = generation;
      }
      return values;
    };
    const sections = new Map<string, Values>();
    const get = (key: string): unknown => {
      const value = Object.hasOwn(current(), key) ? current()[key] : undefined;
      const at = path === "" ? key : `${path}.${key}`;
      if (!isSection(value)) {
        read(at);
        return value;
      }
      let section = sections.get(key);
      if (!section) {
        section = viewOf(at, () => current()[key]);
        sections.set(key, section);
      }
      return section;
    };
    return new Proxy<Values>(
      {},
      {
        get: (_, key) => (typeof key === "string" ? get(key) : undefined),
        has: (_, key) => key in current(),
        ownKeys() {
          // Which names there are is a value too; the names of the sections are not.
          if (path !== "") read(path);
          return Reflect.ownKeys(current());
        },
        getOwnPropertyDescriptor: (_, key) =>
          typeof key === "string" && Object.hasOwn(current(), key)
            ? { value: get(key), enumerable: true, configurable: true, writable: false }
            : undefined,
        set: refuseWrite,
        defineProperty: refuseWrite,
        deleteProperty: refuseWrite,
      },
    );
  };

  return {
    config: viewOf("", () => root) as unknown as Config,
    current: () => root,
    replace(next) {
      root = next;
      generation += 1;
    },
    building(build) {
      isBuilding = true;
      try {
        return build();
      } finally {
        isBuilding = false;
      }
    },
  };
}

function refuseWrite(): never {
  throw new InvariantError("The configuration is changed by a reload only.");
}

/** Lists and secrets are values: they change as a whole. */
const isSection = (value: unknown): value is Values =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
