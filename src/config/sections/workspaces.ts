/** The directories of people who are not the owner: how much each may hold, and whether they may read what the owner shares. */
import { flag, section, wholeNumber } from "../values.ts";

export const workspaceDefaults = {
  maxBytes: 104_857_600,
  shared: false,
} as const;

export const workspacesSchema = section({
  maxBytes: wholeNumber(0, 1_099_511_627_776)
    .default(workspaceDefaults.maxBytes)
    .describe("how many bytes the files of one person may have together"),
  shared: flag()
    .default(workspaceDefaults.shared)
    .describe("whether everyone may read `shared/` in the owner's workspace"),
})
  .prefault({})
  .meta({ description: "the directories of people other than the owner", page: "workspaces.md" });
