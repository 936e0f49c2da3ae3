/**
 * For whom something happens, and who else is on its way (M30). Messages, runs, jobs, children, hooks and approvals store it in
 * the commit that creates them. What they create in turn inherits all of it, so that rights never grow on the way (L13).
 */
import { z } from "zod";
import { type PersonId, personIdSchema } from "./person.ts";

/** More people than this on one way are never needed; a longer way is refused. */
export const MAX_PEOPLE = 32;

export const behalfSchema = z
  .object({
    /** The person it acts for. */
    person: personIdSchema,
    /** The others whose words or wishes led to it. Sorted, without `person`. */
    through: z.array(personIdSchema).max(MAX_PEOPLE).readonly().optional(),
    /** Text from the network, or from someone else, is in its context (M32). */
    untrusted: z.literal(true).optional(),
  })
  .readonly();
export type Behalf = z.infer<typeof behalfSchema>;

/** Everyone on the way. Each of them must be allowed what happens. */
export const everyone = ({ person, through = [] }: Behalf): readonly PersonId[] => [person, ...through];

/** The same for `person`, with everyone of the others on its way, and untrusted if one of them is. */
export function joined(person: PersonId, others: readonly Behalf[]): Behalf {
  const through = [...new Set(others.flatMap(everyone))].filter((one) => one !== person).sort();
  const untrusted = others.some((one) => one.untrusted);
  return {
    person,
    through: through.length === 0 ? undefined : through,
    untrusted: untrusted || undefined,
  };
}
