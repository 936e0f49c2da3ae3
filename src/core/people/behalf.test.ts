import fc from "fast-check";
import { expect, it } from "vitest";
import type { RunId } from "../ids.ts";
import { type Behalf, behalfSchema, bounded, type DayLimit, everyone, isUntrusted, joined } from "./behalf.ts";
import { CROWD, CROWD_LIMIT } from "./crowd.ts";
import type { PersonId } from "./person.ts";

const person = fc.constantFrom("owner", "ann", "telegram:42", "app:shop/ann").map((id) => id as PersonId);
const behalf: fc.Arbitrary<Behalf> = fc.record(
  { person, through: fc.uniqueArray(person), untrusted: fc.constant(true as const) },
  { requiredKeys: ["person"] },
);

it("keeps everyone on the way and every mark, in any order", () => {
  fc.assert(
    fc.property(person, fc.array(behalf), (forPerson, others) => {
      const one = joined(forPerson, others);
      expect(new Set(everyone(one))).toEqual(new Set([forPerson, ...others.flatMap(everyone)]));
      expect(everyone(one).length).toBe(new Set(everyone(one)).size);
      expect(one.untrusted ?? false).toBe(others.some(({ untrusted }) => untrusted));
      expect(joined(forPerson, others.toReversed())).toEqual(one);
      expect(behalfSchema.parse(JSON.parse(JSON.stringify(one)))).toEqual(one);
    }),
  );
});

const people = (count: number): PersonId[] =>
  Array.from({ length: count }, (_, n) => `p${String(n).padStart(3, "0")}` as PersonId);

it("names everyone as long as there is room, and then the crowd, which has no rights", () => {
  expect(bounded(people(32).toReversed())).toEqual(people(32));
  const many = bounded(people(33));
  expect(many).toHaveLength(32);
  expect(many.filter((one) => one !== CROWD)).toEqual(people(31));
  expect(many).toContain(CROWD);
  // Joined again, the crowd stays one name.
  expect(bounded([...many, ...people(33)])).toEqual(many);
  expect(many).toEqual([...many].sort());
  const way = { person: "ann" as PersonId, through: many };
  expect(behalfSchema.safeParse(way).success).toBe(true);
  expect(behalfSchema.safeParse({ ...way, through: people(33) }).success).toBe(false);
});

it("counts each limit once, as it was said last; beyond 64 one that allows nothing stands for the others", () => {
  const limit = (id: string, tokens: number, of: "token" | "person" = "token") => ({ of, id, tokens });
  const ann = "ann" as PersonId;
  const joins = (...limits: DayLimit[][]) =>
    joined(
      ann,
      limits.map((all) => ({ person: ann, limits: all })),
    ).limits;
  expect(joins()).toBeUndefined();
  expect(joins([])).toBeUndefined();
  expect(joins([limit("a", 1)], [limit("a", 2), limit("a", 3, "person")])).toEqual([
    limit("a", 2),
    limit("a", 3, "person"),
  ]);
  const many = Array.from({ length: 65 }, (_, n) => limit(`t${n}`, n));
  expect(joins(many.slice(0, 64))).toEqual(many.slice(0, 64));
  const cut = [...many.slice(0, 63), CROWD_LIMIT];
  expect(joins(many)).toEqual(cut);
  expect(CROWD_LIMIT).toMatchObject({ tokens: 0 });
  // It stays, whatever else comes, and is never itself cut off.
  expect(joins(cut, [limit("new", 1)])).toEqual(cut);
  expect(joins([CROWD_LIMIT], [limit("a", 1)])).toEqual([limit("a", 1), CROWD_LIMIT]);
  expect(behalfSchema.safeParse({ person: ann, limits: cut }).success).toBe(true);
});

it("is untrusted by its mark, or by anyone else on the way", () => {
  const ann = "ann" as PersonId;
  expect(isUntrusted({ person: ann })).toBe(false);
  expect(isUntrusted({ person: ann, through: [] })).toBe(false);
  expect(isUntrusted({ person: ann, untrusted: true })).toBe(true);
  expect(isUntrusted({ person: ann, through: ["bob" as PersonId] })).toBe(true);
});

it.each<[string, object, boolean]>([
  ["no limits and no roots", { limits: [], roots: [] }, true],
  ["64 limits", { limits: Array.from({ length: 64 }, (_, n) => ({ of: "token", id: `t${n}` })) }, true],
  ["65 limits", { limits: Array.from({ length: 65 }, (_, n) => ({ of: "token", id: `t${n}` })) }, false],
  ["a limit of no one", { limits: [{ of: "token", id: "" }] }, false],
  ["a limit with an id of 512 characters", { limits: [{ of: "person", id: "i".repeat(512) }] }, true],
  ["a limit with a longer id", { limits: [{ of: "person", id: "i".repeat(513) }] }, false],
  ["eight roots", { roots: Array.from({ length: 8 }, (_, n) => `${n}`) }, true],
  ["nine roots", { roots: Array.from({ length: 9 }, (_, n) => `${n}`) }, false],
  ["a root without a name", { roots: [""] }, false],
  ["no one on the way", { through: [] }, true],
])("is stored with %s: %#", (_, more, ok) => {
  expect(behalfSchema.safeParse({ person: "ann", ...more }).success).toBe(ok);
});

it("keeps the newest eight of the runs that led to it, each once and in order", () => {
  const ann = "ann" as PersonId;
  const roots = (...all: string[][]) =>
    joined(
      ann,
      all.map((ids) => ({ person: ann, roots: ids as RunId[] })),
    ).roots;
  expect(roots()).toBeUndefined();
  expect(roots([])).toBeUndefined();
  expect(roots(["r1"])).toEqual(["r1"]);
  expect(roots(["r3", "r1"], ["r2", "r1"])).toEqual(["r1", "r2", "r3"]);
  expect(roots(["r9", "r8", "r7", "r6", "r5"], ["r1", "r2", "r3", "r4"])).toEqual([
    ...["r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9"],
  ]);
});

it("with no one else on the way names no one", () => {
  const ann = "ann" as PersonId;
  expect(joined(ann, [{ person: ann }])).toEqual({
    ...{ person: ann, through: undefined, untrusted: undefined, limits: undefined, roots: undefined },
  });
  expect(behalfSchema.safeParse({ person: ann, limits: [{ of: "token", id: "t" }] }).success).toBe(true);
});
