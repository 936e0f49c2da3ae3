/** Asks for an answer that matches a schema. An answer that does not is sent back with what is wrong, at most twice. */
import { OutputInvalidError } from "./answer.ts";
import { issuesText, jsonSchemaOf, type StandardSchema } from "./standard-schema.ts";

const MAX_ASKED = 3;

/** `ask` sends a text and resolves with the answer; `n` counts from 1. Throws `OutputInvalidError`. */
export async function askObject<T>(
  text: string,
  schema: StandardSchema<T>,
  ask: (text: string, n: number) => Promise<string>,
): Promise<T> {
  let question = `${text}\n\n${instructions(schema)}`;
  for (let n = 1; ; n++) {
    const answer = await ask(question, n);
    const read = await readObject(answer, schema);
    if ("value" in read) return read.value;
    if (n >= MAX_ASKED) throw new OutputInvalidError(answer, read.problem);
    question = `Your answer cannot be used: ${read.problem}\nAnswer again with only the JSON value, corrected.`;
  }
}

function instructions(schema: StandardSchema): string {
  const json = jsonSchemaOf(schema);
  const form = json === undefined ? "." : ` that matches this JSON Schema:\n${JSON.stringify(json)}`;
  return `Answer with one JSON value and nothing else${form}`;
}

async function readObject<T>(
  answer: string,
  schema: StandardSchema<T>,
): Promise<{ readonly value: T } | { readonly problem: string }> {
  let json: unknown;
  try {
    json = JSON.parse(withoutFence(answer));
  } catch {
    return { problem: "it is not JSON." };
  }
  const checked = await schema["~standard"].validate(json);
  return checked.issues ? { problem: issuesText(checked.issues) } : { value: checked.value };
}

/** Models often put JSON into a code block. */
function withoutFence(text: string): string {
  const trimmed = text.trim();
  if (!trimmed.startsWith("```") || !trimmed.endsWith("```")) return trimmed;
  const start = trimmed.indexOf("\n");
  return start < 0 ? trimmed : trimmed.slice(start + 1, -3);
}
