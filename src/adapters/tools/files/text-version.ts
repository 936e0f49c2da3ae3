/** The version of a text or of bytes, named by its content. */
import { createHash } from "node:crypto";
import type { FileVersion } from "../../../core/file-change.ts";

export const versionOf = (text: string | Buffer): FileVersion => ({
  sha256: createHash("sha256").update(text).digest("hex"),
  bytes: Buffer.byteLength(text),
});
