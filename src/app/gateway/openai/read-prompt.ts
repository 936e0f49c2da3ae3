/** Reads the messages of an OpenAI request: the last user message, the system messages, and the conversation before. */
import { z } from "zod";
import { assertMessageFits, LONGEST_TEXT } from "../../../core/text-limits.ts";
import { HttpError } from "../http/http-error.ts";
import type { GivenResult } from "./caller-tools.ts";
import { fileOfPart, type PromptFile } from "./prompt-files.ts";

const partSchema = z.looseObject({ type: z.string().max(64), text: z.string().optional() });
export const contentSchema = z.union([z.string(), z.array(partSchema).max(1_000)]).nullish();

const callSchema = z.looseObject({
  function: z.looseObject({ name: z.string().max(64), arguments: z.string() }).optional(),
});

export const messageSchema = z.looseObject({
  role: z.string().max(32),
  content: contentSchema,
  /** Role `assistant`: the calls that the client executed. */
  tool_calls: z.array(callSchema).max(1_000).nullish(),
  /** Role `tool`: the call that this is the result of. */
  tool_call_id: z.string().max(256).nullish(),
});
export type PromptMessage = z.infer<typeof messageSchema>;

interface Prompt {
  /** May be empty if there are files. */
  readonly text: string;
  /** Of the last message; for a new agent also those of the earlier ones. */
  readonly files: readonly PromptFile[];
  /** Added to the system prompt of this run only. */
  readonly system: string | undefined;
}

const TEXT_PARTS: readonly string[] = ["text", "input_text", "output_text"];
const FILE_PARTS: readonly string[] = ["image_url", "input_image", "file", "input_file", "input_audio"];

/**
 * The prompt is the last message of role `user`. An existing agent remembers the earlier ones; a new agent gets them in its
 * system prompt, so that clients can send the whole conversation each time. `param` names the field in errors.
 */
export function readPrompt(messages: readonly PromptMessage[], isNewAgent: boolean, param: string): Prompt {
  const last = messages.findLastIndex(({ role }) => role === "user");
  const message = messages[last];
  // Results of calls say what comes next; a person need not say anything more.
  const known = messages.findLastIndex(({ role }) => role === "assistant" || role === "tool");
  if (last <= known && resultsIn(messages, param).length > 0)
    return { text: "", files: [], system: systemOf(messages, param) };
  if (!message) {
    throw new HttpError(400, "invalid_input", "There is no message of role user.", { param });
  }
  const text = textOf(message, `${param}[${last}].content`);
  assertMessageFits({ text }, LONGEST_TEXT);
  const files = messages.flatMap((one, at) =>
    one.role === "user" && (isNewAgent ? at <= last : at === last) ? filesIn(one, `${param}[${at}].content`) : [],
  );
  if (text.trim() === "" && files.length === 0) {
    throw new HttpError(400, "invalid_input", "The last message of role user is empty.", {
      param: `${param}[${last}].content`,
    });
  }
  const earlier = isNewAgent ? earlierText(messages.slice(0, last), param) : [];
  return { text, files, system: systemOf(messages, param, earlier) };
}

function systemOf(messages: readonly PromptMessage[], param: string, more: readonly string[] = []): string | undefined {
  const system = messages.flatMap((one, at) =>
    one.role === "system" || one.role === "developer" ? [textOf(one, `${param}[${at}].content`)] : [],
  );
  const all = [...system, ...more].filter((part) => part.trim() !== "");
  return all.length === 0 ? undefined : all.join("\n\n");
}

/** The results of calls since the last answer. Earlier ones are known. */
export function resultsIn(messages: readonly PromptMessage[], param: string): readonly GivenResult[] {
  const answered = messages.findLastIndex(({ role }) => role === "assistant");
  return messages.flatMap((one, at) => {
    if (one.role !== "tool" || at < answered) return [];
    const path = `${param}[${at}]`;
    return [{ id: one.tool_call_id ?? "", text: textOf(one, `${path}.content`), param: path }];
  });
}

const EARLIER: Readonly<Record<string, string>> = { user: "User", assistant: "You", tool: "Result of a tool" };
const EARLIER_TITLE = "# The conversation so far";

function earlierText(messages: readonly PromptMessage[], param: string): readonly string[] {
  const lines = messages.flatMap((one, at) => {
    const who = EARLIER[one.role];
    if (who === undefined) return [];
    const text = textOf(one, `${param}[${at}].content`);
    const calls = (one.tool_calls ?? []).flatMap(({ function: called }) =>
      called ? [`You called ${called.name}(${called.arguments})`] : [],
    );
    return [...(text.trim() === "" ? [] : [`${who}: ${text}`]), ...calls];
  });
  return lines.length === 0 ? [] : [[EARLIER_TITLE, ...lines].join("\n")];
}

function textOf({ content }: PromptMessage, param: string): string {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  return content
    .flatMap((part) => {
      if (TEXT_PARTS.includes(part.type) && part.text !== undefined) return [part.text];
      if (FILE_PARTS.includes(part.type)) return [];
      throw new HttpError(400, "unsupported_content", `Parts of type "${part.type}" are not supported.`, {
        param,
        hint: `Send parts of type ${[...TEXT_PARTS.slice(0, 2), ...FILE_PARTS].join(", ")}.`,
      });
    })
    .join("\n");
}

function filesIn({ content }: PromptMessage, param: string): readonly PromptFile[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap((part, at) => fileOfPart(part, `${param}[${at}]`) ?? []);
}
