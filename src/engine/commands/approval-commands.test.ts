import { describe, expect, test } from "vitest";
import { ConflictError, NotFoundError } from "../../core/errors.ts";
import type { Approval, ApprovalId } from "../../core/rights/approval.ts";
import { commandNamed } from "./chat-commands.ts";
import { ANN, approval, said } from "./command-context.test-kit.ts";

describe("/approve and /deny", () => {
  const pending = async () => [approval(), approval({ id: "abcd" as ApprovalId, prompt: "y".repeat(4_000) })];
  test("alone list what waits", async () => {
    expect(await said("approve", "")).toBe("No call waits for an answer.");
    const lines = (await said("no", "", { approvals: { pending } })).split("\n");
    expect(lines.slice(0, 4)).toEqual(["kfmz:", "```", "rm x", "```"]);
    // One that does not fit is not shown in part.
    expect(lines[4]).toMatch(/^abcd: exec\. It is too long for this chat\. .*"rookery approvals show abcd"/u);
    expect(lines).toHaveLength(5);
    expect(await said("approve", "?".repeat(65))).toContain(`"${"?".repeat(64)}" is not the id`);
    expect(await said("approve", "what?", { approvals: { pending } })).toMatch(
      /^"what\?" is not the id of a question\. kfmz/,
    );
  });
  test("answer by the id in any case", async () => {
    const answers: unknown[] = [];
    const decide = async (id: ApprovalId, answer: { approve: boolean }) => {
      answers.push([id, answer]);
      return approval({ id, state: answer.approve ? "approved" : "denied" });
    };
    expect(await said("yes", "KFMZ", { approvals: { decide } })).toBe("kfmz (exec) is approved.");
    expect(await said("deny", "kfmz not  now ", { approvals: { decide } })).toBe("kfmz (exec) is denied.");
    await said("deny", "kfmz  ", { approvals: { decide } });
    await said("approve", "kfmz always pattern", { approvals: { decide } });
    await said("approve", "kfmz Always", { approvals: { decide } });
    await said("deny", "kfmz always tool", { approvals: { decide } });
    expect(answers).toEqual([
      ["kfmz", { approve: true, always: undefined, reason: undefined, digest: "d1" }],
      ["kfmz", { approve: false, always: undefined, reason: "not now" }],
      ["kfmz", { approve: false, always: undefined, reason: undefined }],
      ["kfmz", { approve: true, always: "pattern", reason: undefined, digest: "d1" }],
      ["kfmz", { approve: true, always: "call", reason: undefined, digest: "d1" }],
      ["kfmz", { approve: false, always: undefined, reason: "always tool" }],
    ]);
  });
  test("for always show what would be stored if there is a choice, and take one that is named", async () => {
    const choice = async () => ["call     a", "pattern  b"];
    expect(await said("approve", "kfmz always", { approvals: { choice } })).toBe(
      "Choose what to allow from now on:\n```\ncall     a\npattern  b\n```\nAnswer /approve kfmz always call or /approve kfmz always pattern.",
    );
    expect(await said("approve", "kfmz always PATTERN", { approvals: { choice } })).toContain("is approved");
    expect(await said("approve", "kfmz", { approvals: { choice } })).toContain("is approved");
    expect(await said("deny", "kfmz always", { approvals: { choice } })).toContain("is denied");
    const failing = { choice: async () => Promise.reject(new Error("no")) };
    expect(await said("approve", "kfmz always", { approvals: failing })).toContain("is approved");
  });
  test.each(["x".repeat(2_001), "x\n".repeat(60)])(
    "take no yes to a question that no chat shows whole",
    async (prompt) => {
      const answers: unknown[] = [];
      const decide = async (id: ApprovalId, answer: { approve: boolean }) => {
        answers.push(answer.approve);
        return approval({ id, state: "denied" });
      };
      const approvals = { decide, get: async () => approval({ prompt }) };
      for (const rest of ["kfmz", "kfmz always", "kfmz always call"]) {
        expect(await said("approve", rest, { approvals })).toContain("rookery approvals show kfmz");
      }
      expect(await said("deny", "kfmz", { approvals })).toContain("is denied");
      expect(answers).toEqual([false]);
    },
  );
  test.each<[string, string, Partial<Approval> | undefined, Error, string | undefined]>([
    [
      "the same person said the same before",
      "approve",
      { state: "used", decidedBy: ANN },
      new ConflictError("x"),
      "kfmz (exec) is approved.",
    ],
    [
      "the same person said no before",
      "deny",
      { state: "denied", decidedBy: ANN },
      new ConflictError("x"),
      "kfmz (exec) is denied.",
    ],
    ["someone else said yes", "approve", { state: "approved", decidedBy: "bob" }, new NotFoundError("Gone."), "Gone."],
    [
      "the same person said the opposite",
      "approve",
      { state: "denied", decidedBy: ANN },
      new NotFoundError("Gone."),
      "Gone.",
    ],
    [
      "the same person said yes, now no",
      "deny",
      { state: "approved", decidedBy: ANN },
      new NotFoundError("Gone."),
      "Gone.",
    ],
    ["it has ended otherwise", "approve", { state: "expired", decidedBy: ANN }, new NotFoundError("Gone."), "Gone."],
    ["it is not there", "approve", undefined, new NotFoundError("Gone.", { hint: "Look." }), "Gone. Look."],
    ["it may be tried again", "approve", { state: "pending" }, new ConflictError("Busy."), undefined],
    ["something is broken", "approve", { state: "pending" }, new TypeError("bug"), undefined],
  ])("if %s", async (_title, name, now, error, text) => {
    const approvals = {
      decide: async () => Promise.reject(error),
      get: async () => (now ? approval(now) : Promise.reject(new Error("none"))),
    };
    const answer = said(name, "kfmz", { approvals });
    if (text === undefined) await expect(answer).rejects.toBe(error);
    else expect(await answer).toBe(text);
  });
  test.each([
    ["", true],
    ["kfmz", true],
    ["kfmz always", true],
    ["kfmz ALWAYS Pattern", true],
    ["kfmz always prefix", false],
    ["kfmz always tool", false],
    ["kfmz please do", false],
    ["kfmz always everything", false],
  ])("/approve %j is the command: %s", (rest, is) => {
    expect(commandNamed("approve")?.reads(rest)).toBe(is);
  });
});
