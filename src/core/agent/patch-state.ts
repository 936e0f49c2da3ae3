/** The only way to change an agent's overrides. Checks every field; an error names the field and its allowed values. */
import { z } from "zod";
import { InvalidInputError } from "../errors.ts";
import {
  QUEUE_LIMITS,
  queueCapSchema,
  queueDebounceSchema,
  queueDropPolicySchema,
  queueModeSchema,
} from "../message/queue.ts";
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

const oneOf = (schema: z.ZodEnum): Settable => ({
  schema,
  expected: `one of ${schema.options.map((value) => `"${value}"`).join(", ")}`,
});
const words = (values: readonly [string, ...string[]]): Settable => oneOf(z.enum(values));
const MAX_LINE = 256;
const line = (what: string): Settable => ({
  schema: oneLine(MAX_LINE),
  expected: `${what}, in one line of at most ${MAX_LINE} characters`,
});
const whole = (schema: z.ZodType, [min, max]: readonly [number, number]): Settable => ({
  schema,
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
  queueMode: oneOf(queueModeSchema),
  queueDebounceMs: whole(queueDebounceSchema, QUEUE_LIMITS.debounceMs),
  queueCap: whole(queueCapSchema, QUEUE_LIMITS.cap),
  queueDrop: oneOf(queueDropPolicySchema),
  label: line("a name"),
  displayName: line("a name"),
  responseUsage: words(["on", "off", "tokens", "full"]),
  rules: { schema: grantsSchema, expected: 'a list of rules, such as [{ deny: "exec(git push *)" }]' },
  extraSystemPrompt: { schema: z.string().max(100_000), expected: "a text of up to 100000 characters" },
} as const satisfies Readonly<Record<SettableField, Settable>>;

/** `null` clears a field; a field that is left out does not change. */
export type StatePatch = { readonly [Field in SettableField]?: AgentState[Field] | null };

/** Only its fields, for routes. Their values are checked when the patch is applied. */
export const statePatchKeys = z.strictObject(
  Object.fromEntries(Object.keys(SETTABLE).map((field) => [field, z.unknown().optional()])),
);

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
