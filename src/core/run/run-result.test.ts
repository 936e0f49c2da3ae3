import { describe, expect, test } from "vitest";
import type { Entry } from "../history/entry.ts";
import type { AgentId, EntryId, RunId, SessionId } from "../ids.ts";
import { type RunBody, runResult, saidIn } from "./run.ts";
import { parseWatchdogNote, watchdogKey } from "./watchdog-note.ts";

type EndedRun = Parameters<typeof runResult>[0];

const BODY: RunBody = { lane: "main", seqs: [1, 2], calls: [], iterations: 1, deliveries: 0 };
const run = (body: Partial<RunBody> = {}, more: Partial<EndedRun> = {}): EndedRun => ({
  ...{ id: "r" as RunId, agentId: "a" as AgentId, sessionId: "s" as SessionId },
  ...{ startedAt: 100, endedAt: 350, outcome: "ok", body: { ...BODY, ...body } },
  ...more,
});
const said = (more: object = {}): Entry =>
  ({
    ...{ type: "message", id: "e" as EntryId, parentId: null, role: "assistant", timestamp: 1, runId: "r" as RunId },
    ...{ provider: "p", model: "m" },
    content: [
      { type: "thinking", thinking: "hm", text: "no" },
      { type: "text", text: "Hello " },
      { type: "text", text: "you." },
    ],
    ...more,
  }) as Entry;

describe("the result of a run", () => {
  test("is what the assistant said last, with the time it took", () => {
    const usage = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, totalTokens: 10 };
    const result = runResult(run({ usage, replyToId: "7", stopReason: "stop" }), said());
    expect(result).toMatchObject({
      ...{ runId: "r", agentId: "a", outcome: "ok", didSendViaMessagingTool: false },
      payloads: [{ text: "Hello you.", replyToId: "7" }],
      messagingToolSentTexts: [],
      messagingToolSentTargets: [],
    });
    expect(result.meta).toMatchObject({ durationMs: 250, aborted: false, stopReason: "stop", pendingToolCalls: [] });
    expect(result.meta.agentMeta).toEqual({
      ...{ sessionId: "s", provider: "p", model: "m" },
      usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, total: 10 },
    });
  });

  test.each<[string, EndedRun, Entry | undefined, object[]]>([
    [
      "the answer of its record",
      run({ answer: { text: "x" }, replyToId: "7" }),
      said(),
      [{ text: "x", replyToId: "7" }],
    ],
    ["nothing, if the record says so", run({ answer: null }), said(), []],
    [
      "its error before what was said",
      run({ error: { kind: "model", message: "no" }, replyToId: "7" }),
      said(),
      [{ text: "no", isError: true, replyToId: "7" }],
    ],
    [
      "the answer of its record before its error",
      run({ answer: { text: "x" }, error: { kind: "model", message: "no" } }),
      said(),
      [{ text: "x" }],
    ],
    ["nothing, if it was aborted", run({}, { outcome: "aborted" }), said(), []],
    ["nothing without a last line", run(), undefined, []],
    ["nothing that another run said", run(), said({ runId: "q" }), []],
    ["nothing that a person said", run(), said({ role: "user" }), []],
    ["nothing that is no message", run(), said({ type: "custom", name: "x", data: 1 }), []],
  ])("has %s", (_title, ended, last, payloads) => {
    expect(runResult(ended, last).payloads).toEqual(payloads);
  });

  test("says that it was aborted, and how long a run without an end took", () => {
    const { meta } = runResult(run({}, { outcome: "aborted", endedAt: undefined }), undefined);
    expect(meta).toMatchObject({ aborted: true, durationMs: 0 });
    expect(meta.agentMeta).toBeUndefined();
  });

  test("names no model if the line names none, and no usage if there is none", () => {
    const meta = (more: object) => runResult(run(), said(more)).meta.agentMeta;
    expect(meta({ provider: undefined })).toBeUndefined();
    expect(meta({ model: undefined })).toBeUndefined();
    expect(meta({})).toEqual({ sessionId: "s", provider: "p", model: "m" });
  });

  test("lists what was sent by tools, and calls that were open", () => {
    const pendingToolCalls = [{ id: "c", name: "n", arguments: {} }];
    const target = { channel: "telegram", to: "7" };
    const result = runResult(run({ sentTexts: ["a", "", "b"], sentTargets: [target], pendingToolCalls }), undefined);
    expect(result).toMatchObject({
      didSendViaMessagingTool: true,
      messagingToolSentTexts: ["a", "b"],
      messagingToolSentTargets: [target],
    });
    expect(result.meta.pendingToolCalls).toEqual(pendingToolCalls);
  });
});

test.each([
  ["all messages, if a person wrote", { humanAt: 5, seqs: [1, 2] }, 2],
  ["none, if no person wrote", { seqs: [1, 2] }, 0],
  ["as many as the record says", { humanAt: 5, said: 1, seqs: [1, 2] }, 1],
  ["none, if the record says so", { humanAt: 5, said: 0, seqs: [1, 2] }, 0],
])("a run has taken of people %s", (_title, body, count) => {
  expect(saidIn(body)).toBe(count);
});

test("a note of a watchdog is read if it is whole", () => {
  const note = { agentId: "a", runId: "r", phase: "model", at: 5 };
  expect(watchdogKey("r")).toBe("watchdog:r");
  expect(parseWatchdogNote(JSON.stringify({ ...note, more: 1 }))).toEqual(note);
  for (const wrong of [{ agentId: 1 }, { runId: undefined }, { phase: 2 }, { at: "5" }, { at: null }])
    expect(parseWatchdogNote(JSON.stringify({ ...note, ...wrong }))).toBeUndefined();
  for (const text of ["", "null", "[]", "{"]) expect(parseWatchdogNote(text)).toBeUndefined();
});
