/**
 * The files of an OpenAI request: images, documents and recordings, as data, as the id of an upload, or as an address. An address
 * is loaded by the one client for addresses that a text names: no private one, bounded in time and size.
 */
import { createHash } from "node:crypto";
import { outgoingHttp } from "../../../adapters/system/outgoing-http.ts";
import { AllowedAddresses } from "../../../adapters/system/public-address.ts";
import { errorText } from "../../../core/errors.ts";
import type { FileReference } from "../../../core/file-reference.ts";
import { referenceTo } from "../../../core/message/stored-file.ts";
import type { Behalf } from "../../../core/people/behalf.ts";
import { HttpError } from "../http/http-error.ts";
import { filesOf, MAX_FILES, messageFiles, requireFile } from "../messages/message-files.ts";
import type { Call } from "../routing/route.ts";

/** A part of a message that is not text. */
export type PromptFile = { readonly param: string; readonly name?: string } & (
  | { readonly from: "data"; readonly data: Buffer }
  | { readonly from: "id"; readonly id: string }
  | { readonly from: "url"; readonly url: string }
);

type Part = { readonly type: string } & Readonly<Record<string, unknown>>;

const LOAD_MS = 20_000;
const MAX_REDIRECTS = 3;

/** Undefined if the part is not a file. Throws a 400 if it is one that cannot be read. */
export function fileOfPart(part: Part, param: string): PromptFile | undefined {
  switch (part.type) {
    case "image_url":
      return fromAddress(textIn(part.image_url, "url") ?? part.image_url, param);
    case "input_image":
      return fromId(part.file_id, param) ?? fromAddress(part.image_url, param);
    case "file":
      return fromFile((part.file ?? {}) as Readonly<Record<string, unknown>>, param);
    case "input_file":
      return fromFile(part, param);
    case "input_audio": {
      const { data, format } = (part.input_audio ?? {}) as { data?: unknown; format?: unknown };
      const name = typeof format === "string" && /^\w{1,8}$/.test(format) ? `recording.${format}` : "recording";
      return { from: "data", data: bytesOf(data, param), name, param };
    }
    default:
      return undefined;
  }
}

function fromFile(file: Readonly<Record<string, unknown>>, param: string): PromptFile {
  const name = typeof file.filename === "string" ? file.filename : undefined;
  const known = fromId(file.file_id, param);
  if (known) return known;
  const given = file.file_data;
  if (given === undefined) return { ...fromAddress(file.file_url, param), name };
  if (typeof given === "string" && /^(?:data|https?):/i.test(given)) return { ...fromAddress(given, param), name };
  return { from: "data", data: bytesOf(given, param), name, param };
}

const fromId = (id: unknown, param: string): PromptFile | undefined =>
  typeof id === "string" && id !== "" && id.length <= 128 ? { from: "id", id, param } : undefined;

function fromAddress(url: unknown, param: string): PromptFile {
  if (typeof url !== "string") throw unreadable(param, "It has neither data nor an address.");
  if (/^https?:/i.test(url)) return { from: "url", url, param };
  const comma = url.indexOf(",");
  if (!/^data:/i.test(url) || comma < 0 || comma > 200)
    throw unreadable(param, "An address begins with data: or https:.");
  if (!/;base64$/i.test(url.slice(0, comma))) throw unreadable(param, "A data: address must be in base64.");
  return { from: "data", data: bytesOf(url.slice(comma + 1), param), param };
}

function bytesOf(text: unknown, param: string): Buffer {
  const data = typeof text === "string" ? Buffer.from(text, "base64") : Buffer.alloc(0);
  if (data.length === 0) throw unreadable(param, "Its data is empty or not in base64.");
  return data;
}

const textIn = (value: unknown, field: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[field] : undefined;

const unreadable = (param: string, why: string): HttpError =>
  new HttpError(400, "invalid_input", `The file cannot be read. ${why}`, { param });

/** The digests of the files, and the addresses of those that are loaded later, as the identity of a message has them (M18). */
export async function promptFileDigests(
  call: Pick<Call, "context" | "principal">,
  files: readonly PromptFile[],
): Promise<readonly string[] | undefined> {
  if (files.length === 0) return undefined;
  return Promise.all(
    files.map(async (file) => {
      if (file.from === "url") return file.url;
      if (file.from === "data") return createHash("sha256").update(file.data).digest("hex");
      return (await requireFile(call, file.id)).sha;
    }),
  );
}

/** Stores the files for the person who speaks, and returns how a message names them. */
export async function storePromptFiles(
  call: Pick<Call, "context" | "principal">,
  files: readonly PromptFile[],
  behalf: Behalf,
): Promise<FileReference[] | undefined> {
  if (files.length === 0) return undefined;
  const [extra] = files.slice(MAX_FILES);
  if (extra) {
    throw new HttpError(400, "invalid_input", `A message has at most ${MAX_FILES} files.`, { param: extra.param });
  }
  const references: FileReference[] = [];
  for (const file of files) references.push(...(await stored(call, file, { person: behalf.person })));
  return references;
}

async function stored(
  call: Pick<Call, "context" | "principal">,
  file: PromptFile,
  behalf: Behalf,
): Promise<readonly FileReference[]> {
  if (file.from === "id") return (await messageFiles(call, [file.id], { behalf })) ?? [];
  if (file.from === "data") {
    return [referenceTo(await filesOf(call).put({ data: file.data, name: file.name ?? "file", behalf }))];
  }
  const data = await loaded(call, file);
  const name = file.name ?? new URL(file.url).pathname.split("/").at(-1);
  return [referenceTo(await filesOf(call).put({ data, name, behalf }))];
}

async function loaded(
  { context }: Pick<Call, "context">,
  { url, param }: { readonly url: string; readonly param: string },
): Promise<Buffer> {
  const { files, network } = context.settings.current;
  const load = outgoingHttp({ allowed: () => new AllowedAddresses(network.allowPrivate) });
  const signal = AbortSignal.any([AbortSignal.timeout(LOAD_MS), context.stopping]);
  try {
    const answer = await load({ url, signal, maxBytes: files.maxBytes, maxRedirects: MAX_REDIRECTS });
    if (answer.status !== 200)
      throw new HttpError(400, "not_loaded", `The address answered ${answer.status}.`, { param });
    if (answer.cut) throw new HttpError(413, "too_large", `The file has more than ${files.maxBytes} bytes.`, { param });
    return answer.body;
  } catch (error) {
    if (error instanceof HttpError) throw error;
    const hint = "Send the file as a data: address, or upload it with POST /api/files.";
    throw new HttpError(400, "not_loaded", `The file was not loaded: ${errorText(error).slice(0, 300)}`, {
      param,
      hint,
    });
  }
}
