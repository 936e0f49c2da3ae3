/** Who gets a report of a child, and what it says: tables over a store made of records. */

import { describe, expect, test } from "vitest";
import { testSettings } from "../../../test/kit/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import type { RunId } from "../../core/ids.ts";
import type { Message } from "../../core/message/message.ts";
import type { RunResult } from "../../core/run/run.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import { type Made, NOW, world } from "./agents-by-name.test-kit.ts";
import { endOfRun, endWithoutRun } from "./report.ts";

describe("the report of a child", () => {
  const record = (more: Partial<SubagentRunRecord> = {}): SubagentRunRecord =>
    ({
      ...{
        runId: "run",
        childAgentId: "kid",
        requesterAgentId: "mum",
        requesterSessionKey: "key:mum",
        task: "dig",
        childSessionKey: "key:kid",
      },
      ...{ requesterDisplayKey: "mum", cleanup: "keep", createdAt: 1, startedAt: 1, ...more },
    }) as SubagentRunRecord;
  const written: [string, string][] = [];
  const ports = (made: ReturnType<typeof world>, write?: () => Promise<string>, archiveAfterMinutes = 60) => ({
    settings: testSettings({ subagents: { archiveAfterMinutes } }),
    store: made.store,
    clock: { now: () => NOW } as never,
    log: { warn: () => {} } as never,
    files: {
      write:
        write ??
        (async (name: string, text: string) => {
          written.push([name, text]);
          return `/f/${name}`;
        }),
    } as never,
    people: {
      personOf: async ({ id }: AgentRecord) => (id === "mum" ? "ann" : undefined),
      foregroundOf: async (person: string) => (person === "ann" ? made.record("other") : undefined),
      routeOf: ({ id }: AgentRecord) => (id === "other" ? { channel: "test", to: "other" } : undefined),
    } as never,
  });
  const family = (more: Record<string, Made> = {}): Record<string, Made> => ({
    mum: {},
    kid: { parent: "mum" },
    ...more,
  });
  const end = async (
    result: Partial<RunResult>,
    of: SubagentRunRecord = record(),
    agents = family(),
    more: { minutes?: number; write?: () => Promise<string>; runs?: Partial<SubagentRunRecord>[] } = {},
  ) => {
    const made = world(agents, [of, ...(more.runs ?? [])]);
    const run = { id: "run" as RunId, startedAt: NOW - 90_000, body: { person: "p" } } as unknown as LiveRun;
    const given = { outcome: "ok", payloads: [{ text: "found it" }], meta: {}, ...result } as unknown as RunResult;
    const ops = await endOfRun(ports(made, more.write, more.minutes), made.record("kid"), run, given);
    const post = ops.find((op) => op.op === "message.post");
    const put = ops.find((op) => op.op === "subagent.put");
    return {
      ops: ops.map(({ op }) => op),
      post: post?.op === "message.post" ? post : undefined,
      body: post?.op === "message.post" && post.message.body.kind === "report" ? post.message.body : undefined,
      put: put?.op === "subagent.put" ? put : undefined,
    };
  };

  test("is one message to its requester and the ended record", async () => {
    const { ops, post, put, body } = await end(
      {},
      record({ behalf: { person: "ann" } as never, requesterOrigin: { channel: "c", to: "t" } }),
    );
    expect(ops).toEqual(["message.post", "subagent.put"]);
    expect(post).toMatchObject({
      to: { agentId: "mum" },
      message: { acceptedAt: NOW, behalf: { person: "ann" }, delivery: { channel: "c", to: "t" } },
    });
    expect(body).toMatchObject({ childId: "kid", childRunId: "run", person: "p" });
    expect(body?.silent).toBeUndefined();
    expect(body?.text).toContain("found it");
    expect(put).toMatchObject({
      expect: "open",
      record: {
        ...{
          endedAt: NOW,
          outcome: { status: "ok" },
          cleanupHandled: true,
          cleanupCompletedAt: NOW,
          reportedTo: "mum",
        },
        ...{ archiveAtMs: NOW + 60 * 60_000, startedAt: NOW - 90_000 },
      },
    });
  });

  test("is not made twice, nor for a run that no spawn waits for, nor for an agent that is no child", async () => {
    expect((await end({}, record({ endedAt: 5 }))).ops).toEqual([]);
    expect((await end({}, record({ runId: "other" }))).ops).toEqual([]);
    expect((await end({}, record(), { mum: {}, kid: {} })).ops).toEqual([]);
  });

  test.each<[string, Partial<RunResult>, object, string]>([
    [
      "time",
      { outcome: "timeout", meta: { error: { message: "too slow" } } as never },
      { status: "timeout", error: "too slow" },
      "it timed out",
    ],
    ["time without an error", { outcome: "timeout" }, { status: "timeout" }, "it timed out"],
    [
      "time with an empty error",
      { outcome: "timeout", meta: { error: { message: "" } } as never },
      { status: "timeout" },
      "it timed out",
    ],
    [
      "an empty error",
      { outcome: "error", meta: { error: { message: "" } } as never },
      { status: "error" },
      "its run failed",
    ],
    ["a loss", { outcome: "lost" }, { status: "unknown" }, "it was lost"],
    [
      "an error",
      { outcome: "error", meta: { error: { message: "boom" } } as never },
      { status: "error", error: "boom" },
      "its run failed",
    ],
    ["an abort", { outcome: "aborted" }, { status: "error", error: "it was aborted" }, "it was aborted"],
  ])("ended by %s says so", async (_title, result, outcome, reason) => {
    const { put, body } = await end({ payloads: [], ...result });
    expect(put?.record.outcome).toEqual({ error: undefined, ...outcome });
    expect(body?.text).toContain(reason);
  });

  test("ended by a stop says who stopped it", async () => {
    const stopped = { more: { stopped: { at: 1, reason: "enough" } } };
    const { put } = await end(
      { outcome: "aborted", payloads: [] },
      record(),
      family({ kid: { parent: "mum", ...stopped } }),
    );
    expect(put?.record.outcome).toEqual({ status: "error", error: "it was stopped: enough" });
  });

  test.each<[string, boolean]>([
    ["ANNOUNCE_SKIP", true],
    [" ANNOUNCE_SKIP\n", true],
    ["NO_REPLY", true],
    ["Really ANNOUNCE_SKIP it", false],
    ["found", false],
  ])("%j is silent: %s", async (text, silent) => {
    expect((await end({ payloads: [{ text }] })).body?.silent).toBe(silent || undefined);
  });

  test("of a failure names the child, also if the record does not", async () => {
    const { body } = await end({ outcome: "error", payloads: [] }, record({ childAgentId: undefined }));
    expect(body?.text).toContain("Subagent the kid (kid) failed");
    expect(body?.childId).toBe("kid");
  });

  test("of a failure is never silent", async () => {
    expect((await end({ outcome: "error", payloads: [{ text: "NO_REPLY" }] })).body?.silent).toBeUndefined();
  });

  test("keeps long findings in a file", async () => {
    const fits = await end({ payloads: [{ text: "x".repeat(8_000) }] });
    expect(fits.body?.text).toContain("x".repeat(8_000));
    expect(fits.body?.text).not.toContain("characters shown");
    const long = await end({ payloads: [{ text: "x".repeat(8_001) }] });
    expect(long.body?.text).toContain("(8000 of 8001 characters shown, all of it is in /f/report-run.txt)");
    expect(written.at(-1)).toEqual(["report-run.txt", "x".repeat(8_001)]);
    const full = await end({ payloads: [{ text: "x".repeat(8_001) }] }, record(), family(), {
      write: async () => Promise.reject(new Error("full")),
    });
    expect(full.body?.text).toContain("the rest could not be stored)");
  });

  test.each<[string, Partial<SubagentRunRecord>, number, number | undefined, number | undefined]>([
    ["kept for an hour", {}, 60, NOW + 3_600_000, NOW],
    ["kept for less than a minute", {}, 0.5, NOW + 60_000, NOW],
    ["kept for ever", {}, 0, undefined, NOW],
    ["kept for ever, with a time it had", { archiveAtMs: 7 }, 0, 7, NOW],
    ["deleted at once", { cleanup: "delete" }, 60, NOW, undefined],
  ])("a child is %s", async (_title, more, minutes, archiveAtMs, completed) => {
    const { put } = await end({}, record(more), family(), { minutes });
    expect([put?.record.archiveAtMs, put?.record.cleanupCompletedAt]).toEqual([archiveAtMs, completed]);
  });

  describe("goes", () => {
    const removed = { more: { stopped: { at: 1, reason: "x", removed: true } } };
    const stopped = { more: { stopped: { at: 1, reason: "x" } } };
    test.each<
      [string, Record<string, Made>, Partial<SubagentRunRecord>, Partial<SubagentRunRecord>[], object | undefined]
    >([
      ["to its requester", family(), {}, [], { agentId: "mum", delivery: { channel: "person", to: "key:mum" } }],
      ["to its requester by its key", family(), { requesterAgentId: undefined }, [], { agentId: "mum" }],
      [
        "to the nearest living above",
        family({ gran: {}, mum: { parent: "gran", ...removed } }),
        {},
        [],
        { agentId: "gran", delivery: { channel: "person", to: "key:gran" } },
      ],
      [
        "to its requester by its id, whatever its key is now",
        family({ other: {} }),
        { requesterSessionKey: "key:other" },
        [],
        { agentId: "mum" },
      ],
      [
        "to the nearest living above, which does not answer where the requester was asked",
        family({ gran: {}, mum: { parent: "gran", ...removed } }),
        { requesterOrigin: { channel: "c", to: "t" } },
        [],
        { agentId: "gran", delivery: { channel: "person", to: "key:gran" } },
      ],
      [
        "past a requester that has reported itself",
        family({ gran: {}, mum: { parent: "gran" } }),
        {},
        [{ runId: "m", requesterSessionKey: "key:gran", childAgentId: "mum", endedAt: 5 }],
        { agentId: "gran" },
      ],
      [
        "to a requester that has not",
        family({ gran: {}, mum: { parent: "gran" } }),
        {},
        [
          { runId: "m", requesterSessionKey: "key:gran", childAgentId: "mum", endedAt: 5 },
          { runId: "n", requesterSessionKey: "key:gran", childAgentId: "mum" },
        ],
        { agentId: "mum", delivery: undefined },
      ],
      ["to a stopped conversation, asleep", family({ mum: stopped }), {}, [], { agentId: "mum", silent: true }],
      [
        "to another conversation of its person",
        family({ mum: removed, other: {} }),
        {},
        [],
        { agentId: "other", delivery: { channel: "test", to: "other" } },
      ],
      [
        "to another that is stopped, asleep",
        family({ mum: removed, other: stopped }),
        {},
        [],
        { agentId: "other", silent: true },
      ],
      ["nowhere if no one is left", family({ mum: removed }), {}, [], undefined],
      ["nowhere if its requester is unknown", { kid: { parent: "mum" }, other: {} }, {}, [], undefined],
    ])("%s", async (_title, agents, more, runs, expected) => {
      const { post, put, body } = await end({}, record(more), agents, { runs });
      if (!expected) {
        expect(post).toBeUndefined();
        expect(put?.record).toMatchObject({
          reportDropped: expect.stringContaining("requester was removed"),
          endedAt: NOW,
        });
        return;
      }
      const { agentId, silent, ...rest } = expected as { agentId: string; silent?: true; delivery?: object };
      expect(post?.to).toEqual({ agentId });
      expect(body?.silent).toBe(silent);
      expect(put?.record.reportedTo).toBe(agentId);
      if ("delivery" in rest) expect(post?.message.delivery).toEqual(rest.delivery);
    });
  });

  test("of a child that never began says why, once per promised run", async () => {
    const made = world(family(), [record(), record({ runId: "done", endedAt: 5 })]);
    const messages = [{ asRun: "run" }, { asRun: "done" }, {}, { asRun: "none" }] as unknown as Message[];
    const ops = await endWithoutRun(ports(made), made.record("kid"), messages, "dropped by olga");
    expect(ops.map(({ op }) => op)).toEqual(["message.post", "subagent.put"]);
    expect(JSON.stringify(ops)).toContain("it never began: dropped by olga");
    expect(ops[1]).toMatchObject({ record: { outcome: { status: "error", error: "dropped by olga" }, startedAt: 1 } });
    expect(await endWithoutRun(ports(made), made.record("mum"), messages, "x")).toEqual([]);
  });
});
