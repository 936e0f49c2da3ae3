/**
 * The same object without the keys whose value is undefined. For places where a present key counts: a spread that must not
 * override, `Object.keys`, headers, values bound to SQL. Elsewhere write `{ x }`: JSON drops undefined anyway.
 */
export function defined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as ReturnType<
    typeof defined<T>
  >;
}
