/** A map that forgets what was set first when it is full. */
interface Bounded<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
  delete(key: string): void;
  entries(): readonly (readonly [string, T])[];
}

export function bounded<T>(limit: number): Bounded<T> {
  const map = new Map<string, T>();
  return {
    get: (key) => map.get(key),
    set(key, value) {
      map.delete(key);
      if (map.size >= limit) map.delete(map.keys().next().value ?? "");
      map.set(key, value);
    },
    delete: (key) => void map.delete(key),
    entries: () => [...map],
  };
}
