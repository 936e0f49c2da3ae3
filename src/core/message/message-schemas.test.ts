/** What an inbox accepts: the forms of messages and of their overrides at their boundaries. */
import { describe, expect, test } from "vitest";
import { newMessageSchema } from "./message.ts";
import { runOverridesSchema } from "./run-overrides.ts";

const tool = { name: "t", description: "", parameters: {} };
const describing = { kind: "describe", by: "owner", description: "d", systemPrompt: "s" };
const report = { kind: "report", text: "", childId: "a".repeat(24), childRunId: "r" };

describe("overrides of a run", () => {
  test.each<[object, boolean]>([
    [{}, true],
    [{ model: "m" }, true],
    [{ model: "" }, false],
    [{ thinking: "l" }, true],
    [{ thinking: "" }, false],
    [{ timeoutSeconds: 0.5 }, true],
    [{ timeoutSeconds: 0 }, false],
    [{ timeoutSeconds: -1 }, false],
    [{ temperature: 0 }, true],
    [{ temperature: 2 }, true],
    [{ temperature: -0.1 }, false],
    [{ temperature: 2.1 }, false],
    [{ extraSystemPrompt: "x" }, true],
    [{ extraSystemPrompt: "a longer one" }, true],
    [{ extraSystemPrompt: "" }, false],
    [{ tools: [tool] }, true],
    [{ tools: [{ ...tool, name: "" }] }, false],
    [{ tools: [{ name: "t" }] }, false],
  ])("%j are accepted: %s", (given, ok) => {
    expect(runOverridesSchema.safeParse(given).success).toBe(ok);
  });
});

describe("the body of a message", () => {
  test.each<[object, boolean]>([
    [{ kind: "user", text: "" }, true],
    [{ kind: "user" }, false],
    [{ kind: "user", text: "", person: "test:7" }, true],
    [{ kind: "user", text: "", person: "" }, false],
    [{ kind: "user", text: "", after: "e" }, true],
    [{ kind: "user", text: "", after: "" }, false],
    [{ kind: "user", text: "", burst: "album" }, true],
    [{ kind: "user", text: "", burst: "video" }, false],
    [{ kind: "user", text: "", wishes: { model: "" } }, false],
    [{ kind: "user", text: "", toolResults: [{ callId: "c", name: "n", text: "" }] }, true],
    [{ kind: "user", text: "", toolResults: [{ callId: "c", text: "" }] }, false],
    [{ kind: "system", text: "", hops: 3 }, true],
    [{ kind: "system", text: "", hops: 0.5 }, false],
    [report, true],
    [{ ...report, childRunId: "" }, false],
    [{ ...report, childRunId: "r1.2" }, true],
    [{ ...report, person: "" }, false],
    [{ kind: "reset", by: "daily" }, true],
    [{ kind: "reset", by: "chance" }, false],
    [{ kind: "branch", entryId: "e" }, true],
    [{ kind: "branch", entryId: "" }, false],
    [{ kind: "setting", queue: null }, true],
    [{ kind: "setting", rules: { add: { allow: "exec" } } }, true],
    [{ kind: "setting", rules: { add: { allow: "" } } }, false],
    [describing, true],
    [{ ...describing, description: "", systemPrompt: "s" }, false],
    [{ ...describing, systemPrompt: "" }, false],
    [{ ...describing, description: "two words", systemPrompt: "two words" }, true],
    [{ ...describing, workspaceDir: "/w", username: "u" }, true],
    [{ ...describing, workspaceDir: "" }, false],
    [{ ...describing, username: "" }, false],
    [{ kind: "command", name: "n", text: "" }, true],
    [{ kind: "command", name: "n".repeat(64), text: "" }, true],
    [{ kind: "command", name: "n".repeat(65), text: "" }, false],
    [{ kind: "command", name: "", text: "" }, false],
    [{ kind: "command", name: "n", text: "", inTurn: false }, false],
    [{ kind: "permission", runId: "r", callId: "c", approved: true }, true],
    [{ kind: "permission", runId: "", callId: "c", approved: true }, false],
    [{ kind: "other" }, false],
  ])("%j is accepted: %s", (body, ok) => {
    expect(newMessageSchema.safeParse({ body, acceptedAt: 1 }).success).toBe(ok);
  });
});

test.each<[object, boolean]>([
  [{ key: "k" }, true],
  [{ key: "" }, false],
  [{ asRun: "r" }, true],
  [{ asRun: "" }, false],
  [{ acceptedAt: 1.5 }, false],
  [{ source: { connector: "c" } }, true],
  [{ source: { connector: "" } }, false],
  [{ source: { connector: "c", revision: 0.5 } }, false],
  [{ source: { connector: "c", sentAt: 0.5 } }, false],
  [{ delivery: { channel: " " } }, false],
  [{ behalf: { person: "ann" } }, true],
  [{ behalf: {} }, false],
])("a message with %j is accepted: %s", (more, ok) => {
  const message = { body: { kind: "stop" }, acceptedAt: 1, ...more };
  expect(newMessageSchema.safeParse(message).success).toBe(ok);
});
