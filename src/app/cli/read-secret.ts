/** Reads a secret from a pipe, or asks for it at a terminal without showing it. */
import { UsageError } from "../../core/errors.ts";
import type { Input, Output } from "./command.ts";

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";

interface Terminal {
  setRawMode?(raw: boolean): unknown;
}

/** Reads one line, trimmed. Throws a `UsageError` if it is empty. */
export async function readSecret(input: Input & Terminal, output: Output, question: string): Promise<string> {
  // Before the question is seen: what is typed at once must not be shown either.
  if (input.isTTY) {
    input.setRawMode?.(true);
    output.write(question);
  }
  let text = "";
  try {
    for await (const chunk of input) {
      text += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8");
      if (text.includes(CTRL_C)) throw new UsageError("Cancelled. Nothing was stored.");
      if (lineEnd(text) !== -1) break;
    }
  } finally {
    if (input.isTTY) {
      input.setRawMode?.(false);
      output.write("\n");
    }
  }
  const end = lineEnd(text);
  const secret = typed(end === -1 ? text : text.slice(0, end)).trim();
  if (secret !== "") return secret;
  throw new UsageError("Nothing was given.", { hint: "Type or paste it when asked, or pipe it in." });
}

const lineEnd = (text: string): number =>
  [...text].findIndex((character) => character === "\r" || character === "\n" || character === CTRL_D);

/** Applies backspaces. */
function typed(line: string): string {
  const kept: string[] = [];
  for (const character of line) {
    if (character === "\u007f" || character === "\b") kept.pop();
    else kept.push(character);
  }
  return kept.join("");
}
