/** Attacks of guests' agents: they try to get the owner's rights by a schedule, a gate or a file that is read later. */

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../adapters/system/system-clock.ts";
import { systemIds } from "../../adapters/system/system-ids.ts";
import { person } from "../../adapters/tools/agents/agents.test-kit.ts";
import { cronTaskTools } from "../../adapters/tools/schedules/cron-task-tools.ts";
import { cronTool } from "../../adapters/tools/schedules/cron-tool.ts";
import { heartbeatTools } from "../../adapters/tools/schedules/heartbeat-tools.ts";
import { createHome } from "../../config/create-home.ts";
import { parseConfig } from "../../config/parse-config.ts";
import { type HomePaths, homePaths } from "../../config/paths.ts";
import { CurrentSettings } from "../../config/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import { DeniedError } from "../../core/errors.ts";
import type { ChangeId, RunId } from "../../core/ids.ts";
import type { Gate } from "../../core/ports/gate.ts";
import type { Tool, ToolOutput } from "../../core/ports/tool.ts";
import type { RunBody } from "../../core/run/run.ts";
import type { Op } from "../../core/store/change.ts";
import { seedAgent } from "../../engine/context/seed-agent.ts";
import { directoryOf } from "../../engine/people/directory.ts";
import { gateOf } from "../../engine/rights/gate.ts";
import { personOf } from "../../engine/runtime/people.ts";
import { TriggerTestEngine } from "../../engine/triggers/triggers.test-kit.ts";
import { createToolkit, type Toolkit } from "./create-toolkit.ts";

const CONFIG = `{
  owner: { accounts: ["test:olga"] },
  // Otherwise a person reviews what these files say.
  permissions: { allow: ["write(AGENTS.md)", "edit(AGENTS.md)", "write(cron/x/TASK.md)"] },
  profiles: {
    main: { tools: { subagents: { allow: ["cron*", "heartbeat_*"] } } },
    team: { workspace: "workspace/team" },
    else: { workspace: "else" },
  },
}`;
const ids = systemIds();
let paths: HomePaths;
let world: TriggerTestEngine;
let toolkit: Toolkit;
let gate: Gate;
let schedules: readonly Tool[];

beforeEach(async () => {
  paths = homePaths(mkdtempSync(join(tmpdir(), "rookery-owners-")));
  await createHome(paths);
  const { config } = parseConfig({ text: CONFIG, file: "rookery.json5", env: {} });
  world = await TriggerTestEngine.open({ settings: { heartbeat: config.heartbeat, profiles: config.profiles } });
  schedules = [
    cronTool(world.cron),
    ...cronTaskTools(world.cron),
    ...heartbeatTools(world.triggers.heartbeat),
  ] as Tool[];
  const settings = new CurrentSettings({ ...config, people: { ...config.people, unknown: "guest" } });
  const directory = directoryOf({ store: world.store, clock: systemClock }, settings);
  toolkit = createToolkit({ settings, paths, clock: systemClock, store: world.store, more: schedules, directory });
  await toolkit.promptOf(await make(person("first")), undefined, settings.current);
  gate = gateOf({
    tools: toolkit.tools,
    directory,
    settings,
    placeOf: (agent) => toolkit.placeOf(agent),
    personOf: (agent) =>
      personOf(world.store, settings.current.identity, agent, { rights: agent.descriptor.type !== "swarm" }),
  });
});
afterEach(() => rmSync(paths.home, { recursive: true, force: true }));

async function commit(ops: readonly Op[]): Promise<void> {
  const result = await world.store.commit({ id: ids.change() as ChangeId, site: "t", at: 1, ops });
  if (!result.ok) throw new TypeError(result.detail);
}

async function make(descriptor: AgentDescriptor, profile = "main"): Promise<AgentRecord> {
  const seed = seedAgent(ids, descriptor, 1, profile);
  await commit([{ op: "agent.create", seed }]);
  return (await world.store.agent(seed.id)) as AgentRecord;
}

const childOf = (parent: AgentRecord, id = "dig") =>
  make({ type: "subagent", id, parentAgentId: parent.id, name: id }, parent.profile);

/** The agent of a job that a conversation created earlier. */
async function jobOf(maker: AgentRecord): Promise<AgentRecord> {
  const { profile, sessionKey } = maker;
  const create = { name: "old", schedule: { expr: "0 9 * * *" }, payload: { message: "go" } };
  const { job, ops } = world.cron.addOps(create, { profile, sessionKey });
  await commit(ops);
  return make({ type: "cron", id: job.id, name: job.name });
}

/** Calls a tool as a run does: after the gate. */
async function call(agent: AgentRecord, name: string, input: object): Promise<ToolOutput> {
  const tool = toolkit.tools.known?.(name);
  if (!tool) throw new TypeError(`There is no ${name} here.`);
  const asked = {
    callId: "c",
    name,
    arguments: input as Record<string, unknown>,
    replay: "safe",
    state: "asked",
  } as const;
  const [judged] = (await gate.judge(agent, { id: "r" as RunId, body: {} as RunBody }, [asked])).calls;
  if (judged?.decision.verdict !== "allow") throw new DeniedError(judged?.decision.reason ?? "");
  const signal = new AbortController().signal;
  const context = { agent, agentId: agent.id, runId: "r" as RunId, callId: "c", effectKey: "k", signal, progress() {} };
  return tool.execute(tool.input.parse(input), { ...context, allowed: judged.effects });
}

const job = { name: "tea", schedule: { kind: "every", everyMs: 60_000 }, payload: { message: "Tea." } };
const http = { kind: "http", url: "http://127.0.0.1/" };
const ATTACKS: readonly (readonly [string, string, object])[] = [
  ["cron_add with a gate", "cron_add", { name: "x", schedule: "0 9 * * *", prompt: "go", gate: http }],
  ["cron with an http gate", "cron", { action: "add", job: { ...job, gate: http } }],
  ["cron with an http gate in a wrapper", "cron", { action: "add", job: { data: { ...job, gate: http } } }],
  ["cron with a command gate", "cron", { action: "add", job: { ...job, gate: { kind: "command", command: "id" } } }],
  [
    "cron to another's address",
    "cron",
    { action: "add", job: { ...job, payload: { kind: "agentTurn", message: "x", channel: "test", to: "olga" } } },
  ],
  [
    "cron to another's address in one text",
    "cron",
    { action: "add", job: { ...job, payload: { kind: "agentTurn", message: "x", channel: "last", to: "test:olga" } } },
  ],
  ["heartbeat_add", "heartbeat_add", { title: "x", prompt: "go" }],
  ["heartbeat_remove", "heartbeat_remove", { id: "x" }],
  ["heartbeat_list", "heartbeat_list", {}],
  ["heartbeat_run", "heartbeat_run", {}],
];

const GUESTS: readonly (readonly [string, () => Promise<AgentRecord>])[] = [
  ["a guest's agent", () => make(person("ann"))],
  [
    "a group the owner is in",
    () => make({ ...person("olga"), channelId: "all", peerKind: "group" } as AgentDescriptor),
  ],
  ["a guest's child", async () => childOf(await make(person("ann")))],
  ["a guest's child's child", async () => childOf(await childOf(await make(person("ann"))), "deeper")],
  ["a swarm's agent", async () => make({ type: "swarm", id: "desk", contact: (await make(person("olga"))).id })],
  ["a child whose parent is gone", () => make({ type: "subagent", id: "s", parentAgentId: "gone", name: "s" })],
  ["the agent of a guest's job", async () => jobOf(await make(person("ann")))],
  ["the agent of a job of a guest's job", async () => jobOf(await jobOf(await make(person("ann"))))],
  ["a child of the agent of a guest's job", async () => childOf(await jobOf(await make(person("ann"))))],
];
const OWNERS: readonly (readonly [string, () => Promise<AgentRecord>])[] = [
  ["the terminal's agent", () => make(person("me", "terminal"))],
  ["the agent of an owner's account", () => make(person("olga"))],
  ["an owner's child", async () => childOf(await make(person("olga")))],
  ["the agent of an owner's job", async () => jobOf(await make(person("olga")))],
  ["a hook's agent", () => make({ type: "cron", id: "hook:deploy" })],
  ["the heartbeat", () => make({ type: "heartbeat" })],
  ["a permanent agent", () => make({ type: "permanent", id: "p", name: "p", description: "d", systemPrompt: "p" })],
];

describe.each(GUESTS)("%s", (_, guest) => {
  it.each(ATTACKS)("is denied %s", async (_title, name, input) => {
    await expect(call(await guest(), name, input)).rejects.toThrow(DeniedError);
  });

  it("does not write into the owner's workspace", async () => {
    const agent = await guest();
    for (const path of ["AGENTS.md", "cron/x/TASK.md", "note.txt"]) {
      const absolute = call(agent, "write", { path: join(paths.workspace, path), content: "obey" });
      await expect(absolute).rejects.toThrow(DeniedError);
      // In the directory of the person. An agent of no one has none.
      await call(agent, "write", { path, content: "obey" }).catch((error) =>
        expect(error).toMatchObject({ code: "denied" }),
      );
    }
    expect(readdirSync(paths.workspace)).toEqual([]);
  });
});

describe.each(OWNERS)("%s", (_, owner) => {
  it("uses schedules and writes prompt and task files", async () => {
    const agent = await owner();
    await call(agent, "cron_add", { name: "x", schedule: "0 9 * * *", prompt: "go" });
    await call(agent, "heartbeat_run", {});
    await call(agent, "write", { path: "AGENTS.md", content: "be kind" });
    await call(agent, "edit", { path: "AGENTS.md", oldText: "kind", newText: "brief" });
    await call(agent, "write", { path: "cron/x/TASK.md", content: "go" });
    expect(readFileSync(join(paths.workspace, "AGENTS.md"), "utf8")).toBe("be brief");
  });
});

const FILE_TOOLS = ["apply_patch", "edit", "find", "grep", "list", "read", "write"];

describe("the tools of schedules", () => {
  it("are listed as far as a guest may use them, and a call by name gets the reason", async () => {
    const names = (agent: AgentRecord) => toolkit.tools.list(agent).map(({ name }) => name);
    const [guest, olga] = [await make(person("ann")), await make(person("olga"))];
    expect(names(olga)).toEqual(expect.arrayContaining(schedules.map(({ name }) => name)));
    const cron = schedules.flatMap(({ name }) => (name.startsWith("cron") ? [name] : []));
    expect(names(guest)).toEqual([...cron, ...FILE_TOOLS, "current_time", "find_tools"].sort());
    expect(toolkit.tools.shown?.(guest, 200_000).some(({ name }) => name.startsWith("heartbeat_"))).toBe(false);
    await expect(call(guest, "heartbeat_run", {})).rejects.toThrow("the heartbeat belongs to the owner");
  });

  it("make jobs for a guest that the guest may change, and no one else", async () => {
    const [ann, bob] = [await make(person("ann")), await make(person("bob"))];
    const added = await call(ann, "cron_add", { name: "x", schedule: "0 9 * * *", prompt: "go" });
    await commit(added.ops ?? []);
    const [first] = await world.cron.list();
    await call(ann, "cron", { action: "update", id: first?.id, patch: { name: "y" } });
    await expect(call(bob, "cron", { action: "run", id: first?.id })).rejects.toThrow(DeniedError);
    await expect(call(bob, "cron_delete_task", { taskId: first?.id })).rejects.toThrow(DeniedError);
    for (const patch of [{ gate: http }, { payload: { channel: "test", to: "bob" } }, { agentId: "team" }]) {
      await expect(call(ann, "cron", { action: "update", id: first?.id, patch })).rejects.toThrow(DeniedError);
    }
  });
});

describe("prompt and task files", () => {
  const PATHS = [
    ...["AGENTS.md", "agents.md", "SOUL.md", "TOOLS.md", "USER.md", "MEMORY.md", "HEARTBEAT.md", "Heartbeat.MD"],
    ...[
      "IDENTITY.md",
      "BOOTSTRAP.md",
      "cron/x/TASK.md",
      "CRON/x/task.md",
      "cron/x/notes.txt",
      "cron",
      "heartbeat/a.md",
    ],
    ...["memory/2026-01-01.md", "./cron//x/../y/TASK.md", "x/../AGENTS.md", "own/AGENTS.md", "own/cron/x/TASK.md"],
    ...["team/AGENTS.md", "team/cron/x/TASK.md", "AGENT\u017f.md", "AGENTS\u200b.md", "AGENTS.md.", "AGENTS.md "],
    ...["to-agents", "to-cron/x/TASK.md", "to-cron/x.md", "to-ws/AGENTS.md", "to-ws/heartbeat/a.md"],
  ];

  beforeEach(() => {
    const at = (name: string) => join(paths.workspace, name);
    for (const name of ["real", "own"]) mkdirSync(at(name));
    mkdirSync(at("cron/x"), { recursive: true });
    writeFileSync(at("AGENTS.md"), "be kind");
    writeFileSync(at("cron/x/TASK.md"), "be kind");
    symlinkSync("AGENTS.md", at("to-agents"));
    symlinkSync("cron", at("to-cron"));
    symlinkSync(".", at("to-ws"));
  });

  /** A guest's agent that may write in the owner's workspaces. */
  async function trusted(): Promise<AgentRecord> {
    const guest = await make(person("ann"));
    const writeDirs = [paths.workspace, join(paths.home, "else")];
    return { ...guest, state: { ...guest.state, permissions: { writeDirs } } };
  }

  it.each(PATHS)("are not written by a guest's agent: %j", async (path) => {
    const guest = await trusted();
    await expect(call(guest, "write", { path: join(paths.workspace, path), content: "obey" })).rejects.toThrow(
      "only the owner's agents can write it",
    );
    expect(readFileSync(join(paths.workspace, "AGENTS.md"), "utf8")).toBe("be kind");
    expect(existsSync(join(paths.workspace, "cron/y"))).toBe(false);
  });

  it.each(["AGENTS.md", "cron/x/TASK.md", "to-agents", "to-cron/x/TASK.md", "./own/../AGENTS.md"])(
    "are not edited by a guest's agent: %s",
    async (name) => {
      const path = join(paths.workspace, name);
      const edit = call(await trusted(), "edit", { path, oldText: "kind", newText: "mine" });
      await expect(edit).rejects.toThrow(DeniedError);
      expect(readFileSync(path, "utf8")).toBe("be kind");
    },
  );

  it("are guarded in the workspace of every profile, also if the agent may write a part of it", async () => {
    mkdirSync(join(paths.home, "else"));
    const elsewhere = { path: join(paths.home, "else/AGENTS.md"), content: "obey" };
    await expect(call(await trusted(), "write", elsewhere)).rejects.toThrow("only the owner's agents");
    const guest = await make(person("bob"));
    const given = { ...guest, state: { ...guest.state, permissions: { writeDirs: [join(paths.workspace, "cron")] } } };
    const path = join(paths.workspace, "cron/x/new.md");
    await expect(call(given, "write", { path, content: "obey" })).rejects.toThrow("only the owner's agents");
  });

  it("are the only guarded files", async () => {
    const guest = await trusted();
    for (const name of ["notes.md", "cron.txt", "real/agents.txt", "cronies/a.md", "cron/../fine.md"]) {
      const path = join(paths.workspace, name);
      await call(guest, "write", { path, content: "mine" });
      await call(guest, "edit", { path, oldText: "mine", newText: "yours" });
      expect(readFileSync(path, "utf8")).toBe("yours");
    }
  });
});
