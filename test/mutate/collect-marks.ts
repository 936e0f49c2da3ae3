/** Collects the marks of `coverage.ts` in this process, from now on. */
export function collectMarks(): () => Readonly<Record<string, readonly number[]>> {
  const pieces = new Map<string, Set<number>>();
  Object.assign(globalThis, {
    rookeryMark(file: string, index: number): void {
      const met = pieces.get(file);
      if (met) met.add(index);
      else pieces.set(file, new Set([index]));
    },
  });
  return () => Object.fromEntries([...pieces].map(([file, numbers]) => [file, [...numbers]]));
}
