import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { AGENT_KINDS, type AgentKind } from "../../core/agent/descriptor.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Tool, ToolContext } from "../../core/ports/tool.ts";
import {
  CHILD_DENY,
  CHILD_DENY_LASTING,
  FOREGROUND_ONLY,
  mayUse,
  SWARM_TOOLS,
  type ToolPolicy,
} from "../../core/rights/kind-rules.ts";
import { currentTimeTool } from "./current-time.ts";
import { toolHost } from "./tool-host.ts";

const tool = (name: string): Tool => ({
  name,
  description: name,
  input: z.object({}),
  rights: [],
  replay: "safe",
  parallel: true,
  maxOutput: 10,
  execute: async () => ({ content: [] }),
});

describe("mayUse", () => {
  const table: readonly [string, AgentKind, ToolPolicy | undefined, boolean][] = [
    ["read", "user", undefined, true],
    ["read", "subagent", undefined, true],
    ["read", "user", { allow: ["write"] }, false],
    ["read", "user", { allow: ["read"] }, true],
    ["read", "user", { allow: [] }, false],
    ["read", "user", { allow: ["*"], deny: ["read"] }, false],
    ["read", "user", { allow: ["read"], deny: ["*"] }, false],
    ["cron_add", "user", { deny: ["cron_*"] }, false],
    ["current_time", "user", { deny: ["cron_*"] }, true],
    ["sessions_spawn", "user", undefined, true],
    ["sessions_spawn", "subagent", undefined, false],
    ["sessions_spawn", "subagent", { allow: ["*"] }, false],
    ["sessions_spawn", "subagent", { subagents: { allow: ["sessions_spawn"] } }, true],
    ["sessions_spawn", "subagent", { subagents: { allow: ["*"], deny: ["sessions_*"] } }, false],
    ["sessions_spawn", "subagent", { deny: ["sessions_spawn"], subagents: { allow: ["*"] } }, false],
    ["read", "subagent", { subagents: { deny: ["read"] } }, false],
    ["read", "user", { subagents: { deny: ["read"] } }, true],
    ["send_file", "user", undefined, true],
    ["send_file", "cron", undefined, false],
    ["set_reaction", "permanent", { allow: ["*"] }, false],
  ];
  it.each(table)("%s for the kind %s with the policy %j: %j", (name, kind, policy, expected) => {
    expect(mayUse(name, kind, policy)).toBe(expected);
  });

  it("allows a swarm's agents only what they need to answer, and the doctor its own tool", () => {
    for (const name of SWARM_TOOLS) expect(mayUse(name, "swarm")).toBe(true);
    for (const name of ["read", "write", "sessions_send", "create_swarm", "diagnose"]) {
      expect(mayUse(name, "swarm"), name).toBe(false);
    }
    expect(mayUse("current_time", "swarm", { deny: ["*"] })).toBe(false);
    for (const kind of AGENT_KINDS) expect(mayUse("diagnose", kind)).toBe(false);
    expect([
      mayUse("diagnose", "system", {}, { tag: "librarian" }),
      mayUse("diagnose", "system", {}, { tag: "doctor" }),
    ]).toEqual([false, true]);
  });

  it("denies the listed tools to subagents, and tools that need a person to all but user agents", () => {
    for (const name of [...CHILD_DENY, ...CHILD_DENY_LASTING]) {
      for (const kind of AGENT_KINDS.filter((one) => one !== "swarm")) {
        expect(mayUse(name, kind), `${kind} ${name}`).toBe(kind !== "subagent");
      }
    }
    for (const name of FOREGROUND_ONLY) {
      for (const kind of AGENT_KINDS) expect(mayUse(name, kind)).toBe(kind === "user");
    }
  });
});

describe("the tool host", () => {
  const a = { profile: "main", descriptor: { type: "user" }, state: {} } as AgentRecord;
  const b = { profile: "work", descriptor: { type: "subagent" }, state: {} } as AgentRecord;
  const options = {
    policyOf: (profile: string) => (profile === "work" ? { deny: ["write"] } : undefined),
  };
  const names = (tools: readonly Tool[]): readonly string[] => tools.map(({ name }) => name);

  it("returns the tools of an agent's kind and profile, sorted by name", () => {
    const host = toolHost({ ...options, tools: [tool("write"), tool("cron"), tool("read")] });
    expect(names(host.list(a))).toEqual(["cron", "read", "write"]);
    expect(names(host.list(b))).toEqual(["read"]);
    expect(host.find(b, "write")).toBeUndefined();
    expect(host.find(a, "write")?.name).toBe("write");
  });

  it("gives a child with another profile no tool that its parent lacks", () => {
    const host = toolHost({ ...options, tools: [tool("write"), tool("read")] });
    const child = { ...b, profile: "main", state: { inheritedTools: ["read", "gone"] } } as unknown as AgentRecord;
    expect(names(host.list(child))).toEqual(["read"]);
    expect(host.find(child, "write")).toBeUndefined();
  });

  it("gives subagents the tools for children only if nesting is allowed", () => {
    const tools = [tool("sessions_spawn"), tool("start_background_agent"), tool("subagents"), tool("sessions_list")];
    expect(names(toolHost({ tools }).list(b))).toEqual([]);
    expect(names(toolHost({ tools, nesting: () => true }).list(b))).toEqual([
      "sessions_spawn",
      "start_background_agent",
      "subagents",
    ]);
  });

  it("refuses two tools of one name", () => {
    expect(() => toolHost({ ...options, tools: [tool("read"), tool("read")] })).toThrow("two tools called read");
  });
});

describe("current_time", () => {
  const context = { agentId: "a" as AgentId, runId: "r" as RunId } as ToolContext;
  const clock = { now: () => Date.parse("2026-03-29T01:30:00Z") };

  it.each([
    [undefined, "Sunday, 2026-03-29 01:30:00 (UTC)"],
    ["Europe/Berlin", "Sunday, 2026-03-29 03:30:00 (Europe/Berlin)"],
  ])("returns the time in %s", async (timeZone, first) => {
    const { content } = await currentTimeTool(clock, () => "UTC").execute({ timeZone }, context);
    expect(content).toEqual([{ type: "text", text: `${first}, 2026-03-29T01:30:00.000Z` }]);
  });

  it("names an unknown time zone", async () => {
    const call = currentTimeTool(clock, () => "UTC").execute({ timeZone: "Mars/Olympus" }, context);
    await expect(call).rejects.toThrow('Unknown time zone "Mars/Olympus".');
  });
});
