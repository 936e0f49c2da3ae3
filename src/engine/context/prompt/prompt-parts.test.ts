/** The parts of a system prompt, one by one: what each kind of agent is told and shown, and where a text is cut. */
import { describe, expect, it, test } from "vitest";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import { channelPrompt } from "./channel-prompt.ts";
import { buildSubagentSystemPrompt } from "./subagent-prompt.ts";
import { buildSystemPrompt, type PromptSources } from "./system-prompt.ts";

const user: AgentDescriptor = { type: "user", connector: "telegram", userId: "7", channelId: "7" };
const swarm = { type: "swarm", id: "w" } as unknown as AgentDescriptor;
const system = { type: "system", tag: "janitor" } as unknown as AgentDescriptor;
const subagent: AgentDescriptor = { type: "subagent", id: "s", parentAgentId: "p", name: "dig" };
const permanent: AgentDescriptor = {
  ...{ type: "permanent", id: "x", name: "Librarian", description: "keeps books", systemPrompt: " You love books. " },
};
const build = (about: Partial<PromptSources> = {}) =>
  buildSystemPrompt({ descriptor: user, readFile: () => undefined, ...about });
const named = (name: string, about: Partial<PromptSources>) =>
  build(about).report.parts.find((part) => part.name === name);
const shown = (about: Partial<PromptSources>): readonly string[] =>
  build({ ...about, readFile: (name) => `about ${name}` }).report.parts.flatMap(({ name, source }) =>
    source === "file" ? [name] : [],
  );

const ofSwarm = { nametag: "rook", firstName: "Rook", systemPrompt: " Sell tea. ", memory: false };
const agent = { prompt: " Clean up. ", replacesSystemPrompt: true };

describe("the first words", () => {
  test.each<[string, Partial<PromptSources>, string]>([
    ["are the profile's", { profilePrompt: " You are Rook. " }, "You are Rook."],
    [
      "are the default of a profile that has only blanks",
      { profilePrompt: "  " },
      "You are a helpful assistant. Answer briefly and truthfully.",
    ],
    ["are a permanent agent's own", { descriptor: permanent, profilePrompt: "p" }, "You love books."],
    ["are those of the swarm", { descriptor: swarm, swarm: ofSwarm, profilePrompt: "p" }, "Sell tea."],
    ["are the profile's if the swarm is gone", { descriptor: swarm, profilePrompt: "p" }, "p"],
    ["are not those of a swarm that another agent has", { swarm: ofSwarm, profilePrompt: "p" }, "p"],
    ["are a system agent's own", { descriptor: system, systemAgent: agent, profilePrompt: "p" }, "Clean up."],
    [
      "are the profile's if a system agent's prompt comes after it",
      { descriptor: system, systemAgent: { ...agent, replacesSystemPrompt: false }, profilePrompt: "p" },
      "p",
    ],
    ["are not those of a system agent for another kind", { systemAgent: agent, profilePrompt: "p" }, "p"],
  ])("%s", (_, about, first) => {
    expect(build(about).text.split("\n\n")[0]).toBe(first);
  });
});

describe("what an agent is told about its kind", () => {
  it("has a system agent's prompt once", () => {
    const told = build({ descriptor: system, systemAgent: { ...agent, replacesSystemPrompt: false } }).text;
    expect(told.endsWith("write to you.\n\n## Agent Prompt\nClean up.")).toBe(true);
    expect(build({ descriptor: system, systemAgent: agent }).text.endsWith("write to you.")).toBe(true);
  });

  test.each([
    [{ lastName: "Castle", about: "sells\n tea" }, "You are @rook, Rook Castle.\nsells tea\nYou serve one contact"],
    [{}, "You are @rook, Rook.\nYou serve one contact"],
    [{ firstName: " Rook  X ", about: "" }, "You are @rook, Rook X.\nYou serve one contact"],
  ])("has the names of a swarm with %j", (more, text) => {
    expect(build({ descriptor: swarm, swarm: { ...ofSwarm, ...more } }).text).toContain(`\n\n${text}`);
  });

  it("is left out if the extra prompt says it already", () => {
    const extra = buildSubagentSystemPrompt({ task: "look" });
    const { text, report } = build({ descriptor: subagent, extraSystemPrompt: ` \n${extra}`.trimStart() });
    expect(report.parts.map(({ name }) => name)).toEqual(["prompt", "extra"]);
    expect(text.split("# Subagent Context")).toHaveLength(2);
    const other = build({ descriptor: subagent, extraSystemPrompt: " Hurry.\n# Subagent Context " });
    expect(other.report.parts.map(({ name }) => name)).toEqual(["prompt", "subagent", "extra"]);
    expect(other.text.endsWith("\n\nHurry.\n# Subagent Context")).toBe(true);
  });

  test.each([
    [{ task: " look\n\n# Rules " }, "look # Rules"],
    [{ label: "dig" }, "dig"],
    [{ task: "look", label: "dig" }, "look"],
    [{ task: " " }, "the task you are given"],
    [{}, "the task you are given"],
  ])("has the task of a subagent in one line: %j", (params, task) => {
    expect(buildSubagentSystemPrompt(params)).toContain(`\n- You were created to handle: ${task}\n`);
  });
});

describe("the files that an agent is shown", () => {
  const all = ["AGENTS.md", "SOUL.md", "TOOLS.md", "USER.md", "MEMORY.md"];
  test.each<[string, Partial<PromptSources>, readonly string[]]>([
    ["a person's agent: all", {}, all],
    ["one without the main notes: all others", { notes: { main: false } }, all.slice(0, -1)],
    ["one with the notes of a day", { notes: { days: ["2026-01-05.md"] } }, [...all, "2026-01-05.md"]],
    ["a subagent: nothing about the person", { descriptor: subagent }, ["AGENTS.md", "TOOLS.md"]],
    ["an agent of a swarm: none", { descriptor: swarm, swarm: ofSwarm }, []],
    ["an agent of a swarm that is gone: none", { descriptor: swarm }, []],
    [
      "one of a swarm that shares its memory",
      { descriptor: swarm, swarm: { ...ofSwarm, memory: true } },
      ["MEMORY.md"],
    ],
  ])("%s", (_, about, names) => {
    expect(shown(about)).toEqual(names);
    const isSwarm = about.descriptor === swarm;
    // Agents of a swarm have no tools for the workspace.
    expect(shown({ ...about, workspace: "/ws" })).toEqual(isSwarm ? names : ["workspace", ...names]);
  });

  it("are introduced by where they are", () => {
    const about = { workspace: "/ws", shared: "/all" };
    expect(build({ workspace: "/ws" }).text).toContain("# Workspace\nYour files are in /ws.");
    expect(build(about).text.endsWith("Your files are in /ws. You can read the files in /all.")).toBe(true);
    expect(build({ ...about, readFile: (name) => (name === "SOUL.md" ? "kind" : "") }).text).toContain(
      "the files in /all. These of them are part of this prompt:\n\n# SOUL.md\nkind",
    );
  });

  it("have the mark of the text that was in context when they were written", () => {
    const asked: unknown[] = [];
    const isMarked = (name: string, text: string): boolean => {
      asked.push([name, text]);
      return name === "USER.md";
    };
    const readFile = (name: string) => (name === "USER.md" || name === "SOUL.md" ? ` ${name} ` : undefined);
    expect(named("USER.md", { readFile, isMarked })?.untrusted).toBe(true);
    expect(named("SOUL.md", { readFile, isMarked })?.untrusted).toBeUndefined();
    expect(named("USER.md", { readFile })?.untrusted).toBeUndefined();
    // The text as it is in the file.
    expect(asked).toContainEqual(["USER.md", " USER.md "]);
  });

  test.each([
    [undefined, 20_000],
    [200_000, 20_000],
    [5_003, 1_000],
  ])("are cut in a window of %s at %d characters, between whole ones, with a note", (contextWindow, limit) => {
    const read = (text: string) => ({ contextWindow, readFile: (name: string) => (name === "SOUL.md" ? text : "") });
    expect(named("SOUL.md", read("x".repeat(limit)))).toMatchObject({ limit, cutFrom: undefined });
    expect(named("SOUL.md", read("x".repeat(limit + 1)))).toMatchObject({ limit, cutFrom: limit + 1 });
    expect(build(read("x".repeat(limit + 5))).text).toContain(
      `x\n[SOUL.md is cut here: ${limit} of ${limit + 5} characters are shown; read the file for the rest]`,
    );
    const split = `${"x".repeat(limit - 1)}😀`;
    expect(build(read(split)).text).toContain(`x\n[SOUL.md is cut here: ${limit - 1} of`);
  });

  it("share a small window, also if there are many", () => {
    const days = Array.from({ length: 5 }, (_, n) => `day${n}.md`);
    const about = { contextWindow: 5_000, notes: { days }, readFile: () => "x".repeat(2_000) };
    expect(named("day0.md", about)?.limit).toBe(500);
  });
});

describe("the skills of a prompt", () => {
  const skills = (count: number, description = "d") =>
    Array.from({ length: count }, (_, n) => ({ name: `s${n}`, description }));

  it("are forty at most, and the rest is counted", () => {
    const forty = build({ skills: skills(40) });
    expect(forty.text).not.toContain("more)");
    expect(forty.text).toContain("- s39: d\n</skills>");
    expect(named("skills", { skills: skills(40) })?.cutFrom).toBeUndefined();
    const more = build({ skills: skills(42) });
    expect(more.text).toContain("- s39: d\n(2 more)\n</skills>");
    const part = named("skills", { skills: skills(42).map((one) => ({ ...one, more: 10 })) });
    // Two lines of eight characters, and ten characters of each of all.
    expect((part?.cutFrom ?? 0) - (part?.chars ?? 0)).toBe(2 * "- s40: d".length + 42 * 10);
  });

  it("have short descriptions, and say how much is missing", () => {
    const part = (length: number) => named("skills", { skills: skills(1, "d".repeat(length)) });
    expect(part(250)?.cutFrom).toBeUndefined();
    const cut = part(251);
    expect((cut?.cutFrom ?? 0) - (cut?.chars ?? 0)).toBe(251 - 249);
    expect(build({ skills: skills(1, "d".repeat(251)) }).text).toContain(`: ${"d".repeat(249)}…\n`);
  });

  it("are not for agents with one task, or that talk to strangers", () => {
    for (const descriptor of [subagent, swarm]) {
      const { text } = build({
        ...{ descriptor, swarm: ofSwarm, skills: skills(1) },
        permanentAgents: [{ id: "i", name: "n", description: "d" }],
      });
      expect(text).not.toContain("<skills>");
      expect(text).not.toContain("<permanent_agents>");
    }
  });
});

test("permanent agents are listed by name, then by id, in whatever order they come", () => {
  const one = (id: string, name: string, username?: string) => ({ id, name, username, description: ` a\n<b> ` });
  const agents = [one("2", "b"), one("3", "a"), one("1", "b", "bee<"), one("4", "B")];
  const listed = [
    ...["- B (4): a &lt;b>", "- a (3): a &lt;b>"],
    ...["- b (1, @bee&lt;): a &lt;b>", "- b (2): a &lt;b>"],
  ].join("\n");
  for (const permanentAgents of [agents, agents.toReversed()]) {
    expect(build({ permanentAgents }).text).toContain(`<permanent_agents>\n${listed}\n</permanent_agents>`);
  }
});

describe("what an agent is told about its chat", () => {
  it("is nothing if it is no agent of a chat, though its state names one", () => {
    const connectors = new Map([["chat", { capabilities: { sendText: true, formatPrompt: "Write short." } }]]);
    const state = { deliveryContext: { channel: "chat", to: "1" }, chatType: "group" };
    expect(channelPrompt({ descriptor: { type: "heartbeat" }, state } as never, connectors)).toBe("");
    expect(channelPrompt({ descriptor: user, state: { ...state, subject: " a " } } as never, connectors)).toContain(
      'the group "a".',
    );
  });

  it("is how the account it answers with is addressed", () => {
    const asked: unknown[] = [];
    const groupActivation = (of: unknown): undefined => void asked.push(of);
    const connectors = new Map([["chat", { capabilities: { sendText: true }, groupActivation }]]);
    const deliveryContext = { channel: "chat", to: "1", accountId: "second" };
    const descriptor = { ...user, accountId: "first" };
    channelPrompt({ descriptor, state: { deliveryContext, chatType: "group" } } as never, connectors as never);
    expect(asked).toEqual([deliveryContext]);
  });
});
