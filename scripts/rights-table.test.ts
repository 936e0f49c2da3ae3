/** Every cell of the table of rights, asked at the gate itself. */

import { describe, expect, it } from "vitest";
import { toolHost } from "../src/adapters/tools/tool-host.ts";
import type { AgentRecord } from "../src/core/agent/agent.ts";
import type { RunId } from "../src/core/ids.ts";
import type { PersonId, Role } from "../src/core/people/person.ts";
import type { Tool } from "../src/core/ports/tool.ts";
import type { RunBody } from "../src/core/run/run.ts";
import type { PeopleNow } from "../src/engine/people/directory.ts";
import { gateOf } from "../src/engine/rights/gate.ts";
import { testSettings } from "../test/kit/settings.ts";
import { cells, older, standingOf, TAG, tools } from "./rights/rights-table.ts";
import { readPage, withTable } from "./rights-table.ts";

/** The effects of a call are not part of the table. */
const host = (role: Role) =>
  toolHost({
    tools: tools.map((tool): Tool => ({ ...tool, effects: undefined })),
    older,
    standingOf: () => standingOf(role),
  });
const now = { revision: 1, standing: (id: PersonId) => standingOf(id as unknown as Role) } as PeopleNow;
const agentOf = (type: string): AgentRecord =>
  ({ id: "a", profile: "main", descriptor: { type, tag: TAG }, state: {} }) as unknown as AgentRecord;

describe("the table of rights", () => {
  it("is up to date in docs/rights.md", () => {
    expect(withTable(readPage()) === readPage(), "run npm run tool -- rights --write").toBe(true);
  });

  it("says in every cell what the gate decides, and lists show what it allows", async () => {
    const wrong: string[] = [];
    for (const { tool, kind, role, reason } of cells) {
      const list = host(role);
      const gate = gateOf({
        settings: testSettings(),
        tools: list,
        directory: { now: async () => now },
        personOf: async () => undefined,
      });
      const body = { behalf: { person: role as unknown as PersonId } } as RunBody;
      const call = { callId: "c", name: tool, arguments: {}, replay: "safe", state: "asked" } as const;
      const { calls } = await gate.judge(agentOf(kind), { id: "r" as RunId, body }, [call]);
      const isAllowed = calls[0]?.decision.verdict === "allow";
      const isListed = list.list(agentOf(kind)).some(({ name }) => name === tool);
      if (isAllowed !== (reason === "") || isListed !== isAllowed) wrong.push(`${tool} ${kind} ${role}: ${reason}`);
    }
    expect(wrong).toEqual([]);
    expect(cells.length).toBe(tools.length * 28);
  });

  it("holds for a tool under an older name as for its present one", async () => {
    const renamed = older.map(({ name, renamed }) => [name, renamed]);
    expect(renamed).toEqual([["send_session_message", "send_agent_message"]]);
    for (const { tool, kind, role, reason } of cells.filter((cell) => cell.tool === "send_agent_message")) {
      const gate = gateOf({
        settings: testSettings(),
        tools: host(role),
        directory: { now: async () => now },
        personOf: async () => undefined,
      });
      const body = { behalf: { person: role as unknown as PersonId } } as RunBody;
      // Arguments that the tool refuses reach no one.
      const call = {
        callId: "c",
        name: "send_session_message",
        arguments: {},
        replay: "safe",
        state: "asked",
      } as const;
      const { calls } = await gate.judge(agentOf(kind), { id: "r" as RunId, body }, [call]);
      expect(calls[0]?.decision.verdict === "allow", `${tool} ${kind} ${role}`).toBe(reason === "");
    }
  });
});
