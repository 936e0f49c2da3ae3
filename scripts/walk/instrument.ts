/** Adds a call to the beginning of every function of a JavaScript source. The code is formatted: every statement ends with `;`. */
import { maskSource } from "../mask-source.ts";

/** `call`: an expression such as `seen(7)`, evaluated whenever a function begins. */
export function instrument(source: string, call: string): string {
  const { code } = maskSource(source);
  const insertions: { readonly at: number; readonly text: string }[] = [];
  for (let at = 0; at < code.length; at++) {
    if (code.startsWith("=>", at)) {
      const body = skipSpace(code, at + 2);
      if (code[body] === "{") insertions.push({ at: body + 1, text: `${call};` });
      else insertions.push({ at: body, text: `(${call},` }, { at: expressionEnd(code, body), text: ")" });
    } else if (code[at] === "{" && opensFunction(code, at)) {
      insertions.push({ at: at + 1, text: `${call};` });
    }
  }
  let result = "";
  let from = 0;
  // Two arrow functions may end at the same place; their order does not matter, because both add ")".
  for (const { at, text } of insertions.sort((a, b) => a.at - b.at)) {
    result += source.slice(from, at) + text;
    from = at;
  }
  return result + source.slice(from);
}

/** Whether the brace follows the parameters of a function or method, not the condition of a statement. */
function opensFunction(code: string, brace: number): boolean {
  const close = backOverSpace(code, brace);
  if (code[close] !== ")") return false;
  let depth = 0;
  for (let at = close; at >= 0; at--) {
    if (code[at] === ")") depth += 1;
    if (code[at] === "(") depth -= 1;
    if (depth > 0) continue;
    const word = /([\w$]+)\s*$/.exec(code.slice(Math.max(0, at - 80), at))?.[1];
    return word !== undefined && !["if", "for", "while", "switch", "catch", "with", "await"].includes(word);
  }
  return false;
}

/** The end of the expression that begins at `from`: a separator or closing bracket that does not belong to it. */
function expressionEnd(code: string, from: number): number {
  let depth = 0;
  let choices = 0;
  for (let at = from; at < code.length; at++) {
    const letter = code.charAt(at);
    if ("([{".includes(letter)) depth += 1;
    else if (depth > 0) depth -= ")]}".includes(letter) ? 1 : 0;
    else if (")]},;".includes(letter)) return at;
    else if (letter === "?" && code[at + 1] !== "." && code[at + 1] !== "?" && code[at - 1] !== "?") choices += 1;
    else if (letter === ":" && choices-- === 0) return at;
  }
  return code.length;
}

function skipSpace(code: string, from: number): number {
  let at = from;
  while (/\s/.test(code.charAt(at))) at += 1;
  return at;
}

function backOverSpace(code: string, from: number): number {
  let at = from - 1;
  while (at >= 0 && /\s/.test(code.charAt(at))) at -= 1;
  return at;
}
