/** Adds an entry to the text of a configuration and changes nothing else of it: comments, order and spelling stay. */
import { ConfigError } from "../core/errors.ts";
import { type Token, tokenise } from "./json5-tokens.ts";
import { keyIn, keyText } from "./set-value.ts";

/** The text with `section.name` set to `value`. Throws if it is there already, or if the text has no form to add to. */
export function withEntry(text: string, section: string, name: string, value: string): string {
  // A name such as `whatsapp-web` is a key only in quotes.
  const key = keyText(name);
  if (text.trim() === "") return `{\n  ${section}: {\n    ${key}: ${value},\n  },\n}\n`;
  const tokens = tokenise(text);
  const root = tokens.findIndex(({ kind }) => kind === "{");
  if (root === -1) throw new ConfigError("The configuration is not an object, so nothing can be added to it.");
  const found = keyIn(text, tokens, root, section);
  if (found === undefined) {
    return insertedAfter(text, tokens[root] as Token, `\n  ${section}: {\n    ${key}: ${value},\n  },`);
  }
  const open = found + 2;
  if (tokens[open]?.kind !== "{") throw new ConfigError(`${section} is not an object in the configuration.`);
  if (keyIn(text, tokens, open, name) !== undefined) {
    throw new ConfigError(`The configuration has ${section}.${name} already.`, {
      hint: "Change it there, or choose another name.",
    });
  }
  return insertedAfter(text, tokens[open] as Token, `\n    ${key}: ${value},`);
}

const insertedAfter = (text: string, { end }: Token, more: string): string =>
  text.slice(0, end) + more + text.slice(end);
