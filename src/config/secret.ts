/**
 * A secret of the configuration. It is held by reference and prints as *** in every form; the only way to its value is
 * an explicit `reveal` at the moment of use.
 */
import { inspect } from "node:util";
import { z } from "zod";
import { ConfigError } from "../core/errors.ts";

/** Where a value is to be found. `value` is a secret written openly: accepted, and warned about. */
export type SecretSource = { readonly env: string } | { readonly file: string } | { readonly value: string };

/** What revealing needs of the world. `readFile` throws what the file system throws. */
export interface SecretDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Gets the path as written in the configuration; whoever implements it resolves `~` and relative paths. */
  readFile(path: string): string;
}

export const MASK = "***";

export class Secret {
  readonly #source: SecretSource;

  constructor(source: SecretSource) {
    this.#source = source;
  }

  /** The value, without the line end a file has. Throws a `ConfigError` where it is not to be had or is empty. */
  reveal(deps: SecretDeps): string {
    const value = read(this.#source, deps);
    if (value !== "") return value;
    throw new ConfigError(`A secret is missing: ${this.describe()} is not set or is empty.`, {
      hint: "Set it, or change the reference in the configuration.",
    });
  }

  /** Where the value comes from, for messages. Never the value. */
  describe(): string {
    if ("env" in this.#source) return `the environment variable ${this.#source.env}`;
    if ("file" in this.#source) return `the file ${this.#source.file}`;
    return "the value in the configuration";
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [Symbol.toPrimitive](): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}

function read(source: SecretSource, deps: SecretDeps): string {
  if ("value" in source) return source.value;
  if ("env" in source) return deps.env[source.env] ?? "";
  try {
    return deps.readFile(source.file).replace(/\r?\n$/, "");
  } catch (cause) {
    throw new ConfigError(`A secret is missing: the file ${source.file} cannot be read.`, {
      cause,
      hint: "Make the file readable for this user, or change the reference in the configuration.",
    });
  }
}

const EXPECTED = 'expected a secret: { env: "NAME" } or { file: "path" }';

const sourceSchema = z.union([
  z.strictObject({ env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/) }),
  z.strictObject({ file: z.string().min(1) }),
  z
    .string()
    .min(1)
    .transform((value) => ({ value })),
]);

/** Reads a secret wherever the configuration may have one. One object, so that walkers of the schema recognise it. */
export const secretSchema = z.unknown().transform((value, context) => {
  const source = sourceSchema.safeParse(value);
  if (source.success) return new Secret(source.data);
  // The message is our own: a value that may be a secret is never quoted back.
  context.addIssue({ code: "custom", message: EXPECTED });
  return z.NEVER;
});
