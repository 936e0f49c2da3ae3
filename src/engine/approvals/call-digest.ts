/**
 * The digest that binds an approval to one exact call: the tool and its definition, its arguments, the directory, the names of the
 * environment, and the contents of those arguments that are existing files. If one of them changes, it is another call (M31).
 */
import { createHash } from "node:crypto";
import type { CallRecord } from "../../core/run/run.ts";

/** What a call depends on besides its arguments. */
export interface Surroundings {
  /** The tool as a model is shown it. */
  readonly definition?: unknown;
  readonly directory?: string;
  /** The names of the environment's variables, never their values. */
  readonly environment?: readonly string[];
  /** Hashes of existing files that the arguments name, by the argument. */
  readonly files?: Readonly<Record<string, string>>;
  /** What people are shown instead of the arguments. */
  readonly preview?: string;
  /** The call has had its effect already, before a crash. Not part of the digest. */
  readonly made?: boolean;
}

export function digestOf(
  { name, arguments: given }: CallRecord,
  { definition, directory, environment, files, preview }: Surroundings,
): string {
  const around = { definition, directory, environment: environment?.toSorted(), files, preview };
  const whole = { tool: name, arguments: given, ...around };
  return createHash("sha256").update(JSON.stringify(whole, sorted)).digest("hex");
}

/** The order of fields is not part of a call. */
const sorted = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(
        Object.keys(value)
          .sort()
          .map((key) => [key, (value as Record<string, unknown>)[key]]),
      )
    : value;
