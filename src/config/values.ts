/**
 * The building blocks of the configuration's schema. Each says in plain words what it expects, for messages about bad values.
 * Their results are frozen.
 */
import { z } from "zod";

/** An object with known keys. Unknown keys are dropped here; `warnings.ts` reports them. */
export const section = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.object(shape, { error: "expected an object with keys, { … }" }).readonly();

/** A list of values of one schema. */
export const list = <Item extends z.ZodType>(item: Item) =>
  z.array(item, { error: "expected a list, [ … ]" }).readonly();

/** Values of one schema under names a person chooses. */
export const named = <Value extends z.ZodType>(value: Value) =>
  z
    .record(
      z
        .string()
        .trim()
        .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/),
      value,
      {
        error: "expected an object of names, { name: … }",
      },
    )
    .readonly();

export const NAME_EXPECTED = "expected a name of letters, digits, dots, dashes and underscores";

export function wholeNumber(min: number, max: number) {
  const error = `expected a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, error).max(max, error);
}

/** Zero or more, fractions allowed. */
export function amount(max: number = Number.MAX_SAFE_INTEGER) {
  const error =
    max === Number.MAX_SAFE_INTEGER ? "expected a number, zero or more" : `expected a number from 0 to ${max}`;
  return z.number({ error }).min(0, error).max(max, error);
}

export const flag = () => z.boolean({ error: "expected true or false" });

/** Without the spaces around it. */
export function text(what: string) {
  const error = `expected ${what}`;
  return z.string({ error }).trim().min(1, error);
}

export function oneOf<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.enum(words, { error: `expected one of ${words.map((word) => `"${word}"`).join(", ")}` });
}

/** An http or https address without credentials in it. */
export function httpUrl() {
  const error = "expected an address that begins with http:// or https:// and contains no password";
  return z.string({ error }).refine(
    (value) => {
      const url = URL.parse(value);
      return url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
    },
    { error },
  );
}
