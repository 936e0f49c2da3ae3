/** The content of a file whose changes are kept, as it is now. Of a skill of the home it is the text of all its files. */
import { open } from "node:fs/promises";
import { DeniedError } from "../../../core/errors.ts";
import { codeOf, READ } from "../../tools/files/disk.ts";
import { bundleOf } from "../skills/skill-bundle.ts";
import { readSkill } from "../skills/skill-directory.ts";
import type { KeptPlace } from "./kept-kinds.ts";

/** Null if there is no file. A link is not followed. */
export async function contentAt(path: string, place: KeptPlace | undefined): Promise<Buffer | null> {
  if (!place?.isSkill) return bytesAt(path);
  const files = await readSkill(path);
  return files && Buffer.from(bundleOf(files));
}

async function bytesAt(path: string): Promise<Buffer | null> {
  try {
    const handle = await open(path, READ);
    try {
      return await handle.readFile();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return null;
    if (codeOf(error) === "ELOOP") throw new DeniedError(`${path} is a link.`, { cause: error });
    throw error;
  }
}
