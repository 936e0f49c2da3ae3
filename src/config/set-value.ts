/** Sets one value in the text of a configuration and changes nothing else of it: comments, order and spelling stay. */
import { ConfigError } from "../core/errors.ts";
import { type Token, tokenise } from "./json5-tokens.ts";

/** The text with the value at this path. `value` is JSON5. Throws `ConfigError` if the text has no form to change. */
export function withValue(text: string, path: readonly string[], value: string): string {
  const whole = text.trim() === "" ? "{\n}\n" : text;
  const tokens = tokenise(whole);
  let open = tokens.findIndex(({ kind }) => kind === "{");
  if (open === -1) throw new ConfigError("The configuration is not an object, so nothing can be set in it.");
  for (const [depth, name] of path.entries()) {
    const key = keyIn(whole, tokens, open, name);
    if (key === undefined) return inserted(whole, tokens, open, depth, path.slice(depth), value);
    const first = key + 2;
    if (depth === path.length - 1) return replaced(whole, tokens, first, value);
    if (tokens[first]?.kind !== "{")
      throw new ConfigError(`${path.slice(0, depth + 1).join(".")} is not an object in the configuration.`);
    open = first;
  }
  return whole;
}

/** A name as a key: in quotes if it is no identifier. */
export const keyText = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

/** A new first entry of the object that opens at a token. */
function inserted(
  text: string,
  tokens: readonly Token[],
  open: number,
  depth: number,
  path: readonly string[],
  value: string,
): string {
  const indent = "  ".repeat(depth + 1);
  const nested = path.reduceRight(
    (inner, name) => (inner === "" ? `${keyText(name)}: ${value}` : `${keyText(name)}: { ${inner} }`),
    "",
  );
  const { end } = tokens[open] as Token;
  const isEmpty = tokens[open + 1]?.kind === "}";
  const rest = text.slice(end);
  const close = isEmpty && !rest.startsWith("\n") ? `\n${"  ".repeat(depth)}` : "";
  return `${text.slice(0, end)}\n${indent}${nested},${close}${rest}`;
}

/** Another value in the place of the one that begins at a token. */
function replaced(text: string, tokens: readonly Token[], first: number, value: string): string {
  const begin = tokens[first];
  if (!begin) throw new ConfigError("The configuration ends too early.");
  let depth = 0;
  for (let at = first; at < tokens.length; at++) {
    const { kind, end } = tokens[at] as Token;
    if (kind === "{" || kind === "[") depth += 1;
    else if (kind === "}" || kind === "]") depth -= 1;
    if (depth === 0) return text.slice(0, begin.start) + value + text.slice(end);
  }
  throw new ConfigError("The configuration ends too early.");
}

/** The index of the token of a key of the object that opens at `from`. */
export function keyIn(text: string, tokens: readonly Token[], from: number, name: string): number | undefined {
  let depth = 0;
  for (let at = from; at < tokens.length; at++) {
    const { kind, start, end } = tokens[at] as Token;
    if (kind === "{" || kind === "[") depth += 1;
    else if (kind === "}" || kind === "]") depth -= 1;
    if (depth === 0) return undefined;
    const isKey = depth === 1 && tokens[at + 1]?.kind === ":" && (kind === "string" || kind === "bare");
    if (isKey && text.slice(start, end).replaceAll(/^["']|["']$/gu, "") === name) return at;
  }
  return undefined;
}
