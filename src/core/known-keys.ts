/**
 * Refuses unknown keys of input objects, with the key that was probably meant: a misspelt option must never be ignored.
 * `assertKnownKeys` is for objects that a program passes, `unknownKeys` for strict schemas.
 */
import type { z } from "zod";
import { InvalidInputError } from "./errors.ts";
import { suggestName } from "./known-name.ts";

/** Every key of an options type. A key that is missing or does not exist is a type error. */
export type KeyTable<T> = Readonly<Record<T extends unknown ? keyof T : never, true>>;

const MAX_SHOWN = 64;

/** `Unknown key "aproval". Did you mean "approval"?` */
export const unknownKeyText = (key: string, known: Iterable<string>): string =>
  `Unknown key ${JSON.stringify(key.slice(0, MAX_SHOWN))}.${suggestName(key, known)}`;

/**
 * Throws `InvalidInputError` if an options object has another key than these, or is not an object. `what` names the function.
 * An instance of a class is not checked: it may have fields of its own.
 */
export function assertKnownKeys<T extends object>(
  what: string,
  given: T | undefined,
  known: KeyTable<NoInfer<T>>,
): void {
  if (given === undefined) return;
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new InvalidInputError(`${what} expects an object with ${Object.keys(known).join(", ")}.`);
  }
  const prototype: unknown = Object.getPrototypeOf(given);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return;
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(known, key));
  if (unknown !== undefined) throw new InvalidInputError(`${what}: ${unknownKeyText(unknown, Object.keys(known))}`);
}

/** For `schema.safeParse(value, { error: unknownKeys })`: names the unknown key of a strict object, and the closest known one. */
export const unknownKeys: z.core.$ZodErrorMap = (issue) => {
  if (issue.code !== "unrecognized_keys") return undefined;
  const { shape } = (issue.inst as z.ZodObject | undefined)?.def ?? { shape: {} };
  return unknownKeyText(String(issue.keys[0]), Object.keys(shape));
};
