import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Tool, ToolContext } from "../../core/ports/tool.ts";
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
