/** The rows that a batch writes for each everyday op, whose row each belongs to, and what the owner claims with it. */
import { expect, test } from "vitest";
import type { Change } from "../../../core/store/change.ts";
import { batchWire } from "./batchable.ts";

const OWNER = { agentId: "a", node: 3, epoch: 4 };
const CLAIMS = { i: 1, agent: "a", node: 3, epoch: 4, even: false, lines: 0, gone: 0 };
const BEFORE = { id: "before", site: "s", at: 1, ops: [] };
const json = JSON.stringify;

/** The tables of a batch whose second change has this op after another one, without the row of that. */
function batched(op: object, owner?: object): Record<string, readonly object[]> {
  const ops = [{ op: "audit.add", entry: { at: 1, person: "p", action: "x" } }, op];
  const change = { id: "c", site: "s", at: 5_000.7, owner, ops } as unknown as Change;
  const { audit: _audit, now, ...tables } = JSON.parse(batchWire([BEFORE as unknown as Change, change]));
  expect(now).toBe(5_000);
  return tables;
}
const log = (rest: object = {}): object[] => [
  { i: 0, id: "before", at: 1, touched: [], ops: 0 },
  { i: 1, id: "c", at: 5_000, touched: ["a"], ops: 2, ...rest },
];
const body = { lane: "main", person: "ann\0", usage: { totalTokens: 4.9, cost: { total: 0.5 } } };
const run = { body: json(body), person: "ann\uFFFD", tokens: 4, cost: 0.5 };
const said = (kind: string) => ({ body: { kind }, acceptedAt: 9.9 });
const post = { i: 1, o: 1, at: 9, urgent: false, reset: false, human: false, person: false };

test.each<[string, object, object, object]>([
  ["a release", { op: "agent.release" }, { rel: 1 }, {}],
  ["a new session", { op: "session.begin", sessionId: "s" }, { begins: "s" }, {}],
  [
    "lines",
    { op: "entries.append", position: 7, lines: ["x\0", "y"], leaf: "e\0" },
    { pos: 7, lines: 2, leaf: "e\uFFFD" },
    {
      entries: [
        { agent: "a", pos: 7, line: "x\uFFFD" },
        { agent: "a", pos: 8, line: "y" },
      ],
    },
  ],
  ["another leaf", { op: "leaf.move", leaf: "e\0" }, { leaf: "e\uFFFD" }, {}],
  ["a state", { op: "state.put", state: { z: 1, a: 2 } }, {}, { states: [{ agent: "a", state: '{"z":1,"a":2}' }] }],
  [
    "taken messages",
    { op: "message.take", runId: "r\0", seqs: [4, 6], unlessResetAfter: 3 },
    { gone: 2, unless: 3 },
    {
      taken: [
        { agent: "a", seq: 4, run: "r\uFFFD", came: "waiting" },
        { agent: "a", seq: 6, run: "r\uFFFD", came: "waiting" },
      ],
    },
  ],
  [
    "settled messages, of which one has waited",
    {
      op: "message.settle",
      settlements: [
        { seq: 1, from: "taken", state: "failed", runId: "r\0", reason: "w\0" },
        { seq: 2, from: "waiting", state: "dropped" },
      ],
    },
    { gone: 1 },
    {
      settled: [
        { agent: "a", seq: 1, came: "taken", state: "failed", run: "r\uFFFD", reason: "w\uFFFD", at: 5_000 },
        { agent: "a", seq: 2, came: "waiting", state: "dropped", at: 5_000 },
      ],
    },
  ],
  [
    "a run that begins",
    { op: "run.open", runId: "r\0", body },
    { opens: "r\uFFFD" },
    { opened: [{ run: "r\uFFFD", agent: "a", at: 5_000, ...run }] },
  ],
  [
    "a run that goes on",
    { op: "run.step", runId: "r\0", body },
    { steps: "r\uFFFD" },
    { stepped: [{ run: "r\uFFFD", agent: "a", attempt: 1, came: "open", ...run }] },
  ],
  [
    "a run that is tried again",
    { op: "run.step", runId: "r", body: {}, attempt: 3 },
    { steps: "r" },
    { stepped: [{ run: "r", agent: "a", attempt: 3, came: "open", body: "{}" }] },
  ],
  [
    "a run that ends",
    { op: "run.end", runId: "r\0", body, outcome: "ok" },
    { ends: "r\uFFFD" },
    { ended: [{ run: "r\uFFFD", agent: "a", outcome: "ok", at: 5_000, came: "open", ...run }] },
  ],
  [
    "a delivery",
    {
      op: "delivery.add",
      delivery: { id: "d\0", runId: "r\0", target: { to: "t" }, payload: { z: 1, a: 2 }, createdAt: 4.9 },
    },
    {},
    {
      owed: [
        { id: "d\uFFFD", agent: "a", run: "r\uFFFD", at: 4, target: expect.any(String), payload: '{"z":1,"a":2}' },
      ],
    },
  ],
  [
    "a delivery that has ended",
    {
      op: "delivery.add",
      delivery: { id: "d", target: { to: "t" }, payload: {}, createdAt: 4, ended: { state: "failed", reason: "w\0" } },
    },
    {},
    {
      owed: [
        {
          ...{ id: "d", agent: "a", state: "failed", at: 4, ended: 5_000, reason: "w\uFFFD" },
          ...{ target: expect.any(String), payload: "{}" },
        },
      ],
    },
  ],
  [
    "a delivery that waits",
    {
      op: "delivery.add",
      delivery: {
        id: "d",
        target: { to: "t" },
        payload: {},
        createdAt: 4,
        waits: { state: "unroutable", reason: "w" },
      },
    },
    {},
    {
      owed: [
        { id: "d", agent: "a", state: "unroutable", at: 4, reason: "w", target: expect.any(String), payload: "{}" },
      ],
    },
  ],
])("%s", (_, op, claims, rows) => {
  expect(batched(op, OWNER)).toEqual({ ...rows, owners: [{ ...CLAIMS, ...claims }], changes: log() });
});

test.each<[string, object, object, object]>([
  [
    "a person's message to an agent",
    { op: "message.post", to: { agentId: "b\0" }, message: said("user") },
    {
      posts: [
        { ...post, agent: "b\uFFFD", human: true, person: true, message: '{"body":{"kind":"user"},"acceptedAt":9.9}' },
      ],
    },
    { touched: ["b\0"] },
  ],
  [
    "a reset to a session, once, for a node that claims it",
    {
      ...{ op: "message.post", to: { sessionKey: "k\0" }, message: said("reset"), claimFor: 6 },
      ...{ dedupe: { key: "d\0", keepUntil: 7.9 }, request: { by: "key", key: "q\0", digest: "g\0", keepUntil: 8.9 } },
    },
    {
      requests: [{ request: "q\uFFFD", digest: "g\uFFFD", at: 5_000 }],
      posts: [
        {
          ...{
            ...post,
            key: "k\uFFFD",
            urgent: true,
            reset: true,
            message: '{"body":{"kind":"reset"},"acceptedAt":9.9}',
          },
          ...{ dedupe: "d\uFFFD", keep: 7, claim: 6, request: "q\uFFFD", digest: "g\uFFFD", request_keep: 8 },
        },
      ],
    },
    { touched: [], also: "posted" },
  ],
  [
    "a delivery that moves",
    { op: "delivery.move", id: "d\0", from: "pending", attempts: 2, to: "sending" },
    { moved: [{ i: 1, id: "d\uFFFD", came: "pending", attempts: 2, state: "sending", at: 5_000 }] },
    { touched: [], also: "moved" },
  ],
  [
    "a delivery that is tried later",
    {
      ...{ op: "delivery.move", id: "d", from: "sending", attempts: 2, to: "pending", nextAt: 0.9, reason: "w\0" },
      ...{ receipt: "x\0", node: 0 },
    },
    {
      moved: [
        {
          ...{ i: 1, id: "d", came: "sending", attempts: 2, state: "pending", next: 0, reason: "w\uFFFD" },
          ...{ receipt: "x\uFFFD", node: 0, at: 5_000 },
        },
      ],
    },
    { touched: [], also: "moved" },
  ],
  [
    "a fact that must be new",
    { op: "fact.put", key: "k\0", value: "v\0", expect: null },
    { facts: [{ key: "k\uFFFD", value: "v\uFFFD", expect: [null] }] },
    { touched: [] },
  ],
  [
    "an answered request",
    { op: "request.finish", key: "q\0", agentId: "b\0", seq: 5 },
    { finished: [{ key: "q\uFFFD", agent: "b\uFFFD", seq: 5 }] },
    { touched: [] },
  ],
])("%s needs no owner", (_, op, rows, logged) => {
  expect(batched(op)).toEqual({ ...rows, changes: log(logged) });
});

test("what an owner claims: its session, its run and step, and a revision of rights", () => {
  const owner = { ...OWNER, sessionId: "s", run: { id: "r\0", step: 0 }, rights: 0 };
  expect(batched({ op: "agent.release" }, owner)).toEqual({
    owners: [{ ...CLAIMS, session: "s", run: "r\uFFFD", step: 0, rel: 1 }],
    rights: [{ revision: 0 }],
    changes: log(),
  });
  const even = batched({ op: "agent.release" }, { ...OWNER, run: { id: "r", step: 2, evenAborted: true } });
  expect(even.owners).toEqual([{ ...CLAIMS, run: "r", step: 2, even: true, rel: 1 }]);
});

test("messages taken and settled by one change are counted together", () => {
  const take = { op: "message.take", runId: "r", seqs: [1, 2] };
  const settle = { op: "message.settle", settlements: [{ seq: 3, from: "waiting", state: "dropped" }] };
  for (const ops of [
    [take, settle],
    [settle, take],
  ]) {
    const change = { id: "c", site: "s", at: 1, owner: OWNER, ops } as unknown as Change;
    expect(JSON.parse(batchWire([change])).owners).toMatchObject([{ gone: 3 }]);
  }
});
