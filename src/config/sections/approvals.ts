/** How long a question about a tool call waits for a person. */
import { section, wholeNumber } from "../values.ts";

export const approvalsDefaults = { expiryMinutes: 24 * 60 } as const;

export const approvalsSchema = section({
  expiryMinutes: wholeNumber(1, 30 * 24 * 60)
    .default(approvalsDefaults.expiryMinutes)
    .describe("how many minutes a question waits for an answer; then it ends as `expired`, and the call is not made"),
})
  .prefault({})
  .meta({ description: "questions about tool calls", page: "approvals.md" });
