/** A tool's answer as one JSON document. */
import type { ToolOutput } from "../../core/tool.ts";

export const jsonOutput = (value: object, ops: ToolOutput["ops"] = []): ToolOutput => ({
  content: [{ type: "text", text: JSON.stringify(value, null, 2) }],
  ...(ops.length > 0 ? { ops } : {}),
});
