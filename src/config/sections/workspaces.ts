/** The directories of people who are not the owner: how much each may hold, and whether they may read what the owner shares. */
import { flag, section, wholeNumber } from "../values.ts";

export const workspaceDefaults = {
  maxBytes: 104_857_600,
  shared: false,
} as const;

export const workspacesSchema = section({
  maxBytes: wholeNumber(0, 1_099_511_627_776).default(workspaceDefaults.maxBytes),
  /** Everyone may read `shared/` in the owner's workspace. */
  shared: flag().default(workspaceDefaults.shared),
}).prefault({});
