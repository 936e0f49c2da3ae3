/** Finds what ties a test to internals: casts that silence the compiler, and hand-made environments named `world`. */
import { blank, regionsOf } from "../mask-source.ts";
import type { Hit, HitKind } from "./hits.ts";

/** `test/kit` and `test/contract` may know internals, so that other tests need not. */
const IS_TEST = /\.test(?:-kit)?\.tsx?$|^test\/(?!kit\/|contract\/).*\.tsx?$/;

const IN_CODE: readonly (readonly [HitKind, RegExp])[] = [
  ["casts", /\bas\s+(?:never|unknown\s+as)\b/g],
  ["any", /\bas\s+any\b/g],
  ["worlds", /\bfunction\s+world\s*[(<]|\bconst\s+world\s*(?::[^=;]+)?=\s*(?:\{|<|(?:async\s*)?\([^)]*\)\s*(?:=>|:))/g],
];
const IN_COMMENTS = /@ts-expect-error\b/g;
/** Most files have none of these; they are not read further. */
const MAY_HAVE = /\bas\s+(?:never|unknown|any)\b|@ts-expect-error|\bworld\b/;

export function findCasts(file: string, source: string): readonly Hit[] {
  if (!IS_TEST.test(file) || !MAY_HAVE.test(source)) return [];
  const regions = [...regionsOf(source)];
  const hit = (kind: HitKind, at: number): Hit => {
    const before = source.slice(0, at).split("\n");
    return { kind, file, line: before.length, text: source.split("\n")[before.length - 1]?.trim() ?? "" };
  };
  const code = blank(source, regions);
  return [
    ...IN_CODE.flatMap(([kind, pattern]) => [...code.matchAll(pattern)].map(({ index }) => hit(kind, index))),
    ...regions.flatMap(({ kind, start, end }) =>
      kind === "comment"
        ? [...source.slice(start, end).matchAll(IN_COMMENTS)].map(({ index }) => hit("expect-error", start + index))
        : [],
    ),
  ];
}
