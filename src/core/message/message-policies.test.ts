/** What a message is, by its kind: whether it overtakes, counts, wakes its agent, needs a run. One table per policy. */
import { describe, expect, test } from "vitest";
import type { AgentId, RunId } from "../ids.ts";
import {
  countsTowardsCap,
  isEmptyBody,
  isLateYes,
  isSettled,
  isSilent,
  type MessageBody,
  messageBodySchema,
  messageStateSchema,
  messageText,
  newMessageSchema,
  overridesOf,
  saysNothing,
} from "./message.ts";
import { isFromPerson, isUrgent } from "./message-order.ts";
import { queueSettingsSchema } from "./queue.ts";
import { runOverridesSchema } from "./run-overrides.ts";

const runId = "r" as RunId;
const file = { id: "f", name: "a", mimeType: "text/plain", size: 1 };
const childId = "c".repeat(24) as AgentId;
const wishes = { model: "m" };

const BODIES = {
  user: { kind: "user", text: "hi" },
  interrupting: { kind: "user", text: "hi", queue: { mode: "interrupt" } },
  collecting: { kind: "user", text: "hi", queue: { mode: "collect" } },
  blank: { kind: "user", text: " \n" },
  "a file": { kind: "user", text: "", files: [file] },
  "no files": { kind: "user", text: "", files: [] },
  "a result": { kind: "user", text: "", toolResults: [{ callId: "c", name: "n", text: "t" }] },
  "no results": { kind: "user", text: "", toolResults: [] },
  wishing: { kind: "user", text: "hi", wishes },
  system: { kind: "system", text: "note" },
  "silent system": { kind: "system", text: "note", silent: true },
  "blank system": { kind: "system", text: "" },
  trigger: { kind: "trigger", text: "go", trigger: { type: "cron", id: "j" }, wishes },
  report: { kind: "report", text: "done", childId, childRunId: runId },
  "silent report": { kind: "report", text: "done", childId, childRunId: runId, silent: true },
  "reset by a person": { kind: "reset", text: "new", by: "person" },
  "daily reset": { kind: "reset", by: "daily" },
  setting: { kind: "setting" },
  branch: { kind: "branch", entryId: "e" },
  stop: { kind: "stop" },
  describe: { kind: "describe", by: "x", description: "d", systemPrompt: "s" },
  restore: { kind: "restore" },
  subagents: { kind: "subagents", command: "list" },
  compact: { kind: "compact" },
  command: { kind: "command", name: "status", text: "now" },
  "a yes": { kind: "permission", runId, callId: "c", approved: true },
  "a late yes": { kind: "permission", runId, callId: "c", approved: true, text: "late" },
  "a late no": { kind: "permission", runId, callId: "c", approved: false, text: "late" },
} as const satisfies Record<string, MessageBody>;
type Name = keyof typeof BODIES;

const those = (is: (body: MessageBody) => unknown): Name[] =>
  (Object.keys(BODIES) as Name[]).filter((name) => is(BODIES[name]));

describe("of all kinds of messages", () => {
  test.each<[string, (body: MessageBody) => unknown, Name[]]>([
    [
      "these overtake those that wait",
      isUrgent,
      ["interrupting", "reset by a person", "daily reset", "stop", "a yes", "a late yes", "a late no"],
    ],
    [
      "these mean that a person went on",
      isFromPerson,
      [
        ...(["user", "interrupting", "collecting", "blank", "a file", "no files", "a result", "no results"] as const),
        ...(["wishing", "reset by a person"] as const),
      ],
    ],
    ["these have wishes for their run", overridesOf, ["wishing", "trigger"]],
    ["these have neither text nor files", isEmptyBody, ["blank", "no files", "a result", "no results"]],
    ["these need no run", (body) => saysNothing({ body }), ["blank", "no files", "no results"]],
    ["these need no run though one is promised", (body) => saysNothing({ body, asRun: runId }), []],
    ["these bring a yes that no one waits for", isLateYes, ["a late yes"]],
    ["these wake no one", isSilent, ["silent system", "silent report"]],
    [
      "these count towards the cap",
      (body) => countsTowardsCap({ body }),
      [
        ...(["user", "interrupting", "collecting", "blank", "a file", "no files", "a result", "no results"] as const),
        ...(["wishing", "system", "blank system"] as const),
      ],
    ],
    ["these count though a run is promised", (body) => countsTowardsCap({ body, asRun: runId }), []],
    [
      "these have a text",
      messageText,
      [
        ...(["user", "interrupting", "collecting", "blank", "wishing", "system", "silent system", "trigger"] as const),
        ...(["report", "silent report", "reset by a person", "command", "a late yes", "a late no"] as const),
      ],
    ],
  ])("%s", (_title, is, names) => {
    expect(those(is)).toEqual(names);
  });

  test("each is stored and read as it is", () => {
    for (const body of Object.values(BODIES)) expect(messageBodySchema.parse(body)).toEqual(body);
  });
});

test("a message has ended in every state but the first two", () => {
  expect(messageStateSchema.options.filter((state) => !isSettled({ state }))).toEqual(["waiting", "taken"]);
});

describe("what is refused", () => {
  const body = { kind: "user", text: "" };
  test.each<[string, { safeParse(value: unknown): { success: boolean } }, unknown, boolean]>([
    ["a command of 64 letters", messageBodySchema, { kind: "command", name: "x".repeat(64), text: "" }, true],
    ["a command of 65 letters", messageBodySchema, { kind: "command", name: "x".repeat(65), text: "" }, false],
    ["a command without a name", messageBodySchema, { kind: "command", name: "", text: "" }, false],
    [
      "a command that is not in turn",
      messageBodySchema,
      { kind: "command", name: "x", text: "", inTurn: false },
      false,
    ],
    ["a branch without an entry", messageBodySchema, { kind: "branch", entryId: "" }, false],
    ["a branch to one", messageBodySchema, { kind: "branch", entryId: "e" }, true],
    ["a message after nothing", messageBodySchema, { ...body, after: "" }, false],
    ["a person without a name", messageBodySchema, { ...body, person: "" }, false],
    ["an empty description", messageBodySchema, { ...BODIES.describe, description: "" }, false],
    ["an empty prompt", messageBodySchema, { ...BODIES.describe, systemPrompt: "" }, false],
    ["an empty workspace", messageBodySchema, { ...BODIES.describe, workspaceDir: "" }, false],
    ["an empty user name", messageBodySchema, { ...BODIES.describe, username: "" }, false],
    ["letters of one sign", messageBodySchema, { ...BODIES.describe, username: "u", workspaceDir: "/" }, true],
    ["a report of a run without an id", messageBodySchema, { ...BODIES.report, childRunId: "" }, false],
    ["a message with an empty key", newMessageSchema, { body, key: "", acceptedAt: 1 }, false],
    ["a message with a key", newMessageSchema, { body, key: "k", acceptedAt: 1 }, true],
    ["a message from no connector", newMessageSchema, { body, source: { connector: "" }, acceptedAt: 1 }, false],
    ["no delay", queueSettingsSchema, { mode: "collect", debounceMs: 0 }, true],
    ["a negative delay", queueSettingsSchema, { mode: "collect", debounceMs: -1 }, false],
    ["room for one", queueSettingsSchema, { mode: "collect", cap: 1 }, true],
    ["room for none", queueSettingsSchema, { mode: "collect", cap: 0 }, false],
    ["a temperature of 2", runOverridesSchema, { temperature: 2 }, true],
    ["a temperature above 2", runOverridesSchema, { temperature: 2.1 }, false],
    ["a temperature of 0", runOverridesSchema, { temperature: 0 }, true],
    ["a temperature below 0", runOverridesSchema, { temperature: -0.1 }, false],
    ["no time", runOverridesSchema, { timeoutSeconds: 0 }, false],
    ["half a second", runOverridesSchema, { timeoutSeconds: 0.5 }, true],
    ["no model", runOverridesSchema, { model: "" }, false],
    ["no thinking", runOverridesSchema, { thinking: "" }, false],
    ["no prompt", runOverridesSchema, { extraSystemPrompt: "" }, false],
    ["a short prompt", runOverridesSchema, { extraSystemPrompt: "p", model: "m", thinking: "t" }, true],
    ["a tool without a name", runOverridesSchema, { tools: [{ name: "", description: "", parameters: {} }] }, false],
    ["a tool", runOverridesSchema, { tools: [{ name: "t", description: "", parameters: {} }] }, true],
  ])("%s", (_title, schema, value, ok) => {
    expect(schema.safeParse(value).success).toBe(ok);
  });
});

test.each([
  ["e", true],
  ["", false],
])("a message may continue the entry %j: %s", (after, ok) => {
  expect(messageBodySchema.safeParse({ kind: "user", text: "hi", after }).success).toBe(ok);
});
