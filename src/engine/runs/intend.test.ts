/** Which calls of an answer start next: by their order, by what the gate says, by yeses and noes of people. */

import { describe, expect, it, test } from "vitest";
import { z } from "zod";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { RunId } from "../../core/ids.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { JudgedCall } from "../../core/ports/gate.ts";
import type { Approval, ApprovalId } from "../../core/rights/approval.ts";
import type { CallRecord } from "../../core/run/run.ts";
import type { Refusal } from "../../core/store/change.ts";
import { digestOf } from "../approvals/call-digest.ts";
import { CommitRefused } from "../commit/commit-refused.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import type { RunPorts } from "../runtime/run-ports.ts";
import { auditUnknown, commitIntent, intend } from "./intend.ts";

const ports = {
  tools: {
    list: () => [],
    // Lower case may run in parallel, upper case may not, any other name is an unknown tool.
    find: (_agent: unknown, name: string) =>
      /\w/.test(name) ? { parallel: name === name.toLowerCase(), input: z.looseObject({}) } : undefined,
  },
} as unknown as RunPorts;

/** `a` asked, `a*` intended, `a.` done. */
const calls = (text: string): CallRecord[] =>
  text.split(" ").map((word, index) => ({
    callId: String(index),
    name: word[0] ?? "",
    arguments: {},
    replay: "safe",
    state: word.endsWith("*") ? "intended" : word.endsWith(".") ? "done" : "asked",
  }));
const written = (records: readonly CallRecord[]): string =>
  records.map(({ name, state }) => `${name}${state === "intended" ? "*" : state === "done" ? "." : ""}`).join(" ");

describe("intend without a gate", () => {
  for (const [before, after] of [
    ["A", "A*"],
    ["a", "a*"],
    ["a b c", "a* b* c*"],
    ["A b c", "A* b c"],
    ["a b C d", "a* b* C d"],
    ["a. b. C d", "a. b. C* d"],
    ["A. b c", "A. b* c*"],
    ["A* b c", "A* b c"],
    ["a. b* c", "a. b* c"],
    ["A B", "A* B"],
    ["! a", "!* a*"],
    ["a. b.", ""],
    ["a B. c", "a* B. c*"],
  ] as const) {
    it(`marks ${before} as ${after}`, async () => {
      const next = await intend(ports, {} as AgentRecord, {} as LiveRun, calls(before));
      expect(written(next.calls)).toBe(after);
    });
  }
});

/** What the gate says of each call, by its name; a grant is an unused yes for a call, a denial a question that got a no. */
interface World {
  readonly says?: Readonly<Record<string, "allow" | "ask" | "deny">>;
  readonly grants?: readonly string[];
  readonly denials?: readonly Partial<Approval>[];
  readonly roots?: readonly string[];
  readonly waitEnds?: boolean;
}

const NOW = 1_000;
const of = (...roots: string[]) => ({ person: "ann" as PersonId, roots: roots as RunId[] });
const approvalFor = (call: CallRecord, more: Partial<Approval> = {}): Approval =>
  ({
    ...{ id: `y${call.name}`, digest: digestOf(call, {}), dueAt: NOW + 1, state: "approved", behalf: of() },
    ...more,
  }) as Approval;

function worldOf(all: readonly CallRecord[], { says = {}, grants = [], denials = [], roots }: World) {
  const asked: object[] = [];
  const judged = (call: CallRecord): JudgedCall => {
    const verdict = says[call.name] ?? "allow";
    const decision = { verdict, reason: `the test says ${verdict}` };
    return { call, decision, person: "ann", effects: [], acts: true };
  };
  const world = {
    ...ports,
    clock: { now: () => NOW },
    gate: {
      judge: async (_agent: unknown, _run: unknown, open: CallRecord[]) => ({ revision: 7, calls: open.map(judged) }),
    },
    store: {
      approval: async () => undefined,
      approvals: async (filter: object) => {
        asked.push(filter);
        return denials.map((one) => ({
          tool: "x",
          arguments: {},
          effects: [],
          decidedBy: "olga",
          behalf: of(),
          ...one,
        }));
      },
      openApprovals: async () =>
        all
          .filter((one) => grants.includes(one.name))
          .slice(0, 1)
          .map((one) => approvalFor(one)),
    },
  } as unknown as RunPorts;
  const run = { id: "r1", body: { behalf: { person: "ann", roots } }, allowed: new Map() } as unknown as LiveRun;
  const agent = { id: "a1", descriptor: { type: "user" }, state: {} } as AgentRecord;
  return { world, run, agent, asked };
}

async function intended(text: string, given: World = {}) {
  const all = calls(text);
  const { world, run, agent, asked } = worldOf(all, given);
  const intent = await intend(world, agent, run, all, { waitEnds: given.waitEnds });
  return {
    ...{ intent, asked, calls: written(intent.calls), ops: intent.ops.map(({ op }) => op) },
    named: intent.calls.map(({ approval }) => approval ?? "").join(","),
    held: intent.held.map(({ judged: { call } }) => call.name).join(" "),
    texts: intent.denials.map((entry) => (entry as unknown as { content: [{ text: string }] }).content[0].text),
  };
}

describe("the intent to start calls", () => {
  test.each<[string, string, World, object]>([
    ["nothing is open", "a. b.", {}, { calls: "", named: "", held: "", ops: [], texts: [] }],
    ["nothing is open, and one works", "a. b*", {}, { calls: "a. b*" }],
    ["all are allowed", "a b", {}, { calls: "a* b*", named: ",", ops: [] }],
    [
      "one is denied",
      "a b",
      { says: { a: "deny" } },
      { calls: "a. b*", ops: ["audit.add"], texts: ["Denied: a: the test says deny."] },
    ],
    ["all are denied", "a", { says: { a: "deny" } }, { calls: "", ops: ["audit.add"] }],
    ["one must be asked about", "a b", { says: { a: "ask" } }, { calls: "a b*", held: "a", ops: [], texts: [] }],
    [
      "one has a yes",
      "a b",
      { says: { a: "ask" }, grants: ["a"] },
      { calls: "a* b*", named: "ya,", held: "", ops: ["approval.use"] },
    ],
    [
      "one has a yes and another is before it: a call names its yes when it starts",
      "B a",
      { says: { a: "ask" }, grants: ["a"] },
      { calls: "B* a", named: ",", held: "", ops: [] },
    ],
    [
      "two are the same, with one yes: the second is asked about",
      "a a",
      { says: { a: "ask" }, grants: ["a"] },
      { calls: "a* a", named: "ya,", held: "a", ops: ["approval.use"] },
    ],
  ])("if %s", async (_title, text, world, expected) => {
    expect(await intended(text, world)).toMatchObject(expected);
  });

  it("names the revision of rights, and for each call that may start why", async () => {
    const { intent } = await intended("a b", { says: { a: "ask" }, grants: ["a"] });
    expect(intent.rights).toBe(7);
    expect(intent.allowed.map(({ call, decision }) => [call.name, decision.reason])).toEqual([
      ["a", "approval ya"],
      ["b", "the test says allow"],
    ]);
    expect((await intended("a. b.")).intent.rights).toBeUndefined();
  });

  it("marks the result of a call that does not start as an error", async () => {
    const { intent } = await intended("a b", {
      says: { a: "deny", b: "ask" },
      denials: [{ runId: "r1" as RunId, tool: "b" }],
    });
    expect(intent.denials).toMatchObject([
      { role: "tool", toolCallId: "0", toolName: "a", isError: true, runId: "r1", timestamp: NOW },
      { role: "tool", toolCallId: "1", toolName: "b", isError: true, runId: "r1", timestamp: NOW },
    ]);
  });

  test.each<[string, Partial<Approval>, readonly string[] | undefined, boolean]>([
    ["of this run", { runId: "r1" as RunId }, undefined, true],
    ["of this run, which others led to", { runId: "r1" as RunId }, ["r0"], true],
    ["of a run that led to this one", { runId: "r0" as RunId }, ["r0", "r9"], true],
    ["of another run that the same one led to", { runId: "r5" as RunId, behalf: of("r0") }, ["r0"], true],
    ["of a run that this one led to", { runId: "r5" as RunId, behalf: of("r8", "r1") }, undefined, true],
    ["of another task", { runId: "r5" as RunId, behalf: of("r4") }, ["r0"], false],
    ["of another task that nothing led to", { runId: "r5" as RunId }, undefined, false],
  ])("counts a no %s", async (_title, denial, roots, counts) => {
    const behalf = { person: "ann" as PersonId };
    const denials = [{ behalf, tool: "a", id: "no" as ApprovalId, ...denial }];
    const { texts, held, asked } = await intended("a", { says: { a: "ask" }, denials, roots });
    expect([texts.length, held]).toEqual(counts ? [1, ""] : [0, "a"]);
    if (counts) expect(texts[0]).toContain("olga denied approval no");
    expect(asked).toContainEqual({ person: "ann", states: ["denied"], limit: 200 });
  });

  it("does not look for noes if nothing must be asked about", async () => {
    expect((await intended("a", {})).asked).toEqual([]);
  });
});

describe("the audit log of calls whose outcome is not known", () => {
  const audited = (body: object, known?: Partial<JudgedCall>, gate: object | undefined = {}) => {
    const find = (_agent: unknown, name: string) =>
      ({ a: { rights: ["read"] }, b: { rights: ["read", "exec"] } })[name];
    const run = {
      id: "r1",
      body,
      allowed: new Map(known ? [["0", { effects: [], call: calls("b")[0], ...known }]] : []),
    };
    const agent = { id: "a1", descriptor: { type: "user" } };
    const rows = auditUnknown({ gate, tools: { find } } as never, agent as never, run as never, calls("b a x"), NOW);
    return rows.map((row) => row.op === "audit.add" && [row.entry.callId, row.entry.person, row.entry.reason]);
  };
  const decision = { verdict: "allow", reason: "approval y" } as const;

  test.each<[string, unknown[], unknown[]]>([
    ["without a gate", [{}, undefined, null], []],
    ["only of calls that may have done more than read", [{ behalf: { person: "ann" } }], [["0", "ann", undefined]]],
    ["for the person who wrote, in a run of an earlier version", [{ person: "test:7" }], [["0", "test:7", undefined]]],
    ["for no one", [{}], [["0", "no one", undefined]]],
    ["as it was judged", [{}, { acts: true, person: "bob", decision }], [["0", "bob", "approval y"]]],
    ["not of one that was judged to read", [{}, { acts: false, person: "bob", decision }], []],
  ])("%s", (_title, given, rows) => {
    const [body, known, gate] = given as [object, Partial<JudgedCall>?, object?];
    expect(audited(body, known, gate)).toEqual(rows);
  });
});

test.each<[Refusal | "unknown" | "thrown", boolean, number]>([
  ["rights", false, 5],
  ["rights", true, 5],
  ["conflict", true, 5],
  ["conflict", false, 1],
  ["missing", true, 1],
  ["session", true, 1],
  ["fenced", true, 1],
  ["unknown", true, 1],
  ["thrown", true, 1],
])("an intent that is refused as %s, with a yes: %s, is tried %d times", async (refused, hasYes, tries) => {
  const { world, run, agent } = worldOf(calls("a"), hasYes ? { says: { a: "ask" }, grants: ["a"] } : {});
  let commits = 0;
  const commit = async (): Promise<never> => {
    commits += 1;
    throw refused === "thrown" ? new TypeError("no") : new CommitRefused(refused, "no");
  };
  const lease = { record: agent, commit } as never;
  const committing = () => ({ site: "think", ops: [] }) as const;
  await expect(commitIntent(world, lease, run, calls("a"), committing)).rejects.toThrow("no");
  expect([commits, run.allowed.size]).toEqual([tries, 0]);
});
