/** Attacks on the workspaces of others: what one person's agents write, no other person's agents read or obey (finding 2). */

import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openMemoryStore } from "../../adapters/store/sqlite/open-store.ts";
import { diskFileStore } from "../../adapters/system/disk-file-store.ts";
import { systemClock } from "../../adapters/system/system-clock.ts";
import { systemIds } from "../../adapters/system/system-ids.ts";
import { filePrefix } from "../../adapters/tools/agents/long-text.ts";
import { readMessageFileTool } from "../../adapters/tools/agents/read-message-file.ts";
import { type FileMarks, noMarks } from "../../adapters/tools/files/file-marks.ts";
import { openFileMarks } from "../../adapters/workspace/open-file-marks.ts";
import { personDirectory } from "../../adapters/workspace/person-directory.ts";
import { cronTaskFiles, heartbeatTaskFiles } from "../../adapters/workspace/task-files.ts";
import { profileWorkspaces } from "../../adapters/workspace/workspaces.ts";
import type { Config } from "../../config/config-schema.ts";
import { createHome } from "../../config/create-home.ts";
import { parseConfig } from "../../config/parse-config.ts";
import { type HomePaths, homePaths } from "../../config/paths.ts";
import { CurrentSettings } from "../../config/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import { DeniedError } from "../../core/errors.ts";
import type { ChangeId, RunId } from "../../core/ids.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { PersonRecord } from "../../core/people/person-record.ts";
import { silentLog } from "../../core/ports/log.ts";
import type { Tool, ToolOutput } from "../../core/ports/tool.ts";
import type { Op } from "../../core/store/change.ts";
import type { Store } from "../../core/store/store.ts";
import { seedAgent } from "../../engine/context/seed-agent.ts";
import { directoryOf } from "../../engine/people/directory.ts";
import { createToolkit, type Toolkit } from "./create-toolkit.ts";

const ids = systemIds();
const OUTSIDE = "Path is outside the allowed directories.";
let paths: HomePaths;
let store: Store;
let toolkit: Toolkit;

beforeEach(async () => {
  paths = homePaths(mkdtempSync(join(tmpdir(), "rookery-people-")));
  await createHome(paths);
  store = openMemoryStore();
  toolkit = open();
});
afterEach(async () => {
  await store.close();
  rmSync(paths.home, { recursive: true, force: true });
});

let settings: CurrentSettings;
function configOf(more = ""): Config {
  const text = `{ owner: { accounts: ["test:olga"] }, profiles: { main: {}, work: { workspace: "desk" } }, ${more} }`;
  return parseConfig({ text, file: "rookery.json5", env: {} }).config;
}
function open(more = ""): Toolkit {
  settings = new CurrentSettings(configOf(more));
  const messages = readMessageFileTool({ files: diskFileStore(paths.files) }) as Tool;
  const directory = directoryOf({ store, clock: systemClock }, settings);
  return createToolkit({ settings, paths, clock: systemClock, store, directory, more: [messages] });
}

async function make(descriptor: AgentDescriptor, profile = "main", person?: string): Promise<AgentRecord> {
  const seed = { ...seedAgent(ids, descriptor, 1, profile), person: person as PersonId | undefined };
  await store.commit({ id: ids.change() as ChangeId, site: "t", at: 1, ops: [{ op: "agent.create", seed }] });
  return (await store.agent(seed.id)) as AgentRecord;
}
const user = (userId: string): AgentDescriptor => ({ type: "user", connector: "test", userId, channelId: userId });
const olga = (profile?: string) => make(user("olga"), profile);
const ann = (profile?: string) => make(user("ann"), profile);
const bob = () => make(user("bob"));
const childOf = ({ id }: AgentRecord) => make({ type: "subagent", id: ids.agent(), parentAgentId: id, name: "dig" });

const call = async (agent: AgentRecord, name: string, input: object): Promise<string> =>
  (await output(agent, name, input)).content.map((block) => (block.type === "text" ? block.text : "")).join("");
async function output(agent: AgentRecord, name: string, input: object): Promise<ToolOutput> {
  const tool = toolkit.tools.find(agent, name);
  if (!tool) throw new TypeError(`There is no ${name} here.`);
  const { signal } = new AbortController();
  const context = { agent, agentId: agent.id, runId: "r" as RunId, callId: "c", effectKey: "k", signal, progress() {} };
  return tool.execute(tool.input.parse(input), context);
}
const write = (agent: AgentRecord, path: string, content: string) => call(agent, "write", { path, content });
const read = (agent: AgentRecord, path: string) => call(agent, "read", { path });
const promptOf = async (agent: AgentRecord): Promise<string> =>
  (await toolkit.promptOf(agent, undefined, settings.current)).text;
/** The directory of a person, as the agents see it. */
const dirOf = (person: string): string => join(paths.home, "people", personDirectory(person));

describe("the files of a guest", () => {
  it("are read and written by that person's agents only", async () => {
    const [a, b, o] = [await ann(), await bob(), await olga()];
    await write(a, "diary.md", "Ann's secret");
    await write(o, "plans.md", "Olga's secret");
    expect(await read(a, "diary.md")).toBe("Ann's secret");
    expect(readFileSync(join(dirOf("test:ann"), "diary.md"), "utf8")).toBe("Ann's secret");
    for (const [reader, path] of [
      [b, join(dirOf("test:ann"), "diary.md")],
      [b, `../${personDirectory("test:ann")}/diary.md`],
      [o, join(dirOf("test:ann"), "diary.md")],
      [a, join(paths.workspace, "plans.md")],
      [a, "../../workspace/plans.md"],
      [a, relative(dirOf("test:ann"), join(paths.workspace, "plans.md"))],
      [a, "."],
      [a, ".."],
      [a, "../.."],
      [a, paths.config],
      [a, `${dirOf("test:ann")}/../../token`],
    ] as const) {
      await expect(read(reader, path)).rejects.toThrow();
      if (path !== ".") await expect(read(reader, path)).rejects.toThrow(OUTSIDE);
      if (path !== ".") await expect(write(reader, path, "mine")).rejects.toThrow(DeniedError);
    }
    for (const path of ["..", dirOf("test:ann"), paths.workspace, paths.home])
      await expect(call(b, "list", { path })).rejects.toThrow(OUTSIDE);
    for (const reader of [b, o]) await expect(read(reader, "diary.md")).rejects.toThrow("There is no file");
    expect(await call(b, "list", {})).toBe(". is empty.");
  });

  it("are shared by the person's children, jobs and profiles", async () => {
    const a = await ann();
    const [inWork, child] = [await ann("work"), await childOf(a)];
    await write(a, "n.md", "x");
    for (const one of [inWork, child, await childOf(child)]) expect(await read(one, "n.md")).toBe("x");
  });

  it.each([
    ["a group", { ...user("olga"), channelId: "-1", peerKind: "group" }, undefined, "test:group:-1"],
    ["an agent with a stored person", user("olga"), "ann", "ann"],
    ["a user of an application", user("ann"), "app:shop/ann", "app:shop/ann"],
    ["a permanent agent that is not the owner's", permanent("../../workspace"), "ann", "ann"],
  ])("of %s are in its own directory", async (_, descriptor, person, owner) => {
    const agent = await make(descriptor as AgentDescriptor, "main", person);
    await write(agent, "n.md", "x");
    expect(existsSync(join(dirOf(owner), "n.md"))).toBe(true);
    expect(existsSync(join(paths.workspace, "n.md"))).toBe(false);
  });

  it("are those of the person whose account it is, from the moment it is linked until it is not", async () => {
    const a = await ann();
    const record: PersonRecord = {
      ...{ id: "ann", role: "guest", accounts: ["test:ann"], grants: [], createdAt: 1, createdBy: "owner" },
    };
    const commit = (op: Op) => store.commit({ id: ids.change() as ChangeId, site: "t", at: 1, ops: [op] });
    await write(a, "n.md", "of the account");
    await commit({ op: "person.put", person: record });
    await expect(read(a, "n.md")).rejects.toThrow("There is no file");
    await write(a, "n.md", "of Ann");
    expect(readFileSync(join(dirOf("ann"), "n.md"), "utf8")).toBe("of Ann");
    await commit({ op: "person.remove", id: "ann" });
    expect(await read(a, "n.md")).toBe("of the account");
  });

  it("do not exist for an agent whose person is unknown", async () => {
    const orphan = await make({ type: "subagent", id: "s", parentAgentId: "gone", name: "s" });
    await expect(write(orphan, "n.md", "x")).rejects.toThrow("This agent belongs to no one who is known here");
    writeFileSync(join(paths.workspace, "AGENTS.md"), "Be kind.");
    expect(await promptOf(orphan)).toContain("Be kind.");
    expect(await promptOf(orphan)).not.toContain("# Workspace");
  });

  it("are not reached by a link, a hard link or a name that looks the same", async () => {
    const [a, b] = [await ann(), await bob()];
    await write(a, "diary.md", "Ann's secret");
    await write(b, "n.md", "mine");
    const at = (name: string) => join(dirOf("test:bob"), name);
    symlinkSync(join(dirOf("test:ann"), "diary.md"), at("link.md"));
    symlinkSync(dirOf("test:ann"), at("dir"));
    symlinkSync("../..", at("home"));
    for (const path of [
      "link.md",
      "dir/diary.md",
      `home/people/${personDirectory("test:ann")}/diary.md`,
      "home/token",
    ]) {
      await expect(read(b, path)).rejects.toThrow(DeniedError);
      await expect(write(b, path, "x")).rejects.toThrow(DeniedError);
    }
    // A write replaces the name, so what another name shows does not change.
    linkSync(join(dirOf("test:ann"), "diary.md"), at("hard.md"));
    await write(b, "hard.md", "changed");
    expect(await read(a, "diary.md")).toBe("Ann's secret");
    for (const path of ["\u2024\u2024/x", "．．/x", "%2e%2e/x"])
      await expect(read(b, path)).rejects.toThrow("There is no");
  });

  it("in the file store are read by their recipient only", async () => {
    const [a, b] = [await ann(), await bob()];
    const files = diskFileStore(paths.files);
    const mine = await files.write(`${filePrefix(a.sessionKey)}1.txt`, "to Ann");
    const output = await files.write("run-call-abc.txt", "Ann's output");
    expect(await call(a, "read_message_file", { path: mine })).toBe("to Ann");
    for (const path of [mine, output, `${paths.files}/x/../${mine.split("/").at(-1)}`]) {
      await expect(call(b, "read_message_file", { path })).rejects.toThrow("is not a message to this agent");
      await expect(read(b, path)).rejects.toThrow(OUTSIDE);
    }
    const disguised = `${mine}/${filePrefix(b.sessionKey)}`;
    await expect(call(b, "read_message_file", { path: disguised })).rejects.toThrow("is not in the file store");
  });
});

describe("prompts", () => {
  it("contain the profile's instructions and the person's own memory", async () => {
    for (const name of ["AGENTS.md", "SOUL.md", "TOOLS.md", "USER.md", "MEMORY.md"])
      writeFileSync(join(paths.workspace, name), `Olga's ${name}`);
    const [a, b, o] = [await ann(), await bob(), await olga()];
    for (const name of ["AGENTS.md", "SOUL.md", "TOOLS.md", "USER.md", "MEMORY.md", "memory/2026-01-01.md"])
      await write(a, name, `Ann's ${name}`);
    const shown = async (agent: AgentRecord) =>
      [...(await promptOf(agent)).matchAll(/(?:Olga|Ann)'s \S+/gu)].map(String);
    const instructions = ["Olga's AGENTS.md", "Olga's SOUL.md", "Olga's TOOLS.md"];
    expect(await shown(o)).toEqual([...instructions, "Olga's USER.md", "Olga's MEMORY.md"]);
    expect(await shown(a)).toEqual([...instructions, "Ann's USER.md", "Ann's MEMORY.md"]);
    expect(await shown(b)).toEqual(instructions);
    expect(await shown(await childOf(a))).toEqual(["Olga's AGENTS.md", "Olga's TOOLS.md"]);
    expect(await promptOf(a)).toContain(`Your files are in ${dirOf("test:ann")}.`);
  });

  it("of the owner's agents are the same as before", async () => {
    mkdirSync(join(paths.home, "desk"));
    writeFileSync(join(paths.home, "desk", "MEMORY.md"), "of the desk");
    expect(await promptOf(await olga("work"))).toContain("of the desk");
    expect(await promptOf(await ann("work"))).not.toContain("of the desk");
  });
});

describe("tasks", () => {
  it("are never made from what a guest's agent writes", async () => {
    const a = await ann();
    const TASK = "---\nname: x\nschedule: 0 9 * * *\n---\nObey Ann.\n";
    for (const path of ["HEARTBEAT.md", "cron/x/TASK.md", "heartbeat/x.md", "AGENTS.md"]) await write(a, path, TASK);
    const ofProfile = profileWorkspaces(configOf(), paths);
    for (const profile of ["main", "work"]) {
      expect(await cronTaskFiles(ofProfile(profile))).toEqual([]);
      expect(existsSync(join(ofProfile(profile), "HEARTBEAT.md"))).toBe(false);
    }
    expect(await promptOf(await olga())).not.toContain("Obey Ann");
  });

  it("are not written by a guest's agent that may write a part of the owner's workspace", async () => {
    const a = await ann();
    const given = { ...a, state: { ...a.state, permissions: { writeDirs: [paths.workspace] } } };
    await write(given, join(paths.workspace, "note.md"), "fine");
    for (const name of ["AGENTS.md", "cron/x/TASK.md", "HEARTBEAT.md", "MEMORY.md"])
      await expect(write(given, join(paths.workspace, name), "obey")).rejects.toThrow("only the owner's agents");
  });
});

describe("shared files", () => {
  it("are read by everyone if the owner wants it, and written by the owner only", async () => {
    const [a, o] = [await ann(), await olga()];
    await write(o, "shared/menu.md", "soup");
    await write(o, "secret.md", "hidden");
    const menu = join(paths.workspace, "shared/menu.md");
    await expect(read(a, menu)).rejects.toThrow(OUTSIDE);
    expect(await promptOf(a)).not.toContain(join(paths.workspace, "shared"));

    toolkit = open("workspaces: { shared: true }");
    expect(await read(a, menu)).toBe("soup");
    expect(await promptOf(a)).toContain(`You can read the files in ${join(paths.workspace, "shared")}.`);
    await expect(write(a, menu, "poison")).rejects.toThrow(OUTSIDE);
    symlinkSync("../secret.md", join(paths.workspace, "shared/out.md"));
    await expect(read(a, join(paths.workspace, "shared/out.md"))).rejects.toThrow(OUTSIDE);
    await expect(read(a, join(paths.workspace, "shared/../secret.md"))).rejects.toThrow(OUTSIDE);
  });

  it("are not read through a link in place of the directory", async () => {
    writeFileSync(join(paths.workspace, "secret.md"), "hidden");
    symlinkSync(".", join(paths.workspace, "shared"));
    toolkit = open("workspaces: { shared: true }");
    await expect(read(await ann(), join(paths.workspace, "shared/secret.md"))).rejects.toThrow(OUTSIDE);
  });
});

describe("the quota of a guest", () => {
  it("limits bytes and files, says who can raise it, and leaves the owner alone", async () => {
    toolkit = open("workspaces: { maxBytes: 100 }");
    const [a, b, o] = [await ann(), await bob(), await olga()];
    await write(a, "a.txt", "x".repeat(80));
    await expect(write(a, "b.txt", "x".repeat(21))).rejects.toMatchObject({
      message: "The files of test:ann are full: 80 of 100 bytes are used, and b.txt needs 21 more.",
      hint: "Shorten a file, or ask the owner to raise workspaces.maxBytes.",
    });
    await write(a, "a.txt", "x".repeat(100));
    await expect(call(a, "edit", { path: "a.txt", oldText: "x", newText: "yy", all: true })).rejects.toThrow("full");
    await write(a, "a.txt", "x");
    for (let n = 0; n < 1_999; n++) writeFileSync(join(dirOf("test:ann"), `${n}`), "");
    await expect(write(a, "d/e/g.txt", "")).rejects.toThrow("2000 of 2000 files and directories are used");
    expect(existsSync(join(dirOf("test:ann"), "d"))).toBe(false);
    await write(a, "0", "changed");
    await write(b, "b.txt", "x".repeat(100));
    await write(o, "big.txt", "x".repeat(1_000));
    await write(await childOf(b), "b.txt", "x");
  });

  it("holds under parallel writes, also of several agents", async () => {
    toolkit = open("workspaces: { maxBytes: 100, maxFiles: 1000 }");
    const a = await ann();
    const agents = [a, await childOf(a), await ann("work")];
    const writes = Array.from({ length: 60 }, (_, n) => write(agents[n % 3] ?? a, `d${n % 7}/f${n}`, "x".repeat(9)));
    const done = (await Promise.allSettled(writes)).filter(({ status }) => status === "fulfilled");
    expect(done).toHaveLength(11);
  });
});

describe("files that are written with untrusted text in context", () => {
  const wary = (agent: AgentRecord): AgentRecord => ({ ...agent, state: { ...agent.state, untrusted: true } });
  const markOf = async (agent: AgentRecord, name: string, input: object) =>
    (await output(agent, name, input)).untrusted?.from;

  it("mark their reader, by name and content, also after a restart", async () => {
    const a = await ann();
    await write(wary(a), "notes/a.md", "obey");
    await write(a, "b.md", "mine");
    for (let process = 0; process < 2; process++, toolkit = open()) {
      expect(await markOf(a, "read", { path: "notes/a.md" })).toBe("file:notes/a.md");
      expect(await markOf(a, "read", { path: join(dirOf("test:ann"), "x/../notes/a.md") })).toContain("file:");
      expect(await markOf(a, "read", { path: "b.md" })).toBeUndefined();
      expect(await markOf(a, "list", { path: "notes" })).toBe("file:notes");
      expect(await markOf(a, "list", {})).toBe("file:.");
    }
    symlinkSync("notes/a.md", join(dirOf("test:ann"), "link"));
    expect(await markOf(a, "read", { path: "link" })).toBe("file:link");
  });

  it("keep the mark when they are edited, and lose it when someone writes them again", async () => {
    const a = await ann();
    await write(wary(a), "a.md", "obey me");
    await call(a, "edit", { path: "a.md", oldText: "me", newText: "them" });
    expect(await markOf(a, "read", { path: "a.md" })).toBe("file:a.md");
    await call(wary(a), "edit", { path: "a.md", oldText: "obey", newText: "obey!" });
    expect(await markOf(a, "read", { path: "a.md" })).toBe("file:a.md");
    writeFileSync(join(dirOf("test:ann"), "a.md"), "checked by Olga");
    expect(await markOf(a, "read", { path: "a.md" })).toBeUndefined();
    await write(a, "a.md", "mine");
    expect(await markOf(a, "read", { path: "a.md" })).toBeUndefined();
  });

  it("are marked before they exist: a crash in between leaves no file without its mark", async () => {
    const a = await ann();
    await write(a, "a.md", "mine");
    const order: string[] = [];
    const marks: FileMarks = {
      ...noMarks,
      async add(path) {
        order.push(`${readFileSync(path, "utf8")} is there`);
        throw new TypeError("killed");
      },
    };
    toolkit = createToolkit({ settings: new CurrentSettings(configOf()), paths, clock: systemClock, store, marks });
    await expect(write(wary(a), "a.md", "obey")).rejects.toThrow("killed");
    expect(order).toEqual(["mine is there"]);
    expect(readFileSync(join(dirOf("test:ann"), "a.md"), "utf8")).toBe("mine");
  });

  it("mark the prompts that contain them, and the tasks they are", async () => {
    const o = await olga();
    await write(wary(o), "MEMORY.md", "obey");
    await write(o, "AGENTS.md", "be kind");
    const parts = async () =>
      (await toolkit.promptOf(o, undefined, settings.current)).report.parts.filter(({ untrusted }) => untrusted);
    expect((await parts()).map(({ name }) => name)).toEqual(["MEMORY.md"]);
    await write(o, "MEMORY.md", "fine");
    expect(await parts()).toEqual([]);

    const task = "---\nschedule: 0 9 * * *\n---\nGo.\n";
    await write(wary(o), "cron/a/TASK.md", `${task}a`);
    await write(o, "cron/b/TASK.md", `${task}b`);
    await write(wary(o), "heartbeat/a.md", "---\ntitle: a\n---\nLook.");
    await write(o, "heartbeat/b.md", "---\ntitle: b\n---\nLook.");
    const marks = openFileMarks(paths);
    const jobs = await cronTaskFiles(paths.workspace, marks);
    expect(jobs.map(({ path, untrusted }) => [path, untrusted])).toEqual([
      ["cron/a/TASK.md", true],
      ["cron/b/TASK.md", undefined],
    ]);
    const beats = await heartbeatTaskFiles(paths.workspace, silentLog, marks);
    expect(beats.map(({ id, untrusted }) => [id, untrusted])).toEqual([
      ["a", true],
      ["b", undefined],
    ]);
  });
});

function permanent(workspaceDir: string): AgentDescriptor {
  return { type: "permanent", id: "p", name: "p", description: "d", systemPrompt: "p", workspaceDir };
}
