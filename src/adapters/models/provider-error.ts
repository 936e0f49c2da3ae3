/** Reads a provider's error from a response body or a stream event, in the forms that the APIs use. Linear in the text. */
import { shortened } from "../../core/cut-text.ts";

export interface ProviderError {
  readonly code?: string;
  readonly text: string;
}

const MAX_TEXT = 1_000;
/** How much of an HTML page, or of the end of a stream, is read for its text. */
const MAX_PAGE = 100_000;

/** The error in the body of a failed response. */
export function errorInBody(status: number, body: string): ProviderError {
  const trimmed = body.trim();
  if (trimmed === "") return { text: `${status} (no body)` };
  return (
    errorInJson(parse(trimmed)) ?? {
      text: cut(
        trimmed
          .slice(0, MAX_PAGE)
          .replace(/<[^<>]*>/g, " ")
          .replace(/\s+/g, " ")
          .trim(),
      ),
    }
  );
}

/** The error in the last complete event of an interrupted stream; undefined if there is none. */
export function errorInStream(tail: string): ProviderError | undefined {
  for (const line of tail.slice(-MAX_PAGE).split(/\r?\n/).reverse()) {
    const [, data] = /^data:\s?(.*)$/.exec(line) ?? [];
    if (data === undefined || data === "" || data === "[DONE]") continue;
    return errorInJson(parse(data));
  }
  return undefined;
}

/** `{error: {type, code, message}}`, `{type: "error", …}`, `{type: "response.failed", response: {error}}`, `[{error}]`. */
export function errorInJson(value: unknown): ProviderError | undefined {
  const root = record(Array.isArray(value) ? value[0] : value);
  if (!root) return undefined;
  if (root.type === "response.failed") return fields(record(record(root.response)?.error) ?? {}, "The answer failed.");
  const inner = record(root.error);
  if (inner) return fields(inner, "The provider gave no reason.");
  if (typeof root.error === "string") return fields({ ...root, message: root.error }, root.error);
  if (root.type === "error" || root.object === "error") return fields(root, "The provider gave no reason.");
  const message = text(root.message) ?? text(root.detail);
  return message === undefined ? undefined : fields(root, message);
}

function fields(error: Readonly<Record<string, unknown>>, otherwise: string): ProviderError {
  const raw = text(record(error.metadata)?.raw);
  const message = text(error.message) ?? otherwise;
  const code = [error.type, error.code, error.status].flatMap((part) => (typeof part === "string" ? [part] : []));
  return {
    code: code.length > 0 ? code.join(" ") : undefined,
    text: cut(raw && !message.includes(raw) ? `${message} ${raw}` : message),
  };
}

export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

const record = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;

const cut = (words: string): string => shortened(words, MAX_TEXT);
