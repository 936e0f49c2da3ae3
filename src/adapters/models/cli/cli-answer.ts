/** The answer in what a program printed: plain text, one JSON object, or one object per line with the answer in the last. */
import { z } from "zod";
import { type Usage, unknownCounts } from "../../../core/history/entry.ts";

export interface CliAnswer {
  readonly text: string;
  readonly sessionId?: string;
  readonly usage?: Usage;
}

const count = z.number().int().min(0).max(1e12).optional().catch(undefined);
const word = z.string().min(1).max(200).optional().catch(undefined);
const said = z.string().optional().catch(undefined);

/** The names that such programs use. */
const answerSchema = z.looseObject({
  result: said,
  text: said,
  response: said,
  message: said,
  content: said,
  session_id: word,
  sessionId: word,
  thread_id: word,
  is_error: z.boolean().optional().catch(undefined),
  usage: z
    .looseObject({
      input_tokens: count,
      output_tokens: count,
      cache_read_input_tokens: count,
      cache_creation_input_tokens: count,
    })
    .optional()
    .catch(undefined),
});
type Printed = z.infer<typeof answerSchema>;

export function answerOf(output: string, form: "json" | "text"): CliAnswer | { readonly problem: string } {
  if (form === "text") return { text: output.trim() };
  const printed = objectsIn(output);
  if (printed.length === 0) return { problem: "The program did not print JSON." };
  const last = printed.findLast((one) => textIn(one) !== undefined);
  const ids = printed.flatMap((one) => one.session_id ?? one.sessionId ?? one.thread_id ?? []);
  const text = last && textIn(last);
  if (text === undefined) return { problem: "The JSON of the program contains no answer." };
  if (last?.is_error) return { problem: text.slice(0, 500) };
  return { text: text.trim(), sessionId: ids.at(-1), usage: usageOf(printed.findLast(({ usage }) => usage)?.usage) };
}

const textIn = ({ result, text, response, message, content }: Printed): string | undefined =>
  result ?? text ?? response ?? message ?? content;

/** One object, or one per line. Lines that are no JSON are left out. */
function objectsIn(output: string): readonly Printed[] {
  const whole = parsed(output);
  if (whole) return [whole];
  return output
    .split("\n")
    .flatMap((line): Printed[] =>
      line.trim().startsWith("{") ? [parsed(line)].filter((one) => one !== undefined) : [],
    );
}

function parsed(text: string): Printed | undefined {
  try {
    return answerSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function usageOf(usage: Printed["usage"]): Usage | undefined {
  if (!usage) return undefined;
  const [input, output] = [usage.input_tokens ?? 0, usage.output_tokens ?? 0];
  const [cacheRead, cacheWrite] = [usage.cache_read_input_tokens ?? 0, usage.cache_creation_input_tokens ?? 0];
  const unknown = unknownCounts(usage.input_tokens, usage.output_tokens);
  return { input, output, cacheRead, cacheWrite, totalTokens: input + output + cacheRead + cacheWrite, unknown };
}
