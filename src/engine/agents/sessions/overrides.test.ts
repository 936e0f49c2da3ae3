import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { inTurn } from "../../../../test/kit/model.ts";
import { dieAt } from "../../../../test/kit/store.ts";
import { SEND_BLOCKED, type SendPolicy } from "../../../core/agent/send-policy.ts";
import type { AgentId, DeliveryId, SessionKey } from "../../../core/ids.ts";

const stateOf = async (engine: TestEngine) => (await engine.store.agent(await engine.agentId()))?.state;
const typed = (messageId: string, userId = "ann", connector = "test") => ({
  ...{ connector, userId, channelId: userId, messageId },
  delivery: { channel: connector, to: userId },
});

describe("an agent's overrides", () => {
  it("are validated before anything is posted, and written by the agent's owner in the order of the inbox", async () => {
    const engine = await TestEngine.open();
    await engine.tell("hello");
    const agentId = await engine.agentId();
    await expect(engine.system.sessions.patch(agentId, { queueCap: 0 })).rejects.toThrow(
      "queueCap: expected a whole number",
    );
    await expect(engine.system.sessions.patch(agentId, JSON.parse('{"tokens":null}'))).rejects.toThrow(
      '"tokens" cannot be set.',
    );
    expect(await engine.states()).toEqual(["answered"]);
    await engine.system.sessions.patch(agentId, { modelOverride: "m2", label: "Ann's", thinkingLevel: "low" });
    await engine.settle();
    expect(await stateOf(engine)).toMatchObject({ modelOverride: "m2", label: "Ann's", thinkingLevel: "low" });
    await engine.system.sessions.patch(agentId, { label: null });
    await engine.settle();
    expect(await stateOf(engine)).not.toHaveProperty("label");
    expect(await engine.states()).toEqual(["answered", "recorded", "recorded"]);
    // The change did not come from a person, so no answer is sent.
    expect(engine.shown()).toEqual(["answer to hello"]);
  });

  it("have at most 256 rules, and refuse a malformed one at once", async () => {
    const engine = await TestEngine.open();
    await engine.tell("hello");
    const agentId = await engine.agentId();
    const rules = Array.from({ length: 256 }, (_, n) => ({ deny: `exec(tool${n} *)` }));
    await engine.system.sessions.patch(agentId, { rules });
    await engine.settle();
    const add = (n: number) => engine.system.sessions.changeRules(agentId, { add: { deny: `exec(tool${n} *)` } });
    await expect(add(256)).rejects.toMatchObject({ code: "invalid_input" });
    expect(await engine.states()).toEqual(["answered", "recorded"]);
    const malformed = engine.system.sessions.changeRules(agentId, { add: { deny: "no rule(" } });
    await expect(malformed).rejects.toMatchObject({ code: "invalid_input" });
    await add(3);
    await engine.settle();
    expect((await stateOf(engine))?.rules).toHaveLength(256);
  });

  it("cannot change for an unknown agent", async () => {
    const engine = await TestEngine.open();
    await expect(engine.system.sessions.patch("nobody" as AgentId, { label: "x" })).rejects.toMatchObject({
      code: "not_found",
    });
  });

  it("are written once, even if the process dies before or after the commit", async () => {
    for (const moment of ["before", "after"] as const) {
      const engine = await TestEngine.open();
      await engine.tell("hello");
      engine.onCommit = dieAt("setting", moment);
      await engine.system.sessions.patch(await engine.agentId(), { queueMode: "steer" });
      await engine.settle();
      expect(engine.alive).toBe(false);
      await engine.restart();
      expect(await stateOf(engine)).toMatchObject({ queueMode: "steer" });
      expect(await engine.states()).toEqual(["answered", "recorded"]);
    }
  });

  it("change nothing if they are invalid when the owner reads them", async () => {
    const engine = await TestEngine.open();
    await engine.tell("hello");
    await engine.send({ kind: "setting", patch: { label: "fine", nonsense: 1 } });
    await engine.settle();
    expect(await stateOf(engine)).not.toHaveProperty("label");
    expect(engine.shown().at(-1)).toBe('⚙️ "nonsense" cannot be set. Nothing was changed.');
    expect((await engine.store.message(await engine.agentId(), 2))?.reason).toBe(
      '"nonsense" cannot be set. Nothing was changed.',
    );
  });
});

describe("the send policy", () => {
  const denied: SendPolicy = { rules: [{ action: "deny", match: { channel: "test" } }] };

  it("suppresses the answer of a run with its reason; the run itself is not affected", async () => {
    const engine = await TestEngine.open({ settings: { session: { sendPolicy: denied } } });
    await engine.tell("hello");
    expect(engine.channel().calls).toEqual([]);
    expect(await engine.deliveries()).toMatchObject([
      { state: "suppressed", reason: SEND_BLOCKED, payload: { text: "answer to hello" } },
    ]);
    expect(await engine.states()).toEqual(["answered"]);
  });

  it("suppresses a message sent by a tool, and the tool result tells the model", async () => {
    const target = { channel: "test", to: "bob" };
    const engine = await TestEngine.open({
      settings: { session: { sendPolicy: { rules: [{ action: "deny", match: { keyPrefix: "test:dm:ann" } }] } } },
      script: inTurn({ call: [{ name: "send" }] }, "done"),
      tools: {
        send: {
          execute: () => ({
            content: [{ type: "text", text: "sent" }],
            deliveries: [{ target, payload: { text: "psst" } }],
          }),
        },
      },
    });
    const answer = engine.system.postAndAwait({ ...engine.person(), body: { kind: "user", text: "go" } });
    await engine.settle();
    expect(await engine.transcript()).toContain(`tool: ${SEND_BLOCKED}`);
    expect((await answer).result).toMatchObject({ didSendViaMessagingTool: false, messagingToolSentTexts: [] });
    expect((await engine.deliveries()).map(({ state, payload }) => `${payload.text} ${state}`)).toEqual([
      "psst suppressed",
      "done suppressed",
    ]);
  });

  it("applies to deliveries that hooks add at the end of a run", async () => {
    const target = { channel: "test", to: "bob" };
    const engine = await TestEngine.open({
      system: {
        hooks: {
          opsOnRunEnd: async ({ id: agentId }, { id: runId }) => {
            const delivery = { agentId, runId, target, payload: { text: "by the way" }, createdAt: 1 };
            return [{ op: "delivery.add", delivery: { ...delivery, id: `${runId}.also` as DeliveryId } }];
          },
        },
      },
      settings: { session: { sendPolicy: denied } },
    });
    await engine.tell("hello");
    expect(engine.channel().calls).toEqual([]);
    expect((await engine.deliveries()).map(({ reason }) => reason)).toEqual([SEND_BLOCKED, SEND_BLOCKED]);
  });

  it("is overridden by the agent's own setting", async () => {
    const engine = await TestEngine.open({ settings: { session: { sendPolicy: denied } } });
    await engine.tell("one");
    await engine.system.sessions.patch(await engine.agentId(), { sendPolicy: "allow" });
    await engine.settle();
    await engine.tell("two");
    expect(engine.shown()).toEqual(["answer to two"]);
  });

  it("changes only by the owner's /send, and its answer is not suppressed", async () => {
    const engine = await TestEngine.open({ settings: { owner: { accounts: ["test:ann"] } } });
    const host = engine.system.connectorHost({ name: "test" });
    const send = async (id: string, policy: "allow" | "deny" | null, who = "ann") => {
      await host.command({ ...typed(id, who), command: { name: "send", policy } });
      await engine.settle();
      return engine.shown().at(-1);
    };
    expect(await send("1", "deny")).toBe("⚙️ Send policy set to off.");
    const main = { to: { ...engine.person().to, sessionKey: "agent:main:main" as SessionKey } };
    await engine.tell("one", main);
    expect(engine.shown()).toEqual(["⚙️ Send policy set to off."]);
    expect(await send("2", null)).toBe("⚙️ Send policy set to inherit.");
    await engine.tell("two", main);
    expect(engine.shown().at(-1)).toBe("answer to two");
    expect(await send("3", "allow")).toBe("⚙️ Send policy set to on.");
    expect(await send("4", "deny", "bob")).toBe("⚙️ Only the owner may use /send.");
    await engine.tell("three", { name: "bob" });
    expect(engine.shown().at(-1)).toBe("answer to three");
  });
});
