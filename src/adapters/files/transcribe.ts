/** Turns speech into text with a server that has the OpenAI API for transcription. The owner chose its address. */
import { errorText, InvalidInputError } from "../../core/errors.ts";
import type { ShownContent } from "../../core/ports/file-inspector.ts";

export interface Transcriber {
  /** The address of the API, without `/audio/transcriptions`. */
  readonly url: string;
  readonly model: string;
  /** Throws if the key is missing. */
  readonly key?: () => string;
  readonly fetch?: typeof fetch;
}

const TIMEOUT_MS = 120_000;
const MAX_ANSWER = 4_000_000;

/** Must not throw: without a transcript the recording is a reference. */
export async function shownSpeech(
  data: Uint8Array,
  { name, mimeType }: { readonly name: string; readonly mimeType: string },
  transcriber: Transcriber,
  maxCharacters: number,
): Promise<ShownContent> {
  try {
    const said = (await transcribe(data, name, mimeType, transcriber)).trim().toWellFormed();
    if (said === "") return { as: "reference", why: "No speech was found in the recording." };
    const text = said.slice(0, maxCharacters);
    const shown = {
      as: "text",
      of: "transcript",
      characters: text.length,
      data: new TextEncoder().encode(text),
    } as const;
    return text.length < said.length ? { ...shown, cut: true } : shown;
  } catch (error) {
    return { as: "reference", why: `The recording was not turned into text: ${errorText(error).slice(0, 200)}` };
  }
}

async function transcribe(data: Uint8Array, name: string, mimeType: string, to: Transcriber): Promise<string> {
  const form = new FormData();
  form.set("model", to.model);
  form.set("response_format", "json");
  form.set("file", new Blob([Uint8Array.from(data)], { type: mimeType }), name);
  const key = to.key?.();
  const { fetch: send = fetch } = to;
  const response = await send(`${to.url.replace(/\/$/, "")}/audio/transcriptions`, {
    method: "POST",
    body: form,
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const answer = await bounded(response);
  if (!response.ok) throw new InvalidInputError(`The transcriber answered ${response.status}.`);
  const { text } = JSON.parse(answer) as { text?: unknown };
  if (typeof text !== "string") throw new InvalidInputError("The transcriber did not answer with a text.");
  return text;
}

async function bounded({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_ANSWER) throw new InvalidInputError("The transcriber's answer is too long.");
  }
  return text;
}
