/** Files that were set aside because only a reviewed change makes them: a command made them, or a person while a command ran. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { ASIDE } from "../../../../adapters/tools/files/set-aside.ts";
import { guardedFilesOf } from "../../../../adapters/workspace/guarded-workspace-files.ts";
import { profileWorkspaces } from "../../../../adapters/workspace/workspaces.ts";
import { permanentDirectories } from "../../../node/permanent-directories.ts";
import { defineCheck } from "../check.ts";

const NAMED = 5;

export const setAsideCheck = defineCheck({
  id: "set-aside",
  needs: ["config"],
  async check({ config, paths, store }) {
    const { roots, files, directories } = guardedFilesOf(config, paths);
    const agents = store ? await permanentDirectories(store, profileWorkspaces(config, paths)) : [];
    const beginnings = [...files, ...directories].map((name) => `${name}${ASIDE}`);
    const found = [...new Set([...roots, ...agents])].flatMap((root) =>
      namesIn(root)
        .filter((name) => beginnings.some((beginning) => name.startsWith(beginning)))
        .map((name) => join(root, name)),
    );
    const fine = "No file waits for a review.";
    if (found.length === 0) return { fine };
    const more = found.length > NAMED ? ` and ${found.length - NAMED} more` : "";
    const text = `${found.length} files were set aside, because only a reviewed change makes them: ${found.slice(0, NAMED).join(", ")}${more}.`;
    const help =
      "Read them. Delete what a command made; keep what you want with `rookery config changes write FILE --from FILE.proposed`.";
    return { fine, findings: [{ level: "notice", text, help }] };
  },
});

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
