/** Waits for answers: of a run for another agent, over faults of the store, and of callers that come late. */
import { describe, expect, it, test } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { lastText, type Reply } from "../../../test/kit/model.ts";
import type { CommitOutcome } from "../../../test/kit/store.ts";
import type { Change } from "../../core/store/change.ts";
import type { AcceptResult } from "../inbox/accept.ts";

function accepted(result: AcceptResult): Exclude<AcceptResult, { status: "stale" }> {
  if (result.status === "stale") throw new TypeError("not accepted");
  return result;
}
const asks = ({ ops }: Pick<Change, "ops">): boolean => ops.some(({ op }) => op === "wait.begin");

/** Ann's agent asks Bo's once with a tool, then says what it heard. `last`: holds its last answer. */
async function asking(key: (callId: string) => string | undefined, last?: Promise<Reply>) {
  const engine: TestEngine = await TestEngine.open({
    script: ({ request }) => {
      if (lastText(request) === "question") return "an answer";
      if (request.messages.at(-1)?.role !== "tool") return { call: [{ name: "ask" }] };
      return last ?? `heard ${lastText(request, "tool")}`;
    },
    tools: {
      ask: {
        execute: async (_input, { agentId, callId, signal }) => {
          const { result } = await engine.system.postAndAwait(
            { to: engine.person("bo").to, body: { kind: "user", text: "question" }, key: key(callId) },
            { from: agentId, signal, timeoutMs: 3600_000 },
          );
          return result?.payloads[0]?.text ?? "nothing";
        },
      },
    },
  });
  return engine;
}

describe("a run that asks another agent", () => {
  test.each<[CommitOutcome, number, string]>([
    ["unknown-lost", 2, "heard an answer"],
    ["unknown-applied", 1, "heard an answer"],
    ["throw", 1, "heard the store is confused"],
  ])("tries again with the same key if the store may have lost the question (%s)", async (outcome, tries, said) => {
    const engine = await asking((callId) => callId);
    let tried = 0;
    engine.onCommit = (change) => (asks(change) && ++tried === 1 ? outcome : "go");
    await engine.tell("go");
    await engine.advance(5_000);
    expect(engine.shown()).toEqual([said]);
    expect(tried).toBeLessThanOrEqual(tries);
    if (outcome !== "throw") expect(await engine.states(await engine.agentId("bo"))).toEqual(["answered"]);
  });

  it("asks five times at most", async () => {
    const engine = await asking((callId) => callId);
    let tried = 0;
    engine.onCommit = (change) => {
      if (!asks(change)) return "go";
      tried += 1;
      return "unknown-lost";
    };
    await engine.tell("go");
    await engine.advance(60_000);
    expect(tried).toBe(5);
    expect(engine.shown()).toEqual(["heard the outcome is unknown"]);
  });

  it("asks once without a key, because a second question could be another message", async () => {
    const engine = await asking(() => undefined);
    let tried = 0;
    engine.onCommit = (change) => {
      if (!asks(change)) return "go";
      tried += 1;
      return "unknown-lost";
    };
    await engine.tell("go");
    await engine.advance(60_000);
    expect(tried).toBe(1);
    expect(engine.shown()).toEqual(["heard the outcome is unknown"]);
  });

  it("no longer waits for it once it has the answer, while it still works", async () => {
    const hold = gate<Reply>();
    const engine = await asking((callId) => callId, hold.promise);
    await engine.tell("go");
    expect(engine.executions).toHaveLength(1);
    expect((await engine.runs())[0]?.state).toBe("open");
    expect(await engine.store.waits({ limit: 10 })).toEqual([]);
    hold.open("done");
    await engine.settle();
    expect(engine.shown()).toEqual(["done"]);
  });
});

describe("a caller that comes late", () => {
  test.each([
    [true, 20_000],
    [false, 60_000],
  ])("waits no longer than from the acceptance, if it says so (%s)", async (sinceAccepted, leftMs) => {
    const engine = await TestEngine.open({ script: () => new Promise<never>(() => {}) });
    const request = { ...engine.person(), body: { kind: "user", text: "go" }, key: "k" } as const;
    await engine.system.post(request);
    await engine.advance(40_000);
    let failed: unknown;
    void engine.system.postAndAwait(request, { timeoutMs: 60_000, sinceAccepted }).catch((error) => {
      failed = error;
    });
    await engine.advance(leftMs - 1);
    expect(failed).toBeUndefined();
    await engine.advance(1);
    expect(failed).toMatchObject({ code: "timeout" });
  });

  it("whose time is over already is told at once", async () => {
    const engine = await TestEngine.open({ script: () => new Promise<never>(() => {}) });
    const request = { ...engine.person(), body: { kind: "user", text: "go" }, key: "k" } as const;
    await engine.system.post(request);
    await engine.advance(40_000);
    const late = engine.system.postAndAwait(request, { timeoutMs: 5_000, sinceAccepted: true });
    const told = expect(late).rejects.toMatchObject({ code: "timeout" });
    await engine.advance(0);
    await told;
  });

  it("gets the answer of a message that was settled before at once, without time passing", async () => {
    const engine = await TestEngine.open();
    const { agentId, seq } = accepted(await engine.tell("go"));
    let text: string | undefined;
    void engine.system.waitForMessage({ agentId, seq }, 60_000).then(({ result }) => {
      text = result?.payloads[0]?.text;
    });
    await engine.settle();
    expect(text).toBe("answer to go");
  });

  it("reads how a message ended that no run took", async () => {
    const engine = await TestEngine.open();
    await engine.tell("go");
    const { agentId, seq } = accepted(await engine.send({ kind: "system", text: "note", silent: true }));
    await engine.tell("and");
    const answer = engine.system.waitForMessage({ agentId, seq }, 60_000);
    await engine.settle();
    expect(await answer).toMatchObject({ result: undefined, ended: { state: expect.any(String) } });
  });
});
