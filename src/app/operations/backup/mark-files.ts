/** Files of agents in a backup that nobody vouches for carry the mark of untrusted text: notes, skills and prompts count as text of others. */
import { appendFileSync, closeSync, existsSync, fdatasyncSync, openSync } from "node:fs";
import { join } from "node:path";
import { markLine, marksFile } from "../../../adapters/workspace/open-file-marks.ts";
import { FILE_MODE } from "../../../config/paths.ts";
import { OPEN_PARTS } from "./archive-links.ts";
import type { Manifest } from "./manifest.ts";

/** `home`: the unpacked one. Returns how many files got the mark. */
export async function markFiles(
  home: string,
  { files }: Pick<Manifest, "files">,
  mayTrust: (count: number) => Promise<boolean>,
): Promise<number> {
  const found = files.filter(
    ({ path }) => OPEN_PARTS.includes(path.split("/", 1)[0] ?? "") && existsSync(join(home, path)),
  );
  if (found.length === 0 || (await mayTrust(found.length))) return 0;
  const handle = openSync(marksFile({ home }), "a", FILE_MODE);
  try {
    // A torn last line of the archive must not swallow the first one.
    appendFileSync(handle, `\n${found.map(({ path, sha256 }) => markLine(path, sha256)).join("")}`);
    fdatasyncSync(handle);
  } finally {
    closeSync(handle);
  }
  return found.length;
}
