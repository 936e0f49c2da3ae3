/**
 * The settings of an OpenAI request. What the profile allows goes into the run; everything else that would change the answer is
 * refused with a 400 that says what to do, never ignored.
 */
import type { Config } from "../../../config/config-schema.ts";
import { HttpError } from "../http/http-error.ts";
import { type CallerTools, readTools } from "./caller-tools.ts";

type Fields = Readonly<Record<string, unknown>>;

export interface RequestSettings {
  readonly temperature?: number;
  /** The answer must be JSON; `schema`: of this form. */
  readonly json?: { readonly schema?: Fields };
  /** Tools that the client executes. */
  readonly tools?: CallerTools;
}

/** Fields that change an answer and that no agent follows; each with the values that change nothing. */
const UNSUPPORTED: Readonly<Record<string, (value: unknown) => boolean>> = {
  top_p: (value) => value === 1,
  frequency_penalty: (value) => value === 0,
  presence_penalty: (value) => value === 0,
  logit_bias: (value) => isEmpty(value),
  logprobs: (value) => value === false,
  top_logprobs: (value) => value === 0,
  stop: (value) => isEmpty(value),
  seed: () => false,
  audio: () => false,
  modalities: (value) => JSON.stringify(value) === '["text"]',
  prediction: () => false,
  web_search_options: () => false,
  conversation: () => false,
  prompt: () => false,
  truncation: (value) => value === "disabled" || value === "auto",
  functions: (value) => isEmpty(value),
  function_call: (value) => value === "auto" || value === "none",
  parallel_tool_calls: (value) => value === true,
};

export function readSettings({ profiles }: Pick<Config, "profiles">, profile: string, body: Fields): RequestSettings {
  for (const [field, changesNothing] of Object.entries(UNSUPPORTED)) {
    const value = body[field];
    if (value !== undefined && value !== null && !changesNothing(value)) {
      throw unsupported(field, HINTS[field] ?? "Leave it out.");
    }
  }
  const allowed = profiles[profile]?.request ?? DEFAULT_REQUEST;
  return {
    temperature: temperatureOf(body, profile, allowed),
    json: jsonOf(body, profile, allowed),
    tools: toolsOf(body, profile, allowed),
  };
}

const HINTS: Readonly<Record<string, string>> = {
  functions: "Send tools instead.",
  parallel_tool_calls: "Leave it out: an answer may have several calls.",
};

const DEFAULT_REQUEST: readonly string[] = ["temperature", "response_format", "tools"];

function toolsOf({ tools, tool_choice: choice }: Fields, profile: string, allowed: readonly string[]) {
  if (choice !== undefined && choice !== null && choice !== "auto" && choice !== "none") {
    throw unsupported("tool_choice", "Send auto or none; the agent decides which tools it uses.");
  }
  if (tools === undefined || tools === null || isEmpty(tools) || choice === "none") return undefined;
  if (!allowed.includes("tools")) throw notAllowed("tools", profile);
  return readTools(tools);
}

const isEmpty = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;

function temperatureOf({ temperature }: Fields, profile: string, allowed: readonly string[]): number | undefined {
  if (temperature === undefined || temperature === null) return undefined;
  if (typeof temperature !== "number" || !(temperature >= 0 && temperature <= 2)) {
    throw new HttpError(400, "invalid_input", "temperature: a number from 0 to 2", { param: "temperature" });
  }
  if (!allowed.includes("temperature")) throw notAllowed("temperature", profile);
  return temperature;
}

/** `response_format` of Chat Completions, `text.format` of Responses. */
function jsonOf(body: Fields, profile: string, allowed: readonly string[]): RequestSettings["json"] {
  const inText = (body.text as { format?: unknown } | undefined)?.format;
  const [format, param] = inText ? [inText, "text.format"] : [body.response_format, "response_format"];
  if (format === undefined || format === null) return undefined;
  const { type, schema, json_schema } = format as {
    type?: unknown;
    schema?: unknown;
    json_schema?: { schema?: unknown };
  };
  if (type === "text") return undefined;
  if (type !== "json_object" && type !== "json_schema") {
    throw unsupported(param, "Its type is text, json_object or json_schema.");
  }
  if (!allowed.includes("response_format")) throw notAllowed("response_format", profile, param);
  const given = schema ?? json_schema?.schema;
  return typeof given === "object" && given !== null ? { schema: given as Fields } : {};
}

const unsupported = (param: string, hint: string): HttpError =>
  new HttpError(400, "unsupported", `${param} is not supported.`, { param, hint });

const notAllowed = (field: string, profile: string, param = field): HttpError =>
  new HttpError(400, "not_allowed", `The profile "${profile}" does not allow ${field}.`, {
    param,
    hint: `Leave it out, or add "${field}" to profiles.${profile}.request in the configuration.`,
  });

/** What the run is told about the form of its answer. */
export function formatPrompt({ json }: RequestSettings): string | undefined {
  if (!json) return undefined;
  const form = json.schema ? ` that matches this JSON Schema:\n${JSON.stringify(json.schema)}` : ".";
  return `Answer with one JSON value and nothing else, not in a code block${form}`;
}

/** Throws a 502 if the answer is not of the form that was asked for. */
export async function assertFormat({ json }: RequestSettings, text: string): Promise<void> {
  if (!json) return;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw wrongFormat("It is not JSON.");
  }
  if (!json.schema) return;
  const { z } = await import("zod");
  let schema: ReturnType<typeof z.fromJSONSchema>;
  try {
    schema = z.fromJSONSchema(json.schema as Parameters<typeof z.fromJSONSchema>[0]);
  } catch {
    return;
  }
  const checked = schema.safeParse(value);
  if (!checked.success) throw wrongFormat(z.prettifyError(checked.error).slice(0, 300));
}

const wrongFormat = (why: string): HttpError =>
  new HttpError(502, "invalid_output", `The answer is not of the form that was asked for. ${why}`, {
    hint: "Ask again with a new request.",
  });
