/** The text of an agent's files, field by field: what is there, and what is left out because there is none. */
import { expect, test } from "vitest";
import { agentPaths, dedupeKeysIn, jsonText, pendingText, stateText } from "./file-format.ts";
import type { AgentRow } from "./mirror-source.ts";

const NONE = {
  ...{ no: 1, id: "a", session_key: "key", profile: "main", person: null, descriptor: "{}", created_at: 7 },
  ...{ session_id: "s", next_seq: 3, cursor: 1, next_pos: 4, leaf: "l", run_id: null, last_human_at: null },
  ...{ stopped: null, state: '{"a":1}' },
} as unknown as AgentRow;
const ALL = { ...NONE, person: "ann", last_human_at: 9, stopped: '{"at":1}' } as AgentRow;

test("an agent's files are in a directory of its own", () => {
  expect(agentPaths("a" as never)).toEqual({
    ...{ dir: "agents/a", descriptor: "agents/a/descriptor.json", state: "agents/a/state.json" },
    ...{ history: "agents/a/history.jsonl", pending: "agents/a/pending.json" },
  });
});

test("state.json has the state and what a rebuild needs beside it", () => {
  const engine = { sessionKey: "key", profile: "main", sessionId: "s", createdAt: 7 };
  expect(stateText(NONE)).toBe(jsonText({ a: 1, _engine: engine }));
  expect(JSON.parse(stateText(ALL))).toEqual({ a: 1, _engine: { ...engine, person: "ann", stopped: { at: 1 } } });
});

type PendingRows = Parameters<typeof pendingText>[0];
const rows = (more: Partial<PendingRows> = {}): PendingRows => ({
  ...{ agent: NONE, run: undefined, messages: [], deliveries: [], approvals: [], dedupe: [] },
  ...more,
});
const HEAD = { version: 1, sessionKey: "key", profile: "main", nextSeq: 3, nextPos: 4, leaf: "l" };

test("pending.json of an agent at rest has no field for what it does not have", () => {
  expect(pendingText(rows())).toBe(jsonText({ ...HEAD, messages: [], deliveries: [], dedupe: [] }));
});

test("pending.json has everything that is under way, as it is stored", () => {
  const run = { id: "r", session_id: "s", attempt: 2, step: 3, started_at: 4, abort: null, body: '{"b":1}' };
  const message = { seq: 1, state: "waiting", run_id: null, message: '{"m":1}' };
  const delivery = {
    ...{ id: "d", run_id: null, state: "pending", attempts: 1, next_at: 2, created_at: 3, reason: null },
    ...{ target: '{"t":1}', payload: '{"p":1}' },
  };
  const approval = {
    ...{
      n: 5,
      id: "p",
      agent: "a",
      run_id: "r",
      call_id: "c",
      person: "ann",
      digest: "x",
      state: "pending",
      due_at: 8,
    },
    ...{ decided_at: null, decided_by: null, surface: null, reason: null, record: '{"id":"p"}' },
  };
  const text = pendingText(
    rows({
      agent: ALL,
      run: { ...run, abort: '{"by":"x"}' } as never,
      messages: [message, { ...message, seq: 2, state: "taken", run_id: "r" }] as never,
      deliveries: [delivery, { ...delivery, id: "e", run_id: "r", reason: "why" }] as never,
      approvals: [approval] as never,
      dedupe: [
        ["k", 1, 10],
        ["l", 2, 20],
      ],
    }),
  );
  const sent = { state: "pending", attempts: 1, nextAt: 2, createdAt: 3, target: { t: 1 }, payload: { p: 1 } };
  expect(JSON.parse(text)).toEqual({
    ...HEAD,
    ...{ person: "ann", stopped: { at: 1 }, lastHumanAt: 9 },
    messages: [
      { seq: 1, state: "waiting", message: { m: 1 } },
      { seq: 2, state: "taken", runId: "r", message: { m: 1 } },
    ],
    run: { id: "r", sessionId: "s", attempt: 2, step: 3, startedAt: 4, abort: { by: "x" }, body: { b: 1 } },
    deliveries: [
      { id: "d", ...sent },
      { id: "e", runId: "r", reason: "why", ...sent },
    ],
    approvals: [{ id: "p", n: 5, state: "pending", dueAt: 8 }],
    dedupe: [
      ["k", 1, 10],
      ["l", 2, 20],
    ],
  });
  // One key per line.
  expect(text).toContain('  "dedupe": [\n    ["k",1,10],\n    ["l",2,20]\n  ]\n}\n');
  expect(JSON.parse(pendingText(rows({ run: run as never }))).run).not.toHaveProperty("abort");
});

test("keys are read back from a pending.json, and none from one that is missing or broken", () => {
  expect(dedupeKeysIn(Buffer.from(pendingText(rows({ dedupe: [["k", 1, 10]] }))))).toEqual(["k"]);
  expect(dedupeKeysIn(Buffer.from('{"dedupe":[["a",1,2],[5],["b"]]}'))).toEqual(["a", "b"]);
  for (const text of [undefined, "{}", "{", "null", '{"dedupe":{}}'])
    expect(dedupeKeysIn(text === undefined ? undefined : Buffer.from(text)), text).toEqual([]);
});
