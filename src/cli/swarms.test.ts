import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { seedAgent } from "../agents/seed-agent.ts";
import type { AgentSeed } from "../core/agent.ts";
import type { Store } from "../core/store.ts";
import { openSqliteStore } from "../store/sqlite/open-store.ts";
import { systemIds } from "../world/system-ids.ts";
import { EXIT } from "./exit-code.ts";
import { runCli } from "./router.ts";

const AT = Date.parse("2026-01-22T10:00:00Z");
const ids = systemIds();
const DESK = {
  ...{ nametag: "desk", owner: "o", profile: "main", firstName: "Front", lastName: "Desk", bio: "helps guests" },
  ...{ systemPrompt: "You help.", memory: false, createdAt: AT },
};
let home: string;
let ann: AgentSeed;
let servant: AgentSeed;

async function inStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const store = openSqliteStore({ home, synchronous: "normal" });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "rookery-swarms-"));
  ann = seedAgent(ids, { type: "user", connector: "terminal", userId: "ann", channelId: "ann" }, AT);
  servant = seedAgent(ids, { type: "swarm", id: "desk", contact: ann.id }, AT);
  const result = await inStore((store) =>
    store.commit({
      id: ids.change(),
      site: "test",
      at: AT,
      ops: [
        { op: "agent.create", seed: ann },
        { op: "agent.create", seed: servant },
        { op: "swarm.put", swarm: DESK },
        { op: "swarm.contact", nametag: "desk", contact: ann.id, agentId: servant.id, received: 2 },
      ],
    }),
  );
  expect(result.ok).toBe(true);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

async function run(...argv: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  let out = "";
  let err = "";
  const world = {
    env: {},
    stdin: () => ({ isTTY: true, async *[Symbol.asyncIterator]() {} }),
    stdout: { write: (text: string) => (out += text) },
    stderr: { write: (text: string) => (err += text) },
  };
  const code = await runCli([...argv, "--home", home], world);
  return { code, out, err };
}

it("lists swarms and shows one with its contacts", async () => {
  expect((await run("swarms")).out).toMatch(/^@desk {2}Front Desk {2}made 2026-01-22.* {2}helps guests\n$/u);
  expect((await run("swarms", "show", "@Desk")).out).toContain(`${ann.id}  2 received, 0 sent, last 2026-01-22`);
  expect(JSON.parse((await run("swarms", "show", "desk", "--json")).out)).toMatchObject({
    swarm: DESK,
    contacts: [{ contact: ann.id, messagesReceived: 2 }],
  });
});

it("takes a name back and marks its agents to be removed", async () => {
  expect((await run("swarms", "remove", "desk")).out).toBe(
    "@desk is removed; its agents are when the program next runs.\n",
  );
  expect((await run("swarms")).out).toBe("No swarms.\n");
  const stopped = await inStore(async (store) => (await store.agent(servant.id))?.stopped);
  expect(stopped).toMatchObject({ reason: "removed by a person", removing: true });
});

it("says where there is no such swarm", async () => {
  expect(await run("swarms", "remove", "nobody")).toMatchObject({
    code: EXIT.failure,
    err: expect.stringContaining("There is no swarm nobody."),
  });
});
