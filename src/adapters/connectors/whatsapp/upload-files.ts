/**
 * Files on their way to the Graph API. Nobody sees an upload before a message refers to it, so a send never waits long for one: it is tried
 * again later, and finds the upload where it is. A send of which only the upload is unknown is therefore never unconfirmed.
 */
import type { FileReference } from "../../../core/file-reference.ts";
import { type Clock, sleep } from "../../../core/ports/clock.ts";
import type { ConnectorFiles } from "../../../core/ports/connector.ts";
import { bounded } from "../chat/bounded.ts";
import type { ChannelRefusal } from "../chat/channel-call.ts";
import type { GraphApi } from "./graph-api.ts";
import { type MediaKind, mediaKindOf, uploadTypeOf } from "./message-body.ts";

type Upload =
  | { readonly status: "ok"; readonly mediaId: string; readonly kind: MediaKind }
  | ChannelRefusal
  /** The file cannot be sent, whatever the server says. */
  | { readonly status: "impossible"; readonly reason: string }
  | { readonly status: "later"; readonly reason: string };

export interface FileUploads {
  upload(files: ConnectorFiles | undefined, file: FileReference): Promise<Upload>;
  /** The server does not take what was made of it: the next send uploads it again. */
  forget(file: FileReference): void;
}

/** A send with its upload stays below `outbox.sendTimeoutSeconds`. */
const WAIT_MS = 20_000;
/** Each is in memory as a whole. */
const AT_ONCE = 3;
/** The server keeps a file for thirty days. */
const KEPT_MS = 24 * 3600_000;
const MAX_KEPT = 200;

export function fileUploads(api: GraphApi, clock: Clock, stop: AbortSignal): FileUploads {
  const kept = bounded<{ readonly at: number; readonly upload: Promise<Upload> }>(MAX_KEPT);
  let underWay = 0;

  const uploaded = async (files: ConnectorFiles | undefined, file: FileReference): Promise<Upload> => {
    const data = await files?.read(file);
    if (!data) return { status: "impossible", reason: `The file ${file.name} is no longer stored.` };
    const kind = mediaKindOf(file.mimeType, data.length);
    if (data.length > kind.limit) {
      const reason = `The file ${file.name} is larger than ${kind.limit} bytes, which WhatsApp does not take.`;
      return { status: "impossible", reason };
    }
    const call = await api.upload({ data, name: file.name, mimeType: uploadTypeOf(file.mimeType) }, stop);
    if (call.status === "ok") return { status: "ok", mediaId: call.result, kind };
    return call.status === "refused" ? call : { status: "later", reason: call.reason };
  };
  const begin = (files: ConnectorFiles | undefined, file: FileReference): Promise<Upload> => {
    underWay += 1;
    const upload = uploaded(files, file)
      .catch((error): Upload => ({ status: "later", reason: String(error) }))
      .finally(() => {
        underWay -= 1;
      });
    kept.set(file.id, { at: clock.monotonic(), upload });
    void upload.then(({ status }) => {
      if (status !== "ok" && kept.get(file.id)?.upload === upload) kept.delete(file.id);
    });
    return upload;
  };

  return {
    async upload(files, file) {
      const known = kept.get(file.id);
      const isFresh = known !== undefined && clock.monotonic() - known.at < KEPT_MS;
      if (!isFresh && underWay >= AT_ONCE) return { status: "later", reason: "other files are being uploaded" };
      const enough = new AbortController();
      const later = sleep(clock, WAIT_MS, enough.signal).then((): Upload => {
        return { status: "later", reason: `the file ${file.name} is still being uploaded` };
      });
      const ended = await Promise.race([isFresh ? known.upload : begin(files, file), later]);
      enough.abort();
      return ended;
    },
    forget: ({ id }) => kept.delete(id),
  };
}
