/** Commands in a whole node: who may run them, what an abort ends, and what the next start finds. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { makeDiskDirectory } from "../../../test/kit/disk-directory.ts";
import { needs } from "../../../test/kit/needs.ts";
import { processesOf } from "../../adapters/tools/exec/process-identity.ts";
import { configSchema } from "../../config/config-schema.ts";
import { homePaths } from "../../config/paths.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import { silentLog } from "../../core/ports/log.ts";
import type { Model } from "../../core/ports/model.ts";
import { openNode, type RookeryNode } from "./open-node.ts";

const about = { api: "a", provider: "p", model: "m" } as const;
const results: string[] = [];
let calls = 0;
let hangs = false;
/** Calls `exec` with the JSON of the last message; with `hangs` it never answers after that. */
const model: Model = {
  async call({ messages }, signal) {
    const last = messages.at(-1);
    const text = last?.content.map((block) => (block.type === "text" ? block.text : "")).join("") ?? "";
    if (last?.role === "tool") {
      results.push(text);
      if (hangs) {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      }
      return { ...about, content: [{ type: "text", text: "done" }], stopReason: "stop" };
    }
    const [name = "", json = "{}"] = text.split(/ (.*)/s);
    const content = [{ type: "toolCall", id: `c${++calls}`, name, arguments: JSON.parse(json) }];
    return { ...about, content: content as never, stopReason: "tool_calls" };
  },
};

const paths = homePaths(makeDiskDirectory("rookery-commands-"));
let node: RookeryNode;
const open = (): Promise<RookeryNode> =>
  openNode({
    paths,
    config: configSchema.parse({
      owner: { accounts: ["test:olga"] },
      sandbox: { kind: "bwrap" },
      profiles: { main: { exec: { security: "full" } } },
      people: { records: { ann: { accounts: ["test:ann"] } } },
    }),
    connectors: [],
    model,
    log: silentLog,
    onFatal: (error) => expect.unreachable(String(error)),
  });
beforeAll(async () => {
  node = await open();
});
afterAll(async () => {
  await node.close();
  rmSync(paths.home, { recursive: true, force: true });
});

const person = (name: string): AgentDescriptor => ({ type: "user", connector: "test", userId: name, channelId: name });
async function say(name: string, text: string): Promise<{ readonly agent: AgentRecord; readonly result: string }> {
  const { result } = await node.agents.postAndAwait({ to: { descriptor: person(name) }, body: { kind: "user", text } });
  const agent = await node.ports.store.agent((result as { agentId: AgentRecord["id"] }).agentId);
  return { agent: agent as AgentRecord, result: results.at(-1) ?? "" };
}
const exec = (command: unknown, more: object = {}): string => `exec ${JSON.stringify({ command, ...more })}`;

it("runs the owner's command in the owner's workspace", needs("bwrap"), async () => {
  expect((await say("olga", exec("echo hello > a.txt; cat a.txt"))).result).toMatch(/^hello\n\[exit code 0/);
  expect(readFileSync(join(paths.workspace, "a.txt"), "utf8")).toBe("hello\n");
});

it("denies a guest's command without a grant, and says why", async () => {
  expect((await say("ann", exec("touch /tmp/x"))).result).toContain("commands on this machine need a grant");
});

it("ends a background command when its run is aborted", needs("bwrap"), async () => {
  hangs = true;
  const running = say("olga", exec("sleep 600", { background: true }));
  const main = await vi.waitFor(async () => {
    const [agent] = await node.ports.store
      .agents({ limit: 10 })
      .then((all) => all.filter((one) => one.state.processes));
    expect(agent?.state.processes).toHaveLength(1);
    return agent as AgentRecord;
  }, 60_000);
  const id = main.state.processes?.[0]?.id as string;
  expect(await processesOf(id)).not.toEqual([]);
  const live = node.agents.runs.live(main.id);
  await node.agents.runs.abort(live?.id as never, "person");
  await running.catch(() => {});
  hangs = false;
  await vi.waitFor(async () => expect(await processesOf(id)).toEqual([]), 60_000);
});

it(
  "finds a background command again after a restart, and ends it when its agent is stopped",
  needs("bwrap"),
  async () => {
    const { agent } = await say("olga", exec("echo on; sleep 600", { background: true }));
    const id = agent.state.processes?.at(-1)?.id as string;
    await node.close();
    expect(await processesOf(id)).not.toEqual([]);
    node = await open();
    // The command may not have printed yet.
    await vi.waitFor(async () => {
      const { result } = await say("olga", `process ${JSON.stringify({ action: "read", id })}`);
      expect(result).toMatch(/^on\n\n\[running; 3 bytes of output\]$/);
    }, 60_000);
    await node.agents.lifecycle.stop(agent.id, "enough");
    await vi.waitFor(async () => expect(await processesOf(id)).toEqual([]), 60_000);
  },
);
