/** Files of people: upload, list, read and remove. A file is answered so that no browser ever executes it. */
import { z } from "zod";
import type { Config } from "../../../config/config-schema.ts";
import type { Delivery } from "../../../core/delivery/delivery.ts";
import { targetKey } from "../../../core/delivery/target-key.ts";
import type { DeliveryId } from "../../../core/ids.ts";
import type { StoredFile } from "../../../core/message/stored-file.ts";
import { personIdSchema } from "../../../core/people/person-record.ts";
import { noFile } from "../../../engine/files/file-service.ts";
import type { Principal } from "../auth/principal.ts";
import { HttpError } from "../http/http-error.ts";
import { readMultipart, type UploadedFile } from "../http/multipart.ts";
import type { MediaReply } from "../http/send-reply.ts";
import { mailboxOf } from "../messages/mailbox-of.ts";
import { filesOf, mayUse, personOfFiles, requireFile } from "../messages/message-files.ts";
import { media } from "../routing/output.ts";
import { type Call, defineRoute, type Route } from "../routing/route.ts";
import { fileInfoSchema } from "../schemas/file.ts";
import { pageSchema } from "../schemas/list.ts";
import { limitQuery, nextOf } from "./params.ts";

const user = z.string().trim().min(1).max(256).optional();
const fileParams = z.object({ file: z.string().min(1).max(128) });
const ofUser = z.strictObject({ user });
/** Boundaries and headers around the file. */
const MULTIPART_BYTES = 65_536;

const common = { access: "chat", action: "message", own: true, tag: "files" } as const;

/** A file as the API shows it. */
const fileView = ({ id, name, mimeType, size, sha, createdAt, shown }: StoredFile) => ({
  id,
  name,
  mimeType,
  size,
  sha256: sha,
  createdAt,
  as: shown.as,
  characters: shown.as === "text" ? shown.characters : undefined,
  why: shown.as === "reference" ? shown.why : undefined,
});

const uploadRoute = defineRoute({
  name: "uploadFile",
  ...common,
  method: "POST",
  path: "/api/files",
  summary:
    "Store a file: its bytes, or multipart/form-data with a part named `file`. The same content under the same name is the same file. It is removed after a day unless a message refers to it",
  query: z.strictObject({ user, name: z.string().max(1_000).optional() }),
  bodyType: "application/octet-stream",
  maxBody: ({ files }: Config) => files.maxBytes + MULTIPART_BYTES,
  output: { 201: fileInfoSchema },
  async handle(call) {
    const { principal, query } = call;
    const person = personOfFiles(principal, query.user);
    const { data, name } = uploaded(call);
    if (data.length === 0) {
      throw new HttpError(400, "invalid_input", "The file is empty.", { hint: "Send its bytes as the body." });
    }
    const file = await filesOf(call).put({ data, name: query.name ?? name, behalf: { person } });
    return { status: 201 as const, json: fileView(file) };
  },
});

function uploaded({ raw, header }: Pick<Call, "raw" | "header">): UploadedFile {
  const type = header("content-type") ?? "";
  if (/^multipart\/form-data\b/i.test(type)) return readMultipart(type, raw);
  return { data: raw, name: undefined };
}

const listRoute = defineRoute({
  name: "listFiles",
  ...common,
  method: "GET",
  path: "/api/files",
  summary: "The files of a person, by id",
  query: z.strictObject({ user, after: z.string().max(128).optional(), limit: limitQuery(500, 100) }),
  output: pageSchema(fileInfoSchema, "after", z.string()),
  async handle(call) {
    const { principal, query } = call;
    const person = personOfFiles(principal, query.user);
    const files = filesOf(call);
    const items = await files.list({ person, after: query.after, limit: query.limit });
    const next = nextOf(items, query.limit, ({ id }) => id);
    return { json: { items: items.map(fileView), next } };
  },
});

const usageRoute = defineRoute({
  name: "getFileUsage",
  ...common,
  method: "GET",
  path: "/api/files/usage",
  summary: "How much the files of a person use of the quota",
  query: ofUser,
  output: z.strictObject({ usedBytes: z.number(), quotaBytes: z.number() }),
  async handle(call) {
    const files = filesOf(call);
    const usedBytes = await files.used(personOfFiles(call.principal, call.query.user));
    return { json: { usedBytes, quotaBytes: files.limits.quotaBytes } };
  },
});

const fileRoute = defineRoute({
  name: "getFile",
  ...common,
  method: "GET",
  path: "/api/files/:file",
  summary: "What is known about a file",
  params: fileParams,
  query: ofUser,
  output: fileInfoSchema,
  handle: async (call) => ({ json: fileView(await requireFile(call, call.params.file, call.query.user)) }),
});

const contentRoute = defineRoute({
  name: "getFileContent",
  ...common,
  method: "GET",
  path: "/api/files/:file/content",
  summary: "The bytes of a file, as a download",
  params: fileParams,
  query: ofUser,
  output: media("application/octet-stream", "The bytes"),
  handle: async (call) => contentOf(call, await requireFile(call, call.params.file, call.query.user)),
});

/** What no browser executes, whatever the bytes are. Everything else is sent without its type. */
const HARMLESS =
  /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp|tiff)|audio\/[\w.+-]+|video\/[\w.+-]+|application\/(?:pdf|zip|json)|text\/plain)$/;

/** Always a download, in a sandbox without scripts, also where a browser ignores one of the headers. */
async function contentOf(call: Pick<Call, "context">, file: StoredFile): Promise<MediaReply> {
  const bytes = await filesOf(call).read(file);
  if (!bytes) throw noFile(file.id);
  const isText = file.mimeType === "text/plain";
  return {
    bytes,
    type: HARMLESS.test(file.mimeType)
      ? `${file.mimeType}${isText ? "; charset=utf-8" : ""}`
      : "application/octet-stream",
    headers: {
      "content-disposition": dispositionOf(file.name),
      "content-security-policy": "sandbox; default-src 'none'",
      "cross-origin-resource-policy": "same-origin",
      etag: `"${file.sha}"`,
    },
  };
}

/** The name in plain ASCII for old clients, and whole as RFC 8187 writes it. */
function dispositionOf(name: string): string {
  const plain = name.replace(/[^\w. -]/g, "_");
  const whole = encodeURIComponent(name.toWellFormed()).replace(
    /['()*!]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16)}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${whole}`;
}

const deliveredRoute = defineRoute({
  name: "getDeliveredFile",
  ...common,
  method: "GET",
  path: "/api/deliveries/:delivery/files/:file",
  summary: "The bytes of a file that came with a delivery, for its reader",
  params: z.object({ delivery: z.string().min(1).max(256), ...fileParams.shape }),
  query: z.strictObject({ user, terminal: user }),
  output: media("application/octet-stream", "The bytes"),
  async handle(call) {
    const { context, principal, params, query } = call;
    const delivery = await context.ports.store.delivery(params.delivery as DeliveryId);
    const named = delivery?.payload.files?.some(({ id }) => id === params.file);
    if (!delivery || !named || !isReader(principal, delivery, query)) throw noFile(params.file);
    return contentOf(call, await filesOf(call).get(params.file));
  },
});

/** Whoever reads the mailbox, and whoever reaches the files of the person it is for: it may have gone to a webhook instead. */
function isReader(
  principal: Principal,
  { target, payload }: Delivery,
  named: { readonly user?: string; readonly terminal?: string },
): boolean {
  if (payload.person !== undefined && mayUse(principal, payload.person, named.user)) return true;
  return mailboxOf(principal, named).some((address) => targetKey(address) === targetKey(target));
}

const removeRoute = defineRoute({
  name: "removeFile",
  ...common,
  method: "DELETE",
  path: "/api/files/:file",
  summary: "Remove a file. Where a message refers to it, its place is kept and says that it is gone",
  params: fileParams,
  query: ofUser,
  output: z.strictObject({ removed: z.string() }),
  async handle(call) {
    const file = await requireFile(call, call.params.file, call.query.user);
    await filesOf(call).remove(file.id, file.behalf.person);
    return { json: { removed: file.id } };
  },
});

const removeAllRoute = defineRoute({
  name: "removeFiles",
  ...common,
  method: "DELETE",
  path: "/api/files",
  summary: "Remove all files of a person; the owner names another person with `person`",
  query: z.strictObject({ user, person: personIdSchema.optional() }),
  output: z.strictObject({ removed: z.number().describe("How many.") }),
  async handle(call) {
    const { principal, query } = call;
    const person = query.person ?? personOfFiles(principal, query.user);
    if (!mayUse(principal, person, query.user)) {
      throw new HttpError(403, "denied", "This token may not remove the files of another person.", { param: "person" });
    }
    return { json: { removed: await filesOf(call).removeAll(person) } };
  },
});

export const fileRoutes: readonly Route[] = [
  uploadRoute,
  listRoute,
  usageRoute,
  fileRoute,
  contentRoute,
  deliveredRoute,
  removeRoute,
  removeAllRoute,
];
