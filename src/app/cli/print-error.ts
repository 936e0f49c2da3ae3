/** Prints an error: what happened and what to do about it. `ROOKERY_DEBUG` adds the stack. */
import { errorText, RookeryError } from "../../core/errors.ts";
import { printableJson } from "../../core/printable.ts";
import { sentence } from "../../core/sentence.ts";
import type { CliDeps } from "./command.ts";

interface Printing {
  readonly json: boolean;
  /** A hint with its commands as they work here. */
  here(text: string): string;
}

export function printError(error: unknown, { stderr, env }: CliDeps, { json, here }: Printing): void {
  const described = describe(error);
  const message = sentence(here(described.message));
  const hint = described.hint && here(described.hint);
  if (json) stderr.write(`${printableJson(JSON.stringify({ error: { ...described, message, hint } }))}\n`);
  else {
    stderr.write(`rookery: ${message}\n${hint ? `  ${hint}\n` : ""}`);
  }
  if (env.ROOKERY_DEBUG) stderr.write(`${process.getBuiltinModule("node:util").inspect(error)}\n`);
}

interface Described {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly retryable: boolean;
}

function describe(error: unknown): Described {
  if (error instanceof RookeryError) {
    const { code, message, hint, retryable } = error;
    return { code, message, hint: hint || undefined, retryable };
  }
  return {
    code: "unexpected",
    message: `Unexpected error: ${errorText(error)}`,
    hint: "This is a bug. Run again with ROOKERY_DEBUG=1 to see where it happens.",
    retryable: false,
  };
}
