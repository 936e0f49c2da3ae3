import { describe, expect, it } from "vitest";
import { type TestEngine, TestEngine as TestEngineOf } from "../../../test/kit/engine.ts";
import { seedAgent } from "../context/seed-agent.ts";
import { recipientOf, staleTraceKey, accept as take } from "./accept.ts";

const HORIZON = 1_000_000;

/** Accepts into a store without running agents. */
async function api() {
  const engine: TestEngine = TestEngineOf.unloaded();
  const ports = engine.ports({ alive: true, name: "desk" });
  const to = recipientOf(
    seedAgent(ports.ids, { type: "user", connector: "test", userId: "ann", channelId: "ann" }, engine.clock.now()),
  );
  const accept = (message: object = {}, more: object = {}) =>
    take(ports, {
      to,
      replayHorizonMs: HORIZON,
      message: { body: { kind: "user", text: "hi" }, acceptedAt: engine.clock.now(), ...message } as never,
      ...more,
    });
  const kept = async () => {
    const agents = await engine.store.agents({ limit: 9 });
    return (await Promise.all(agents.map(({ id }) => engine.store.messages(id, { limit: 99 })))).flat();
  };
  return { engine, accept, kept };
}

const source = { connector: "test", channelId: "ann", messageId: "1" };

describe("accept", () => {
  it("creates the agent with its first message, and numbers the messages", async () => {
    const { accept } = await api();
    expect(await accept()).toMatchObject({ status: "accepted", seq: 1, created: true });
    expect(await accept()).toMatchObject({ status: "accepted", seq: 2, created: false });
  });

  for (const [what, message] of [
    ["without a body", { body: undefined }],
    ["of an unknown kind", { body: { kind: "telepathy" } }],
    ["without text", { body: { kind: "user" } }],
    ["with an empty address", { delivery: { channel: "" } }],
    ["with a file without a path", { body: { kind: "user", text: "", files: [{ id: "f" }] } }],
    ["with an invalid time", { acceptedAt: "now" }],
  ] as const) {
    it(`refuses a message ${what} with a typed error, and stores nothing`, async () => {
      const { accept, kept, engine } = await api();
      await expect(accept(message)).rejects.toMatchObject({ code: "invalid_input", retryable: false });
      expect(await kept()).toEqual([]);
      expect(engine.commits).toEqual([]);
    });
  }

  it("refuses a message that is too long with the limit and what to do, and stores nothing", async () => {
    const { accept, kept } = await api();
    const error = await accept({ body: { kind: "user", text: "x".repeat(500_001) } }).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "too_large", retryable: false });
    expect(error.message).toBe("The message has 500001 characters; at most 500000 are accepted.");
    expect(error.hint).toBe("Send it in parts, or as a file.");
    expect(await kept()).toEqual([]);
  });

  it("recognises a message that was accepted before or at the same moment", async () => {
    const { accept, kept } = await api();
    const all = await Promise.all([accept({ source }), accept({ source }), accept({ source })]);
    expect(all.map(({ status }) => status).sort()).toEqual(["accepted", "duplicate", "duplicate"]);
    expect(new Set(all.map((one) => one.status !== "stale" && one.seq)).size).toBe(1);
    expect(await kept()).toHaveLength(1);
  });

  it("treats an edited message as another message", async () => {
    const { accept, kept } = await api();
    await accept({ source });
    await accept({ source: { ...source, revision: 1 } });
    expect(await kept()).toHaveLength(2);
  });

  it("treats messages without an id as different messages", async () => {
    const { accept, kept } = await api();
    await accept({ source: { connector: "test" } });
    await accept({ source: { connector: "test" } });
    expect(await kept()).toHaveLength(2);
  });

  it("recognises a repeated key of the caller", async () => {
    const { accept, kept } = await api();
    await accept({}, { key: "request-7" });
    expect(await accept({}, { key: "request-7" })).toMatchObject({ status: "duplicate", seq: 1 });
    expect(await kept()).toHaveLength(1);
  });

  it("refuses a message that is older than its channel may deliver, and leaves a trace", async () => {
    const { accept, kept, engine } = await api();
    const sentAt = engine.clock.now() - HORIZON - 1;
    expect(await accept({ source: { ...source, sentAt } })).toEqual({ status: "stale" });
    expect(await kept()).toEqual([]);
    const trace = await engine.store.fact(staleTraceKey('["test","","ann","1",0]'));
    expect(JSON.parse(trace ?? "{}")).toMatchObject({ source: { messageId: "1", sentAt } });
    expect(await accept({ source: { ...source, sentAt: sentAt + 1 } })).toMatchObject({ status: "accepted" });
  });

  it("keeps a bounded number of such traces", () => {
    const keys = new Set(Array.from({ length: 20_000 }, (_, n) => staleTraceKey(`["test","","ann","${n}",0]`)));
    expect(keys.size).toBeLessThanOrEqual(1_000);
    expect(keys.size).toBeGreaterThan(500);
  });

  it("stores a channel's offset together with the message, or neither", async () => {
    const { accept, kept, engine } = await api();
    const offset = { op: "fact.put", key: "offset", value: "7" } as const;
    engine.onCommit = () => "full";
    await expect(accept({ source }, { also: [offset] })).rejects.toMatchObject({ code: "store_full" });
    expect([await kept(), await engine.store.fact("offset")]).toEqual([[], undefined]);
    engine.onCommit = () => "go";
    await accept({ source }, { also: [offset] });
    expect(await engine.store.fact("offset")).toBe("7");
  });

  it("looks up a commit whose answer was lost before it returns", async () => {
    const { accept, kept, engine } = await api();
    engine.onCommit = (_change, nth) => (nth === 1 ? "unknown-applied" : "go");
    expect(await accept({ source })).toMatchObject({ status: "accepted", seq: 1, created: true });
    expect(await kept()).toHaveLength(1);
  });

  it("rejects if the commit was not applied, and stores nothing", async () => {
    const { accept, kept, engine } = await api();
    engine.onCommit = () => "unknown-lost";
    await expect(accept({ source })).rejects.toMatchObject({ code: "commit_unknown", retryable: true });
    expect(await kept()).toEqual([]);
  });
});
