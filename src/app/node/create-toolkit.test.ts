import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openMemoryStore } from "../../adapters/store/sqlite/open-store.ts";
import { systemClock } from "../../adapters/system/system-clock.ts";
import { systemIds } from "../../adapters/system/system-ids.ts";
import { createHome } from "../../config/create-home.ts";
import { parseConfig } from "../../config/parse-config.ts";
import { type HomePaths, homePaths } from "../../config/paths.ts";
import { CurrentSettings } from "../../config/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import type { ChangeId, RunId } from "../../core/ids.ts";
import type { Store } from "../../core/store/store.ts";
import { seedAgent } from "../../engine/context/seed-agent.ts";
import { createToolkit } from "./create-toolkit.ts";

const ids = systemIds();
let paths: HomePaths;
let store: Store;

beforeEach(async () => {
  paths = homePaths(mkdtempSync(join(tmpdir(), "rookery-toolkit-")));
  await createHome(paths);
  store = openMemoryStore();
});
afterEach(async () => {
  await store.close();
  rmSync(paths.home, { recursive: true, force: true });
});

const user: AgentDescriptor = { type: "user", connector: "terminal", userId: "o", channelId: "o" };
const child: AgentDescriptor = { type: "subagent", id: "s", parentAgentId: "p", name: "dig" };

async function make(descriptor: AgentDescriptor, profile = "main"): Promise<AgentRecord> {
  const seed = seedAgent(ids, descriptor, 1, profile);
  await store.commit({ id: ids.change() as ChangeId, site: "t", at: 1, ops: [{ op: "agent.create", seed }] });
  return (await store.agent(seed.id)) as AgentRecord;
}

const open = (text = "{}", rest: Partial<Parameters<typeof createToolkit>[0]> = {}) => {
  const { config } = parseConfig({ text, file: "rookery.json5", env: {} });
  const settings = new CurrentSettings(config);
  const toolkit = createToolkit({ settings, paths, clock: systemClock, store, ...rest });
  const promptOf = (agent: AgentRecord) => toolkit.promptOf(agent, undefined, settings.current);
  return { ...toolkit, promptOf };
};

describe("the toolkit of a node", () => {
  it("lists the tools of an agent", async () => {
    const tools = open().tools.list(await make(user));
    expect(tools.map(({ name }) => name)).toEqual([
      "apply_patch",
      "current_time",
      "edit",
      "find",
      "find_tools",
      "grep",
      "list",
      "read",
      "write",
    ]);
  });

  it("applies the tool lists of the profile and the kind of agent", async () => {
    const toolkit = open(`{ profiles: { main: { tools: { deny: ["write"], subagents: { deny: ["edit"] } } } } }`);
    const [mine, childs] = [await make(user), await make(child)];
    expect(toolkit.tools.list(mine).map(({ name }) => name)).toEqual([
      "apply_patch",
      "current_time",
      "edit",
      "find",
      "find_tools",
      "grep",
      "list",
      "read",
    ]);
    expect(toolkit.tools.list(childs).map(({ name }) => name)).toEqual([
      "apply_patch",
      "current_time",
      "find",
      "find_tools",
      "grep",
      "list",
      "read",
    ]);
  });

  it("works in the workspace of the home, of the profile, or of the permanent agent", async () => {
    mkdirSync(join(paths.home, "desk"));
    const toolkit = open(`{ profiles: { work: { workspace: "desk" } } }`);
    const permanent = { type: "permanent", id: "x", description: "d", systemPrompt: "p" } as const;
    const table: readonly [AgentRecord, string][] = [
      [await make(user), paths.workspace],
      [await make(user, "work"), join(paths.home, "desk")],
      [await make({ ...permanent, name: "in", workspaceDir: "own" }), join(paths.workspace, "own")],
      [await make({ ...permanent, name: "out", workspaceDir: "../../etc" }), paths.workspace],
    ];
    mkdirSync(join(paths.workspace, "own"));
    const call = { runId: "r" as RunId, callId: "c", effectKey: "k", signal: AbortSignal.abort(), progress() {} };
    for (const [agent, directory] of table) {
      const write = toolkit.tools.find(agent, "write");
      await write?.execute({ path: "note.txt", content: "x" }, { agent, agentId: agent.id, ...call });
      expect(existsSync(join(directory, "note.txt"))).toBe(true);
      rmSync(join(directory, "note.txt"));
    }
  });

  it("builds the prompt from the profile and the workspace, never through a link", async () => {
    const toolkit = open(`{ profiles: { main: { prompt: "You are Rook." } } }`);
    writeFileSync(join(paths.workspace, "AGENTS.md"), "Be kind.");
    writeFileSync(join(paths.home, "secret"), "the secret");
    symlinkSync(join(paths.home, "secret"), join(paths.workspace, "USER.md"));
    mkdirSync(join(paths.workspace, "SOUL.md"));
    const record = await make(user);
    const { text, report } = await toolkit.promptOf({
      ...record,
      state: { ...record.state, extraSystemPrompt: "More." },
    });
    expect(text).toMatch(/^You are Rook\.\n\n# Workspace\n.*\n\n# AGENTS\.md\nBe kind\.\n\nMore\.$/s);
    expect(report.missing).toEqual(["SOUL.md", "TOOLS.md", "USER.md", "MEMORY.md"]);
    expect(await toolkit.promptOf(record)).toEqual(await toolkit.promptOf(record));
  });

  it("lists the permanent agents to all agents except children", async () => {
    const permanentAgents = async () => [{ id: "p1", name: "archivist", description: "keeps notes" }];
    const toolkit = open("{}", { permanentAgents });
    const list = "<permanent_agents>\n- archivist (p1): keeps notes\n</permanent_agents>";
    expect((await toolkit.promptOf(await make(user))).text).toContain(list);
    expect((await toolkit.promptOf(await make(child))).text).not.toContain("archivist");
  });
});
