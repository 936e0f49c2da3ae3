import fc from "fast-check";
import { expect, it } from "vitest";
import { type Behalf, behalfSchema, everyone, joined } from "./behalf.ts";
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
