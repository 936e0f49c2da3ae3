/** What an actor does next when a commit fails or the world changes in between: nothing is told before it is durable. */
import { describe, expect, it, test } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { gate } from "../../../../test/kit/gate.ts";
import { inTurn } from "../../../../test/kit/model.ts";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import type { AgentId, ChangeId } from "../../../core/ids.ts";
import type { MessageBody } from "../../../core/message/message.ts";
import type { Change, Op } from "../../../core/store/change.ts";
import type { AcceptResult } from "../../inbox/accept.ts";

const GUIDE: AgentDescriptor = {
  ...{ type: "permanent", id: "9".repeat(24), name: "guide", description: "old", systemPrompt: "old prompt" },
};
const settles = ({ ops }: Pick<Change, "ops">): boolean => ops.some(({ op }) => op === "message.settle");
function accepted(result: AcceptResult): Exclude<AcceptResult, { status: "stale" }> {
  if (result.status === "stale") throw new TypeError("not accepted");
  return result;
}
let changes = 0;
const put = (engine: TestEngine, commit: TestEngine["store"]["commit"], ...ops: Op[]) =>
  commit({ id: `test-${++changes}` as ChangeId, site: "test", at: engine.clock.now(), ops });

describe("a message that needs no run", () => {
  const CASES: Record<string, MessageBody> = {
    "a setting": { kind: "setting", patch: { verboseLevel: "on" } },
    "a description": { kind: "describe", by: "owner", description: "new", systemPrompt: "new prompt" },
    "a question about children": { kind: "subagents", command: "list" },
    "a command": { kind: "command", name: "status", text: "" },
    "a way back": { kind: "branch", entryId: "" },
    "a reset": { kind: "reset", by: "person" },
    "a stop": { kind: "stop" },
    "a silent note": { kind: "system", text: "note", silent: true },
  };

  test.each(Object.entries(CASES))(
    "is not settled for anyone before its commit, which comes once: %s",
    async (_name, body) => {
      const engine = await TestEngine.open();
      const to = body.kind === "describe" ? { descriptor: GUIDE } : engine.person().to;
      const first = accepted(await engine.system.post({ to, body: { kind: "user", text: "hi" } }));
      await engine.settle();
      const entry = (await engine.entries(first.agentId)).find(({ role }) => role === "user");
      const asked = body.kind === "branch" ? { ...body, entryId: entry?.id as string } : body;
      let failed = 0;
      engine.onCommit = (change) => (settles(change) && failed++ === 0 ? "full" : "go");
      const before = engine.commits.length;
      let told = false;
      const answer = engine.system.postAndAwait({ to, body: asked }).then(() => {
        told = true;
      });
      await engine.settle();
      expect([failed, told]).toEqual([1, false]);
      await engine.advance(200);
      await answer;
      expect(engine.commits.slice(before).filter(settles)).toHaveLength(1);
      const [last] = await engine.store.messages(first.agentId, { limit: 1 });
      expect(last).toMatchObject({ state: "recorded" });
      if (body.kind === "describe") {
        expect((await engine.store.agent(first.agentId))?.descriptor).toMatchObject({ description: "new" });
      }
    },
  );
});

describe("a question between two steps of a run", () => {
  test.each<[string, MessageBody]>([
    ["a command", { kind: "command", name: "status", text: "" }],
    ["a setting", { kind: "setting", patch: { verboseLevel: "off" } }],
  ])("is answered once, also if its commit fails first: %s", async (_name, body) => {
    const hold = gate<string>();
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "work" }] }, "done"),
      tools: { work: { execute: () => hold.promise } },
    });
    await engine.tell("go");
    let told = false;
    const asked = engine.system.postAndAwait({ to: engine.person().to, body }).then(() => {
      told = true;
    });
    await engine.settle();
    let failed = 0;
    const sites = new Set(["command", "setting", "settings"]);
    engine.onCommit = (change) => {
      const isAnswer = settles(change) && sites.has(change.site);
      return isAnswer && failed++ === 0 ? "full" : "go";
    };
    hold.open("worked");
    await engine.settle();
    expect([failed, told]).toEqual([1, false]);
    await engine.advance(200);
    await asked;
    expect(engine.shown()).toEqual(["done"]);
    expect(engine.executions).toHaveLength(1);
    expect(await engine.states()).toEqual(["answered", "recorded"]);
  });
});

describe("a stop that comes between a choice and its commit", () => {
  it("of a parent ends what its child would have begun: the message is settled and no run begins", async () => {
    const engine = await TestEngine.open();
    await engine.tell("hi");
    const parentAgentId = await engine.agentId();
    const child: AgentDescriptor = { type: "subagent", id: "kid", parentAgentId, name: "kid" };
    const commit = engine.store.commit;
    let stopped = false;
    engine.store.commit = async (change) => {
      if (change.site === "take" && !stopped) {
        stopped = true;
        const mark = { reason: "person", at: engine.clock.now() } as const;
        await put(engine, commit, { op: "agent.stop", agentId: parentAgentId, mark });
      }
      return commit(change);
    };
    const work = { to: { descriptor: child }, body: { kind: "user", text: "work" } } as const;
    const { agentId } = accepted(await engine.system.post(work));
    await engine.settle();
    expect(stopped).toBe(true);
    expect(await engine.states(agentId)).toEqual(["aborted"]);
    expect(await engine.runs(agentId)).toEqual([]);
    expect(engine.requests).toHaveLength(1);
    expect(await engine.store.busyAgents({ limit: 10 })).toEqual([]);
  });
});

describe("an agent whose commands run on another node", () => {
  it("works here at once if that node ends before the agent is handed to it", async () => {
    const engine = await TestEngine.open({
      system: { rights: { rules: { nodeOf: () => "builder" } as never } },
    });
    const commit = engine.store.commit;
    const joined = await put(engine, commit, {
      ...{ op: "node.join", name: "builder", leaseUntil: engine.clock.now() + 3600_000 },
    });
    const [node] = joined.ok ? joined.results : [];
    if (node?.op !== "node.join") throw new TypeError("no node");
    let handed = 0;
    engine.store.commit = async (change) => {
      if (change.site === "hand") {
        handed += 1;
        await put(engine, commit, { op: "node.leave", node: node.node });
      }
      return commit(change);
    };
    await engine.tell("go");
    expect(handed).toBe(1);
    expect(engine.shown()).toEqual(["answer to go"]);
    expect((await engine.runs())[0]?.agentId).toBe((await engine.agentId()) as AgentId);
  });
});
