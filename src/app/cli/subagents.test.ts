import { describe, expect, it } from "vitest";
import type { AgentSeed } from "../../core/agent/agent.ts";
import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import { AT, cliHome, TERMINAL } from "./cli.test-kit.ts";
import { EXIT } from "./exit-code.ts";

const RUN = "01900000-0000-7000-8000-000000000001";

let parent: AgentSeed;
let child: AgentSeed;

const record = (more: Partial<SubagentRunRecord> = {}): SubagentRunRecord => ({
  runId: RUN,
  childSessionKey: child.sessionKey,
  requesterSessionKey: parent.sessionKey,
  requesterDisplayKey: "main",
  task: "dig deep",
  label: "digger",
  cleanup: "keep",
  createdAt: AT,
  childAgentId: child.id,
  requesterAgentId: parent.id,
  ...more,
});

const { run, inStore, commit } = cliHome({
  async setup(home) {
    parent = await home.make(TERMINAL);
    child = await home.make({ type: "subagent", id: "c1", parentAgentId: parent.id, name: "digger" });
    await home.commit([{ op: "subagent.put", record: record() }]);
  },
});

describe("rookery agents subagents", () => {
  it("lists all subagents, and those of one agent", async () => {
    expect((await run("agents", "subagents")).out).toMatch(/^1 at work, 0 ended\.\n1\. digger: waiting \(.*\)\n$/u);
    expect(JSON.parse((await run("agents", "subagents", "list", parent.id, "--json")).out)).toEqual({
      items: [record()],
      next: null,
    });
    expect((await run("agents", "subagents", "list", child.id)).out).toBe("No children.\n");
  });

  it.each(["1", RUN, "digger", "01900000-0000"])("shows the subagent %s", async (who) => {
    expect(JSON.parse((await run("agents", "subagents", "show", who)).out)).toMatchObject({
      label: "digger",
      state: "waiting",
    });
  });

  it("reports an unknown subagent", async () => {
    expect(await run("agents", "subagents", "show", "unknown")).toMatchObject({
      code: EXIT.failure,
      err: expect.stringContaining('There is no child "unknown".'),
    });
  });

  it("messages, stops and releases a subagent", async () => {
    expect((await run("agents", "subagents", "send", "digger", "hurry", "up")).out).toBe(
      "digger will get the message.\n",
    );
    expect(await run("agents", "subagents", "release", "digger")).toMatchObject({ code: EXIT.failure });
    expect((await run("agents", "subagents", "stop", "1")).code).toBe(EXIT.ok);
    const [waiting, stopped] = await inStore(async (store) => [
      await store.waiting(child.id, { limit: 9 }),
      (await store.agent(child.id))?.stopped,
    ]);
    expect((waiting as readonly { body: object }[]).map(({ body }) => body)).toEqual([
      { kind: "system", text: "hurry up" },
      { kind: "stop" },
    ]);
    expect(stopped).toMatchObject({ reason: "stopped by a person", seq: 2 });
    await commit([{ op: "subagent.put", record: record({ endedAt: AT }) }]);
    expect((await run("agents", "subagents", "release", "digger", "--json")).out).toBe(`{"runId":"${RUN}"}\n`);
    expect((await run("agents", "subagents")).out).toBe("No children.\n");
  });
});

describe("rookery agents", () => {
  it("stops, starts and removes an agent", async () => {
    const mark = () => inStore(async (store) => (await store.agent(parent.id))?.stopped);
    expect((await run("agents", "stop", "main")).out).toBe("main is stopped, with all agents it started.\n");
    expect(await mark()).toMatchObject({ reason: "stopped by the owner of the home" });
    await run("agents", "start", "main");
    expect(await mark()).toBeUndefined();
    expect((await run("agents", "remove", "main")).code).toBe(EXIT.ok);
    expect(await mark()).toMatchObject({ removed: true });
  });

  it("does not remove an agent that has work", async () => {
    const message = { body: { kind: "user", text: "x" }, acceptedAt: AT } as const;
    await commit([{ op: "message.post", to: { agentId: parent.id }, message }]);
    expect(await run("agents", "remove", "main")).toMatchObject({ code: EXIT.failure });
  });
});
