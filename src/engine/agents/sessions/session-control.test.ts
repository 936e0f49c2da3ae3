/** What programs may change in a session: what is refused at once, and what is posted. No engine. */
import { describe, expect, it, test } from "vitest";
import { entryLine } from "../../../core/history/entry.ts";
import type { AgentId, EntryId } from "../../../core/ids.ts";
import { type CheckSettings, SessionControl } from "./session-control.ts";

const AGENT = "a1" as AgentId;

function world(check?: CheckSettings) {
  const posted: object[] = [];
  const entries = [
    { type: "start", id: "m0", parentId: null, sessionId: "s1", timestamp: 1 },
    // Only damaged history has a header behind the first line.
    { type: "session", id: "h0", version: 3, timestamp: "2026-01-01T00:00:00Z" },
    { type: "message", id: "e0", parentId: "m0", role: "user", content: [], timestamp: 1 },
  ];
  const store = {
    agent: async (id: AgentId) =>
      id === AGENT ? { id, sessionId: "s1", profile: "main", state: { updatedAt: 1, label: "mine" } } : undefined,
    linesBack: async (id: AgentId) =>
      (id === AGENT ? entries : []).map((entry, position) => ({ position, line: entryLine(entry as never) })).reverse(),
  };
  const post = async (request: object) => {
    posted.push(request);
    return { status: "accepted" };
  };
  const postAndAwait = async (request: object, waiting: object) => {
    await new Promise((resolve) => setImmediate(resolve));
    posted.push(request, waiting);
  };
  const control = new SessionControl(store as never, { post } as never, { postAndAwait } as never, check);
  return { control, posted };
}

describe("a change of settings", () => {
  it("is posted as it was asked for, once it was checked with the state that it leads to", async () => {
    const asked: unknown[] = [];
    const { control, posted } = world(async ({ profile, state }, patch) => void asked.push(profile, state, patch));
    expect(await control.patch(AGENT, { queueCap: 3 })).toEqual({ status: "accepted" });
    expect(posted).toEqual([{ to: { agentId: AGENT }, body: { kind: "setting", patch: { queueCap: 3 } } }]);
    expect(asked).toMatchObject(["main", { queueCap: 3, label: "mine" }, { queueCap: 3 }]);
  });

  test.each<[string, object, CheckSettings | undefined, string]>([
    ["a wrong value", { queueCap: 0 }, undefined, "queueCap: expected"],
    ["what the agent cannot have", { queueCap: 3 }, async () => "No such model.", "No such model."],
  ])("is refused at once for %s", async (_title, patch, check, text) => {
    const { control, posted } = world(check);
    await expect(control.patch(AGENT, patch)).rejects.toThrow(text);
    expect(posted).toEqual([]);
  });
});

describe("a change of rules", () => {
  it("is posted, and refused at once if the new rule is none", async () => {
    const { control, posted } = world();
    for (const rules of [{ add: { deny: "exec(x)" } }, { remove: "exec(x)" }]) await control.changeRules(AGENT, rules);
    await expect(control.changeRules(AGENT, { add: { deny: "no rule(" } })).rejects.toThrow();
    expect(posted).toMatchObject([
      { to: { agentId: AGENT }, body: { kind: "setting", rules: { add: { deny: "exec(x)" } } } },
      { body: { kind: "setting", rules: { remove: "exec(x)" } } },
    ]);
  });
});

describe("a way back", () => {
  test.each<[string, string | undefined, string | undefined]>([
    ["a summary of the greatest length", "x".repeat(100_000), "x".repeat(100_000)],
    ["an empty summary, which is none", "", undefined],
    ["no summary", undefined, undefined],
  ])("is posted with %s", async (_title, summary, kept) => {
    const { control, posted } = world();
    await control.postBranch(AGENT, "e0" as EntryId, summary);
    const request = { to: { agentId: AGENT }, body: { kind: "branch", entryId: "e0", summary: kept } };
    expect(posted).toEqual([request]);
    await control.branch(AGENT, "e0" as EntryId, { summary, timeoutMs: 9 });
    expect(posted.slice(1)).toEqual([request, { timeoutMs: 9 }]);
  });

  test.each<[string, string, string | undefined, string]>([
    ["a longer summary", "e0", "x".repeat(100_001), "at most 100000"],
    ["an entry of another session", "e9", undefined, "The entry e9 is not part of the current session."],
    ["a header", "h0", undefined, "The entry h0 is not part of the current session."],
  ])("is refused at once for %s", async (_title, entry, summary, text) => {
    const { control, posted } = world();
    await expect(control.postBranch(AGENT, entry as EntryId, summary)).rejects.toThrow(text);
    await expect(control.branch(AGENT, entry as EntryId, { summary })).rejects.toThrow(text);
    expect(posted).toEqual([]);
  });
});

it("changes nothing of an agent that does not exist", async () => {
  const { control, posted } = world();
  const gone = "nobody" as AgentId;
  await expect(control.patch(gone, {})).rejects.toThrow("There is no agent nobody.");
  await expect(control.changeRules(gone, { remove: "x" })).rejects.toThrow("There is no agent nobody.");
  await expect(control.branch(gone, "e0" as EntryId)).rejects.toThrow("There is no agent nobody.");
  expect(posted).toEqual([]);
});
