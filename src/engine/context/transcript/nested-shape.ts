/** Entries in the nested form of version 3, for programs that read that form. */

import { unreachable } from "../../../core/errors.ts";
import type { Entry, MessageEntry } from "../../../core/history/entry.ts";
import type { Raw } from "./older-shape.ts";

const NO_USAGE = {
  ...{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/** `otherwise`: the time of the session, for entries that have none. */
export function nestedRecord(entry: Exclude<Entry, { type: "session" | "start" | "reset" }>, otherwise: number): Raw {
  const timestamp = new Date(entry.timestamp ?? otherwise).toISOString();
  switch (entry.type) {
    case "message": {
      const { type, id, parentId } = entry;
      return { type, id, parentId, timestamp, message: nestedMessage(entry), ...ours(entry) };
    }
    case "custom_message": {
      const { role: _, hidden, ...rest } = entry;
      return { customType: "message", ...rest, timestamp, display: hidden !== true };
    }
    case "custom": {
      const { name, ...rest } = entry;
      return { ...rest, timestamp, customType: name };
    }
    case "branch_summary":
      return { fromId: entry.parentId ?? "root", ...entry, timestamp };
    case "compaction":
      return { ...entry, timestamp };
    default:
      return unreachable(entry, "entry");
  }
}

/** The engine's own fields are beside the message, where readers of version 3 ignore them. */
const ours = ({ runId, seqs }: MessageEntry): Raw => ({ runId, seqs });

function nestedMessage(entry: MessageEntry): Raw {
  const { type: _, id: __, parentId: ___, runId: ____, seqs: _____, role, stopReason, ...said } = entry;
  switch (role) {
    case "user":
      return { role, ...said };
    case "assistant": {
      const stop = stopReason === "tool_calls" ? "toolUse" : (stopReason ?? "stop");
      return { role, api: "", provider: "", model: "", usage: NO_USAGE, ...said, stopReason: stop };
    }
    case "tool":
      return { role: "toolResult", toolCallId: "", toolName: "", isError: false, ...said };
    default:
      return unreachable(role, "role");
  }
}
