/**
 * Who something happens for, and who else is on its way (M30). Messages, runs, jobs, children, hooks and approvals store it in
 * the commit that creates them. What they create in turn inherits all of it, so that rights never grow on the way (L13).
 */
import { z } from "zod";
import type { RunId } from "../ids.ts";
import { CROWD, CROWD_LIMIT } from "./crowd.ts";
import type { PersonId } from "./person.ts";
import { personIdSchema } from "./person-record.ts";

/** Every message stores the people on its way, so there is a limit. */
const MAX_PEOPLE = 32;

/** Runs of one way that people's words began. */
const MAX_ROOTS = 8;

/** Tokens of one way: a token and those that minted it, for each request that is on the way. */
const MAX_LIMITS = 64;

/**
 * What a token, or a person who uses the API, may use in one day (M21). It travels with everything that a request leads to, so that
 * children, reports and jobs count for the token that they came from.
 */
const dayLimitSchema = z
  .object({
    of: z.enum(["token", "person"]),
    id: z.string().min(1).max(512),
    tokens: z.number().optional(),
    /** Millionths of a dollar. */
    micros: z.number().optional(),
    /** Messages of people. */
    messages: z.number().optional(),
  })
  .readonly();
export type DayLimit = z.infer<typeof dayLimitSchema>;

export const behalfSchema = z
  .object({
    /** The person it acts for. */
    person: personIdSchema,
    /** The others whose words or wishes led to it. Sorted, without `person`. */
    through: z.array(personIdSchema).max(MAX_PEOPLE).readonly().optional(),
    /** Text from the network, or from someone else, is in its context (M32). */
    untrusted: z.literal(true).optional(),
    /** The limits it counts towards, besides those of the person's record and of the configuration. */
    limits: z.array(dayLimitSchema).max(MAX_LIMITS).readonly().optional(),
    /** The runs that the words of a person began and that led to it. A no in one of them holds for all that it leads to (M31). */
    roots: z
      .array(
        z
          .string()
          .min(1)
          .transform((id) => id as RunId),
      )
      .max(MAX_ROOTS)
      .readonly()
      .optional(),
  })
  .readonly();
export type Behalf = z.infer<typeof behalfSchema>;

/** Everyone on the way. Each of them must be allowed what happens. */
export const everyone = ({ person, through = [] }: Behalf): readonly PersonId[] => [person, ...through];

/** The same for `person`, with everyone of the others on its way, and untrusted if one of them is. */
export function joined(person: PersonId, others: readonly Behalf[]): Behalf {
  const through = bounded(others.flatMap(everyone).filter((one) => one !== person));
  const untrusted = others.some((one) => one.untrusted);
  return {
    person,
    through: through.length === 0 ? undefined : through,
    untrusted: untrusted || undefined,
    limits: joinedLimits(others.flatMap(({ limits = [] }) => limits)),
    roots: joinedRoots(others.flatMap(({ roots = [] }) => roots)),
  };
}

/** A set of people, sorted and within the limit. */
export function bounded(people: readonly PersonId[]): readonly PersonId[] {
  const all = [...new Set(people)].sort();
  if (all.length <= MAX_PEOPLE) return all;
  return [...all.filter((one) => one !== CROWD).slice(0, MAX_PEOPLE - 1), CROWD].sort();
}

/** Each limit once, within the greatest number; the last one said counts. */
function joinedLimits(limits: readonly DayLimit[]): readonly DayLimit[] | undefined {
  const byName = new Map(limits.map((limit) => [`${limit.of}:${limit.id}`, limit]));
  const isCrowd = byName.delete(`${CROWD_LIMIT.of}:${CROWD_LIMIT.id}`);
  const all = [...byName.values()];
  if (isCrowd || all.length > MAX_LIMITS) return [...all.slice(0, MAX_LIMITS - 1), CROWD_LIMIT];
  return all.length === 0 ? undefined : all;
}

/** Each run once, the newest ones: ids of runs rise with time. */
function joinedRoots(roots: readonly RunId[]): readonly RunId[] | undefined {
  return roots.length === 0 ? undefined : [...new Set(roots)].sort().slice(-MAX_ROOTS);
}

/** Whether it may follow text that its person did not write: text from the network, or from anyone else on the way (M32). */
export const isUntrusted = ({ untrusted, through = [] }: Behalf): boolean => untrusted === true || through.length > 0;
