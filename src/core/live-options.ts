/**
 * Options whose values may change while the process runs. A spread would copy the values of one moment; these read them at
 * each use.
 */

/** `defaults`, with what `given` has at the moment of use. Fields that both lack now stay absent. */
export function withDefaults<T extends object>(defaults: T, given: () => Partial<T> | undefined): T {
  const options = {};
  for (const key of Object.keys({ ...defaults, ...namesOf(given()) }) as (keyof T & string)[]) {
    Object.defineProperty(options, key, { enumerable: true, get: () => given()?.[key] ?? defaults[key] });
  }
  return options as T;
}

/** The names alone: a value is read at its use. */
const namesOf = (given: object | undefined): object =>
  Object.fromEntries(Object.keys(given ?? {}).map((name) => [name, undefined]));

/** `base` with fields of its own. */
export const withFields = <Base extends object, More extends object>(base: Base, more: More): Base & More =>
  Object.assign(Object.create(base), more);
