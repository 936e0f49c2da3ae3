import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import type { EntryId, SessionId } from "../../../core/ids.ts";
import { exportSession } from "./export-session.ts";
import { readTranscript } from "./read-transcript.ts";

const group: AgentDescriptor = { type: "user", connector: "test", userId: "ann", channelId: "g", peerKind: "group" };
const inThread = { ...group, threadId: 42 } as AgentDescriptor;

async function tell(engine: TestEngine, descriptor: AgentDescriptor, text: string): Promise<void> {
  await engine.system.post({ to: { descriptor }, body: { kind: "user", text } });
  await engine.settle();
}
const agentOf = async (engine: TestEngine, key: string) => (await engine.store.agentByKey(key as never)) as AgentRecord;
const words = (text: string): readonly string[] =>
  readTranscript(text).entries.flatMap((entry) => (JSON.stringify(entry).match(/"text":"([^"]*)"/) ?? []).slice(1));

describe("a session as a file", () => {
  it("is named after the session; the file of a thread also after its topic, and its header names the parent session", async () => {
    const engine = await TestEngine.open();
    await tell(engine, group, "one");
    await tell(engine, inThread, "two");
    const [parent, child] = [
      await agentOf(engine, "agent:main:test:group:g"),
      await agentOf(engine, "agent:main:test:group:g:thread:42"),
    ];
    expect((await exportSession(engine.store, parent)).name).toBe(`${parent.sessionId}.jsonl`);
    const { name, text, skipped } = await exportSession(engine.store, child, { cwd: "/desk" });
    expect(name).toBe(`${child.sessionId}-topic-42.jsonl`);
    expect(skipped).toEqual([]);
    expect(JSON.parse(text.split("\n")[0] ?? "")).toMatchObject({
      ...{ type: "session", version: 2, id: child.sessionId, cwd: "/desk", parentSession: parent.sessionId },
    });
    expect(words(text)).toEqual(["one", "answer to one", "two", "answer to two"]);
  });

  it("can be an earlier session, with the tip it had when the next one began", async () => {
    const engine = await TestEngine.open();
    for (const text of ["one", "two"]) await tell(engine, group, text);
    const first = await agentOf(engine, "agent:main:test:group:g");
    const entries = await engine.entries(first.id);
    const target = entries.find((entry) => JSON.stringify(entry).includes("answer to one"))?.id as EntryId;
    void engine.system.sessions.branch(first.id, target);
    await engine.settle();
    await engine.system.post({ to: { descriptor: group }, body: { kind: "reset", by: "person" } });
    await tell(engine, group, "three");
    const now = await agentOf(engine, "agent:main:test:group:g");
    const old = await exportSession(engine.store, now, { sessionId: first.sessionId });
    expect(words(old.text)).toEqual(["one", "answer to one", "two", "answer to two"]);
    expect(JSON.parse(old.text.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({ type: "custom", parentId: target });
    expect(words((await exportSession(engine.store, now)).text)).toEqual(["three", "answer to three"]);
    await expect(exportSession(engine.store, now, { sessionId: "x" as SessionId })).rejects.toThrow("has no session x");
  });
});
