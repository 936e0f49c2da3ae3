/** Reads what the OpenAI APIs call messages: the last thing a person said, what the system says, and what was said before. */
import { z } from "zod";
import { HttpError } from "../http/http-error.ts";

const partSchema = z.looseObject({ type: z.string().max(64), text: z.string().optional() });
export const contentSchema = z.union([z.string(), z.array(partSchema).max(1_000)]).nullish();

export const spokenSchema = z.looseObject({ role: z.string().max(32), content: contentSchema });
export type SpokenMessage = z.infer<typeof spokenSchema>;

export interface Said {
  readonly text: string;
  readonly system: string | undefined;
}

const TEXT_PARTS: readonly string[] = ["text", "input_text", "output_text"];

/**
 * The last message of role `user` is what is said now. With a conversation of its own the agent remembers the rest; a fresh
 * agent is told it, so that clients which send the whole conversation each time are understood.
 */
export function readSaid(messages: readonly SpokenMessage[], fresh: boolean, param: string): Said {
  const last = messages.findLastIndex(({ role }) => role === "user");
  const message = messages[last];
  if (!message) {
    throw new HttpError(400, "invalid_input", "There is no message of role user.", { param });
  }
  const text = textOf(message, `${param}[${last}].content`);
  if (text.trim() === "") {
    throw new HttpError(400, "invalid_input", "The last message of role user says nothing.", {
      param: `${param}[${last}].content`,
    });
  }
  const system = messages.flatMap((one, at) =>
    one.role === "system" || one.role === "developer" ? [textOf(one, `${param}[${at}].content`)] : [],
  );
  const before = fresh ? earlier(messages.slice(0, last), param) : [];
  const all = [...system, ...before].filter((part) => part.trim() !== "");
  return { text, system: all.length === 0 ? undefined : all.join("\n\n") };
}

export const EARLIER_TITLE = "# The conversation so far";

function earlier(messages: readonly SpokenMessage[], param: string): readonly string[] {
  const lines = messages.flatMap((one, at) => {
    if (one.role !== "user" && one.role !== "assistant") return [];
    const text = textOf(one, `${param}[${at}].content`);
    return text.trim() === "" ? [] : [`${one.role === "user" ? "User" : "You"}: ${text}`];
  });
  return lines.length === 0 ? [] : [[EARLIER_TITLE, ...lines].join("\n")];
}

function textOf({ content }: SpokenMessage, param: string): string {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  return content
    .map((part) => {
      if (TEXT_PARTS.includes(part.type) && part.text !== undefined) return part.text;
      throw new HttpError(400, "unsupported_content", `Parts of type "${part.type}" are not understood here.`, {
        param,
        hint: "Send parts of type text.",
      });
    })
    .join("\n");
}
