import { expect, it } from "vitest";
import type { AgentSeed } from "../../core/agent/agent.ts";
import { AT, cliHome, TERMINAL } from "./cli.test-kit.ts";
import { EXIT } from "./exit-code.ts";

const DESK = {
  ...{ nametag: "desk", owner: "o", profile: "main", firstName: "Front", lastName: "Desk", bio: "helps guests" },
  ...{ systemPrompt: "You help.", memory: false, createdAt: AT },
};
let ann: AgentSeed;
let servant: AgentSeed;
const { run, inStore } = cliHome({
  async setup({ make, commit }) {
    ann = await make({ ...TERMINAL, userId: "ann", channelId: "ann" });
    servant = await make({ type: "swarm", id: "desk", contact: ann.id });
    const result = await commit([
      { op: "swarm.put", swarm: DESK },
      { op: "swarm.contact", nametag: "desk", contact: ann.id, agentId: servant.id, received: 2 },
    ]);
    expect(result.ok).toBe(true);
  },
});

it("lists swarms and shows one with its contacts", async () => {
  expect((await run("agents", "swarms")).out).toMatch(
    /^@desk {2}Front Desk {2}created 2026-01-22.* {2}helps guests\n$/u,
  );
  expect((await run("agents", "swarms", "show", "@Desk")).out).toContain(
    `${ann.id}  2 received, 0 sent, last 2026-01-22`,
  );
  expect(JSON.parse((await run("agents", "swarms", "show", "desk", "--json")).out)).toMatchObject({
    swarm: DESK,
    contacts: [{ contact: ann.id, messagesReceived: 2 }],
  });
});

it("removes a swarm and marks its agents for removal", async () => {
  expect((await run("agents", "swarms", "remove", "desk")).out).toBe(
    "@desk is removed. Its agents are removed when they rest.\n",
  );
  expect((await run("agents", "swarms")).out).toBe("No swarms.\n");
  const stopped = await inStore(async (store) => (await store.agent(servant.id))?.stopped);
  expect(stopped).toMatchObject({ reason: "removed by a person", removing: true });
});

it("reports an unknown swarm", async () => {
  expect(await run("agents", "swarms", "remove", "unknown")).toMatchObject({
    code: EXIT.failure,
    err: expect.stringContaining("There is no swarm unknown."),
  });
});
