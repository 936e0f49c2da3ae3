/** The only way to change an agent's overrides. Checks every field; an error names the field and its allowed values. */
import { z } from "zod";
import { InvalidInputError } from "../errors.ts";
import { queueDropPolicySchema, queueModeSchema } from "../message/queue.ts";
import { grantsSchema } from "../people/grant.ts";
import { ELEVATED_LEVELS, EXEC_ASK, EXEC_HOSTS, EXEC_SECURITY } from "./exec-fields.ts";
import type { SettableField } from "./settable-fields.ts";
import type { AgentState } from "./state.ts";

export const THINKING_LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh"] as const;

const oneLine = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .refine((text) => !/\p{Cc}/u.test(text));

interface Settable {
  readonly schema: z.ZodType;
  /** The allowed values as text. */
  readonly expected: string;
}

const words = (values: readonly [string, ...string[]]): Settable => ({
  schema: z.enum(values as [string, ...string[]]),
  expected: `one of ${values.map((value) => `"${value}"`).join(", ")}`,
});
const line = (what: string): Settable => ({ schema: oneLine(256), expected: `${what}, in one line` });
const whole = (min: number, max: number): Settable => ({
  schema: z.int().min(min).max(max),
  expected: `a whole number from ${min} to ${max}`,
});

/** The fields that may be set from outside. The engine itself writes all others. */
export const SETTABLE = {
  thinkingLevel: words(THINKING_LEVELS),
  verboseLevel: words(["off", "on", "full"]),
  reasoningLevel: words(["off", "on", "reasoning"]),
  elevatedLevel: words(ELEVATED_LEVELS),
  execHost: words(EXEC_HOSTS),
  execSecurity: words(EXEC_SECURITY),
  execAsk: words(EXEC_ASK),
  execNode: line("the node commands are executed on"),
  providerOverride: line("the name of a provider"),
  modelOverride: line("a model"),
  authProfileOverride: line("the name of an auth profile"),
  authProfileOverrideSource: words(["auto", "user"]),
  groupActivation: words(["mention", "always"]),
  sendPolicy: words(["allow", "deny"]),
  queueMode: words(queueModeSchema.options as unknown as [string, ...string[]]),
  queueDebounceMs: whole(0, 3_600_000),
  queueCap: whole(1, 10_000),
  queueDrop: words(queueDropPolicySchema.options as unknown as [string, ...string[]]),
  label: line("a name"),
  displayName: line("a name"),
  responseUsage: words(["on", "off", "tokens", "full"]),
  rules: { schema: grantsSchema, expected: 'a list of rules, such as [{ deny: "exec(git push *)" }]' },
  extraSystemPrompt: { schema: z.string().max(100_000), expected: "a text of up to 100000 characters" },
} as const satisfies Readonly<Record<SettableField, Settable>>;

/** `null` clears a field; a field that is left out does not change. */
export type StatePatch = { readonly [Field in SettableField]?: AgentState[Field] | null };

/** The same as a schema, for documents. */
export const statePatchSchema = z.strictObject(
  Object.fromEntries(
    Object.entries(SETTABLE).map(([field, { schema, expected }]) => [
      field,
      schema.nullable().optional().describe(expected),
    ]),
  ),
);

/**
 * The state with the patch applied. Throws `InvalidInputError` and changes nothing if a field is wrong. Keeps all other
 * fields, also those this program does not know.
 */
export function patchState(state: AgentState, patch: Readonly<Record<string, unknown>>, at = 0): AgentState {
  const changed: Record<string, unknown> = { ...state };
  for (const [field, value] of Object.entries(patch)) {
    if (!isSettable(field)) throw notSettable(field);
    if (value === undefined) continue;
    if (value === null) delete changed[field];
    else changed[field] = checked(field, value);
  }
  return { ...(changed as AgentState), updatedAt: Math.max(state.updatedAt, at) };
}

export const isSettable = (field: string): field is SettableField => Object.hasOwn(SETTABLE, field);

function checked(field: SettableField, value: unknown): unknown {
  const { schema, expected } = SETTABLE[field];
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new InvalidInputError(`${field}: expected ${expected}.`, { hint: "null clears it. Nothing was changed." });
}

function notSettable(field: string): InvalidInputError {
  return new InvalidInputError(`"${field.slice(0, 64)}" cannot be set.`, {
    hint: `These fields can be set: ${Object.keys(SETTABLE).join(", ")}.`,
  });
}
