/** A tool's output as text, or as one JSON document. */
import type { ToolOutput } from "../../../core/ports/tool.ts";

export const textOutput = (text: string): ToolOutput => ({ content: [{ type: "text", text }] });

export const jsonOutput = (value: object, ops: ToolOutput["ops"] = []): ToolOutput => ({
  content: [{ type: "text", text: JSON.stringify(value, null, 2) }],
  ops: ops.length > 0 ? ops : undefined,
});
