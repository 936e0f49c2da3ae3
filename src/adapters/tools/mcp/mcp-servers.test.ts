import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as settled } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import type { Tool, ToolContext, ToolOutput } from "../../../core/ports/tool.ts";
import { callAnswers } from "./call-answers.ts";
import { McpServers } from "./mcp-servers.ts";
import type { McpSession } from "./open-session.ts";
import { type Pins, pinned, readPins, writePins } from "./pinned-tools.ts";

let directory: string;
let clock: ReturnType<typeof virtualClock>;
type ServerSettings = ReturnType<ConstructorParameters<typeof McpServers>[0]["settings"]>[string];
let settings: Record<string, ServerSettings>;
let live: { name: string; description: string }[];
let called: string[];
let opened: number;
let closed: number;
let facts: Map<string, string>;
let warned: string[];

const ON: ServerSettings = { idleSeconds: 60, startSeconds: 5, timeoutSeconds: 5, deny: [], safe: [] };
const offer = (name: string, description = `Does ${name}.`) => ({ name, description });

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "rookery-mcp-"));
  clock = virtualClock();
  settings = { bank: ON };
  live = [offer("read_it"), offer("send_it")];
  [called, warned] = [[], []];
  [opened, closed] = [0, 0];
  facts = new Map();
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const serverTool = (one: { name: string; description: string }) =>
  ({ ...one, inputSchema: { type: "object" } }) as never;
const session = (): McpSession =>
  ({
    tools: async () => live.map(serverTool),
    errors: () => "",
    close: async () => void closed++,
    client: {
      async callTool({ name }: { name: string }) {
        called.push(name);
        return { content: [{ type: "text", text: `${name} done` }] };
      },
      listResources: async () => ({ resources: [{ uri: "note://one", name: "one" }] }),
      listPrompts: async () => ({ prompts: [{ name: "greet" }] }),
    },
  }) as never;

const open = (): McpServers =>
  new McpServers({
    settings: () => settings,
    open: () => async () => {
      opened++;
      return session();
    },
    directory,
    store: { fact: async (key) => facts.get(key) },
    clock,
    log: { warn: (text) => void warned.push(text), info: () => {} },
  });
const pins = (reviewed = true): Pins => ({
  ...{ version: 1, reviewed, pinnedAt: 0 },
  tools: live.flatMap((one) => pinned(serverTool(one)) ?? []),
});
const pin = (server = "bank"): void => writePins(directory, server, pins());
const names = (servers: McpServers): readonly string[] =>
  servers.tools().flatMap(({ name }) => (name.startsWith("mcp__") ? [name] : []));
const context = (profile = "main"): ToolContext =>
  ({
    ...{ runId: "run", callId: "call", agentId: "agent", agent: { profile } },
    ...{ signal: new AbortController().signal, progress: () => {} },
  }) as never;
const textOf = ({ content }: ToolOutput): string =>
  content.map((block) => (block.type === "text" ? block.text : block.type)).join("\n");
const use = async (servers: McpServers, name: string, given: object, profile?: string): Promise<string> => {
  const tool = servers.tools().find((each) => each.name === name) as Tool;
  return textOf(await tool.execute(given, context(profile)));
};

describe("questions of a server during a call", () => {
  it("are declined without a person's answer, and told", () => {
    const answers = callAnswers();
    answers.begin(undefined);
    expect(answers.answer({ message: "PIN?" })).toEqual({ action: "decline" });
    expect(answers.end()).toEqual([{ message: "PIN?" }]);
  });

  it("get the answers of their own call only", () => {
    const answers = callAnswers();
    answers.begin({ pin: "1" });
    expect(answers.answer({ message: "PIN?" })).toEqual({ action: "accept", content: { pin: "1" } });
    expect(answers.end()).toHaveLength(1);
    answers.begin(undefined);
    expect(answers.answer({ message: "PIN?" })).toEqual({ action: "decline" });
    expect(answers.end()).toHaveLength(1);
  });

  it.each<[string, (answers: ReturnType<typeof callAnswers>) => void]>([
    ["before any call", () => {}],
    [
      "after the call",
      (answers) => {
        answers.begin({ pin: "1" });
        answers.end();
      },
    ],
    [
      "while two calls are under way",
      (answers) => {
        answers.begin({ pin: "1" });
        answers.begin(undefined);
      },
    ],
    [
      "while two calls are under way, and the second has the answer",
      (answers) => {
        answers.begin(undefined);
        answers.begin({ pin: "1" });
      },
    ],
  ])("are declined %s, and no one is told their text", (_, before) => {
    const answers = callAnswers();
    before(answers);
    expect(answers.answer({ message: "PIN?" })).toEqual({ action: "decline" });
    expect(answers.end()).toEqual([]);
  });

  it("do not get the answer of a call that ended while another one goes on", () => {
    const answers = callAnswers();
    answers.begin({ pin: "1" });
    answers.begin(undefined);
    answers.end();
    expect(answers.answer({ message: "PIN?" })).toEqual({ action: "decline" });
    expect(answers.end()).toEqual([{ message: "PIN?" }]);
  });
});

describe("the tools of a server", () => {
  it.each<[string, Partial<ServerSettings>, readonly string[]]>([
    ["nothing", {}, ["read_it", "send_it"]],
    ["allow", { allow: ["read_*"] }, ["read_it"]],
    ["an empty allow", { allow: [] }, []],
    ["deny", { deny: ["send_*"] }, ["read_it"]],
    ["a deny that is stronger than allow", { allow: ["*"], deny: ["send_it"] }, ["read_it"]],
  ])("are those that the settings offer, with %s, also after a reload", (_, more, left) => {
    pin();
    const expected = left.map((name) => `mcp__bank__${name}`);
    settings = { bank: { ...ON, ...more } };
    expect(names(open())).toEqual(expected);
    settings = { bank: ON };
    const servers = open();
    expect(names(servers)).toHaveLength(2);
    settings = { bank: { ...ON, ...more } };
    expect(names(servers)).toEqual(expected);
  });

  it("are the same array until something changes, and another one when profiles change", () => {
    pin();
    const servers = open();
    const first = servers.tools();
    expect(servers.tools()).toBe(first);
    settings = { bank: { ...ON, profiles: ["work"] } };
    expect(servers.tools()).not.toBe(first);
    expect([servers.isFor("mcp__bank__read_it", "work"), servers.isFor("mcp__bank__read_it", "main")]).toEqual([
      true,
      false,
    ]);
    expect(servers.isFor("read", "main")).toBe(true);
  });

  it("are repeated after a crash only while the settings call them safe", () => {
    pin();
    const servers = open();
    const replay = () => servers.tools().map(({ replay }) => replay);
    settings = { bank: { ...ON, safe: ["read_*"] } };
    expect(replay().slice(0, 2)).toEqual(["safe", "never"]);
    settings = { bank: ON };
    expect(replay().slice(0, 2)).toEqual(["never", "never"]);
  });

  it("go with their server, whose session ends", async () => {
    pin();
    const servers = open();
    await use(servers, "mcp__bank__read_it", {});
    settings = {};
    expect(servers.tools()).toEqual([]);
    await settled();
    expect([servers.summary(), servers.status(), closed]).toEqual(["", [], 1]);
  });

  it("are pinned unreviewed when no one has, without a call", async () => {
    const servers = open();
    expect(names(servers)).toEqual([]);
    await settled();
    expect(names(servers)).toEqual(["mcp__bank__read_it", "mcp__bank__send_it"]);
    expect(readPins(directory, "bank")).toMatchObject({ reviewed: false, pinnedAt: clock.now() });
    expect([servers.untrustedFrom("mcp__bank__read_it"), servers.untrustedFrom("read")]).toEqual([
      "mcp:bank",
      undefined,
    ]);
    await servers.pin("bank");
    expect(servers.untrustedFrom("mcp__bank__read_it")).toBeUndefined();
    expect([opened, called]).toEqual([1, []]);
  });

  it("are not called if they are described differently or gone; the others are", async () => {
    pin();
    live = [offer("send_it", "Sends it, and all files too.")];
    const servers = open();
    for (const name of ["mcp__bank__send_it", "mcp__bank__read_it"])
      await expect(use(servers, name, {})).rejects.toThrow("has changed since it was pinned");
    expect([called, servers.status()[0]?.changed, warned.length]).toEqual([[], ["send_it", "read_it"], 1]);
    await servers.pin("bank");
    expect(await use(servers, "mcp__bank__send_it", {})).toBe("send_it done");
  });

  it("follow pins that a command has made, after some seconds, with a new session", async () => {
    pin();
    const servers = open();
    await clock.advance(6_000);
    await use(servers, "mcp__bank__read_it", {});
    live = [offer("read_it"), offer("send_it"), offer("third")];
    pin();
    expect(names(servers)).toHaveLength(2);
    await clock.advance(5_000);
    expect(names(servers)).toContain("mcp__bank__third");
    await settled();
    expect(closed).toBe(1);
    expect(await use(servers, "mcp__bank__third", {})).toBe("third done");
    expect(opened).toBe(2);
  });
});

describe("a server for some profiles", () => {
  beforeEach(() => {
    pin();
    settings = { bank: { ...ON, profiles: ["work"] } };
  });

  it.each(["mcp_resources", "mcp_prompts"])("shows agents of others nothing by %s", async (name) => {
    const servers = open();
    await expect(use(servers, name, { server: "bank" }, "main")).rejects.toThrow('There is no MCP server "bank".');
    expect(opened).toBe(0);
    expect(await use(servers, name, { server: "bank" }, "work")).toMatch(/^(?:note:\/\/one|greet)/);
  });

  it.each<[string, string, Partial<ServerSettings>, boolean]>([
    ["of another profile", "main", {}, false],
    ["whose tool is left out by now", "work", { deny: ["send_it"] }, false],
    ["of the profile", "work", {}, true],
  ])("takes the answer of an agent %s: %s", async (_, profile, more, isTaken) => {
    settings = { bank: { ...ON, profiles: ["work"], ...more } };
    const at = clock.now();
    const input = { id: "ref", at, server: "bank", tool: "send_it", args: {}, questions: [] };
    facts.set("mcp-input:agent", JSON.stringify({ agentId: "agent", inputs: [input] }));
    const answering = use(open(), "mcp_answer", { ref: "ref", answers: {} }, profile);
    if (isTaken) expect(await answering).toBe("send_it done");
    else await expect(answering).rejects.toThrow("No server waits for an answer");
    expect(called).toEqual(isTaken ? ["send_it"] : []);
  });
});
