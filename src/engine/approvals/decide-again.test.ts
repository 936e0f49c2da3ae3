/** An answer whose commit is refused: what has changed in between decides whether it is tried again. And what a yes for always is judged by. */
import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { recordingLog } from "../../../test/kit/log.ts";
import type { Grant } from "../../core/people/grant.ts";
import { OWNER, type PersonId } from "../../core/people/person.ts";
import type { Approval, ApprovalId } from "../../core/rights/approval.ts";
import { ruleSet } from "../../core/rights/rule-set.ts";
import { Approvals } from "./approvals.ts";

const ID = "kfmz" as ApprovalId;
const DETAIL = "something has changed";
const by = { person: OWNER, surface: "test" };
const row = (more: Partial<Approval> = {}): Approval =>
  ({
    ...{
      id: ID,
      agentId: "a1",
      runId: "r1",
      callId: "c1",
      tool: "exec",
      arguments: {},
      digest: "d1",
      prompt: "p",
      state: "pending",
    },
    ...{ behalf: { person: OWNER }, dueAt: Number.MAX_SAFE_INTEGER },
    effects: [{ action: "exec", rights: ["exec"], detail: { kind: "command", argv: ["git", "push"], cwd: "/" } }],
    ...more,
  }) as Approval;

interface Given {
  /** The question each time it is read; the last one repeats. */
  readonly rows?: readonly (Approval | undefined)[];
  /** How many commits are refused. */
  readonly refusals?: number;
  readonly agent?: object;
}

function world({ rows = [row()], refusals = 0, agent }: Given) {
  const seen: unknown[] = [];
  let [reads, commits] = [0, 0];
  const store = {
    approval: async () => rows[Math.min(reads++, rows.length - 1)],
    agent: async (id: string) => {
      seen.push(`agent ${id}`);
      return agent;
    },
    commit: async () =>
      ++commits > refusals ? { ok: true, results: [] } : { ok: false, refused: "conflict", detail: DETAIL },
  };
  const people = {
    revision: 1,
    personOf: (id: PersonId) => (id === "test:ann" ? ("ann" as PersonId) : id),
    record: () => undefined,
    standing: (person: PersonId) => ({ person, role: "owner", grants: [] as Grant[] }),
  };
  const host = {
    directory: { now: async () => people },
    emit: () => {},
    shared: false,
    claimFor: () => undefined,
    partiesOf: (...given: unknown[]) => {
      seen.push(given);
      return [{ rules: ruleSet([]) }];
    },
    ancestorsOf: async (one: object) => [{ above: one }],
  } as never;
  const ports = {
    store: store as never,
    ids: seededIds("decide"),
    clock: virtualClock(),
    log: recordingLog([]),
    connectors: new Map(),
  };
  return { approvals: new Approvals(ports, host), seen, commits: () => commits };
}

describe("an answer that is refused", () => {
  test.each<[string, Given, object, string | undefined, number]>([
    ["is given again", { refusals: 1 }, {}, undefined, 2],
    ["is given again with the digest that was shown", { refusals: 1 }, { digest: "d1" }, undefined, 2],
    ["is about another call", { refusals: 9 }, { digest: "d2" }, "about another call than the one you saw", 1],
    ["is given three times", { refusals: 9 }, {}, DETAIL, 3],
    ["came after another", { refusals: 9, rows: [row(), row({ state: "denied" })] }, {}, "is already denied", 1],
    [
      "came after another at the last try",
      { refusals: 9, rows: [...Array.from({ length: 5 }, () => row()), row({ state: "used", decidedBy: "bob" })] },
      {},
      "is already approved by bob",
      3,
    ],
    ["is about a question that is gone", { refusals: 9, rows: [row(), undefined] }, {}, "There is no approval kfmz", 1],
  ])("%s", async (_title, given, answer, problem, tries) => {
    const { approvals, commits } = world(given);
    const decided = approvals.decide(ID, { approve: true, ...answer }, by);
    if (problem === undefined) expect(await decided).toMatchObject({ id: ID, state: "approved" });
    else await expect(decided).rejects.toThrow(problem);
    expect(commits()).toBe(tries);
  });
});

describe("the rules that a yes for always is judged by", () => {
  const agent = { id: "a1", state: {} };

  it("are those of the agent, of everyone on the way and of the agents above, as they are now", async () => {
    const { approvals, seen } = world({ agent });
    await approvals.offers(row({ behalf: { person: OWNER, through: ["test:ann" as PersonId] } }));
    expect(seen).toEqual(["agent a1", [agent, [OWNER, "ann"], { ancestors: [{ above: agent }] }]]);
    expect((await world({ agent }).approvals.offers(row())).call).toMatchObject([
      { person: OWNER, allow: "call(exec:d1)" },
    ]);
    expect(await world({ agent }).approvals.decide(ID, { approve: true, always: "call" }, by)).toMatchObject({
      id: ID,
    });
  });

  it("are none if the agent is gone", async () => {
    const { approvals, seen } = world({ agent: undefined });
    const nothing = "no grant of a person asked for it";
    expect((await approvals.offers(row())).call).toEqual({ not: `No rule was stored: ${nothing}.` });
    await expect(approvals.decide(ID, { approve: true, always: "call" }, by)).rejects.toThrow(nothing);
    expect(seen).toEqual(["agent a1", "agent a1"]);
  });

  it("are not read for an answer to one call", async () => {
    const { approvals, seen } = world({ agent });
    await approvals.decide(ID, { approve: true }, by);
    expect(seen).toEqual([]);
  });
});
