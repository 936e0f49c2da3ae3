/**
 * A secret of the configuration. It is held by reference and prints as *** in every form. Only an explicit `reveal` at the
 * moment of use returns its value.
 */
import { z } from "zod";
import { ConfigError } from "../core/errors.ts";

/** The method that `util.inspect` calls. Importing it would load all of the module. */
const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** The source of a value. `value`: a secret in plain text, accepted with a warning. */
export type SecretSource = { readonly env: string } | { readonly file: string } | { readonly value: string };

/** The ports that `reveal` needs. `readFile` throws the file system's errors. */
export interface SecretDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Gets the path as written in the configuration. The implementation resolves `~` and relative paths. */
  readFile(path: string): string;
}

export const MASK = "***";

export class Secret {
  readonly #source: SecretSource;

  constructor(source: SecretSource) {
    this.#source = source;
  }

  /** The value, without the line end of a file. Throws a `ConfigError` if it is missing or empty. */
  reveal(deps: SecretDeps): string {
    const value = read(this.#source, deps);
    if (value !== "") return value;
    throw new ConfigError(`A secret is missing: ${this.describe()} is not set or is empty.`, {
      hint: "Set it, or change the reference in the configuration.",
    });
  }

  /** The file that has the value, as the configuration names it; undefined if no file has it. */
  get file(): string | undefined {
    return "file" in this.#source ? this.#source.file : undefined;
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

  [INSPECT](): string {
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

/** The schema of a secret. One object, so that code that walks the schema recognises it. */
export const secretSchema = z
  .unknown()
  .transform((value, context) => {
    const source = sourceSchema.safeParse(value);
    if (source.success) return new Secret(source.data);
    // A fixed message: a value that may be a secret is never quoted.
    context.addIssue({ code: "custom", message: EXPECTED });
    return z.NEVER;
  })
  .meta({ isSecret: true });
