/**
 * A grant says what may happen for one person: `{ allow: "cron_*" }`, `{ ask: "exec" }`, `{ deny: "send(telegram:42)" }`. The
 * part in parentheses names a target; `*` at the end stands for any ending.
 */
import { z } from "zod";

export const VERDICTS = ["allow", "ask", "deny"] as const;
/** From the mildest to the strictest. */
export type Verdict = (typeof VERDICTS)[number];

export const strictest = (a: Verdict, b: Verdict): Verdict =>
  VERDICTS[Math.max(VERDICTS.indexOf(a), VERDICTS.indexOf(b))] as Verdict;

/** What a grant is about: a tool or another action, and the target, if it names one. */
interface Subject {
  readonly action: string;
  readonly target?: string;
}

const ACTION = /^[\w.-]+\*?$|^\*$/u;
const MAX_LENGTH = 1_000;

/** Undefined for a text that is not a subject. */
export function parseSubject(text: string): Subject | undefined {
  const trimmed = text.trim();
  if (trimmed.length > MAX_LENGTH) return undefined;
  const open = trimmed.indexOf("(");
  if (open === -1) return ACTION.test(trimmed) ? { action: trimmed } : undefined;
  const action = trimmed.slice(0, open);
  const target = trimmed.slice(open + 1, -1).trim();
  return trimmed.endsWith(")") && ACTION.test(action) && target !== "" ? { action, target } : undefined;
}

const subjectSchema = z
  .string()
  .max(MAX_LENGTH)
  .refine(
    (text) => parseSubject(text) !== undefined,
    "not of the form ACTION or ACTION(TARGET), such as send(telegram:42)",
  );

const about = {
  note: z.string().max(MAX_LENGTH).optional(),
  /** The call that a yes for always covers, for people. */
  shows: z.string().max(MAX_LENGTH).optional(),
  /** Counts only while text that the person did not write is in context (M32). */
  when: z.literal("untrusted").optional(),
};

export const grantSchema = z
  .union([
    z.strictObject({ allow: subjectSchema, ...about }),
    z.strictObject({ ask: subjectSchema, ...about }),
    z.strictObject({ deny: subjectSchema, ...about }),
  ])
  .readonly();
export type Grant = z.infer<typeof grantSchema>;
/** The largest number for one person. */
export const MAX_GRANTS = 256;
export const grantsSchema = z.array(grantSchema).max(MAX_GRANTS).readonly();

export function verdictOf(grant: Grant): { readonly verdict: Verdict; readonly subject: string } {
  if ("deny" in grant) return { verdict: "deny", subject: grant.deny };
  return "ask" in grant ? { verdict: "ask", subject: grant.ask } : { verdict: "allow", subject: grant.allow };
}

/** Whether a text matches a pattern whose last sign may be `*`. */
export const matchesEnding = (pattern: string, text: string): boolean =>
  pattern.endsWith("*") ? text.startsWith(pattern.slice(0, -1)) : text === pattern;
