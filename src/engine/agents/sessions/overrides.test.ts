import { describe, expect, it } from "vitest";
import { SEND_BLOCKED, type SendPolicy } from "../../../core/agent/send-policy.ts";
import type { DeliveryId } from "../../../core/ids.ts";
import { ONLY_THE_OWNER_TEXT } from "../connector-host.ts";
import { dieAt, inTurn, Nest } from "../engine.test-kit.ts";

const stateOf = async (nest: Nest) => (await nest.store.agent(await nest.agentId()))?.state;
const typed = (messageId: string, userId = "ann", connector = "test") => ({
  ...{ connector, userId, channelId: userId, messageId },
  delivery: { channel: connector, to: userId },
});

describe("an agent's overrides", () => {
  it("are checked before anything is posted, and written by the owner in their turn", async () => {
    const nest = await Nest.open();
    await nest.tell("hello");
    const agentId = await nest.agentId();
    await expect(nest.system.patch(agentId, { queueCap: 0 })).rejects.toThrow("queueCap: expected a whole number");
    await expect(nest.system.patch(agentId, { tokens: null } as never)).rejects.toThrow('"tokens" cannot be set.');
    expect(await nest.states()).toEqual(["answered"]);
    await nest.system.patch(agentId, { modelOverride: "m2", label: "Ann's", thinkingLevel: "low" });
    await nest.settle();
    expect(await stateOf(nest)).toMatchObject({ modelOverride: "m2", label: "Ann's", thinkingLevel: "low" });
    await nest.system.patch(agentId, { label: null });
    await nest.settle();
    expect(await stateOf(nest)).not.toHaveProperty("label");
    expect(await nest.states()).toEqual(["answered", "recorded", "recorded"]);
    // Nobody outside wrote it, so nobody is told.
    expect(nest.shown()).toEqual(["answer to hello"]);
  });

  it("of an agent nobody knows cannot be changed", async () => {
    const nest = await Nest.open();
    await expect(nest.system.patch("nobody" as never, { label: "x" })).rejects.toMatchObject({ code: "not_found" });
  });

  it("are there after a kill at any point of being written, once", async () => {
    for (const moment of ["before", "after"] as const) {
      const nest = await Nest.open();
      await nest.tell("hello");
      nest.fate = dieAt("setting", moment);
      await nest.system.patch(await nest.agentId(), { queueMode: "steer" });
      await nest.settle();
      expect(nest.alive).toBe(false);
      await nest.restart();
      expect(await stateOf(nest)).toMatchObject({ queueMode: "steer" });
      expect(await nest.states()).toEqual(["answered", "recorded"]);
    }
  });

  it("that became wrong on the way change nothing and say why", async () => {
    const nest = await Nest.open();
    await nest.tell("hello");
    await nest.send({ kind: "setting", patch: { label: "fine", nonsense: 1 } });
    await nest.settle();
    expect(await stateOf(nest)).not.toHaveProperty("label");
    expect(nest.shown().at(-1)).toBe('⚙️ "nonsense" cannot be set.');
    expect((await nest.store.message(await nest.agentId(), 2))?.reason).toBe('"nonsense" cannot be set.');
  });
});

describe("the send policy", () => {
  const denied: SendPolicy = { rules: [{ action: "deny", match: { channel: "test" } }] };

  it("suppresses what a run owes, and says so; the run itself goes on as ever", async () => {
    const nest = await Nest.open({ system: { sendPolicy: denied } });
    await nest.tell("hello");
    expect(nest.channel().calls).toEqual([]);
    expect(await nest.deliveries()).toMatchObject([
      { state: "suppressed", reason: SEND_BLOCKED, payload: { text: "answer to hello" } },
    ]);
    expect(await nest.states()).toEqual(["answered"]);
  });

  it("suppresses what a tool sends, and the model is told", async () => {
    const target = { channel: "test", to: "bob" };
    const nest = await Nest.open({
      system: { sendPolicy: { rules: [{ action: "deny", match: { keyPrefix: "test:dm:ann" } }] } },
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
    const answer = nest.system.postAndAwait({ ...nest.person(), body: { kind: "user", text: "go" } });
    await nest.settle();
    expect(await nest.transcript()).toContain(`tool: ${SEND_BLOCKED}`);
    expect((await answer).result).toMatchObject({ didSendViaMessagingTool: false, messagingToolSentTexts: [] });
    expect((await nest.deliveries()).map(({ state, payload }) => `${payload.text} ${state}`)).toEqual([
      "psst suppressed",
      "done suppressed",
    ]);
  });

  it("holds for what others owe with a run's end", async () => {
    const target = { channel: "test", to: "bob" };
    const nest = await Nest.open({
      system: {
        sendPolicy: denied,
        hooks: {
          alsoAtEnd: async ({ id: agentId }, { id: runId }) => {
            const delivery = { agentId, runId, target, payload: { text: "by the way" }, createdAt: 1 };
            return [{ op: "delivery.add", delivery: { ...delivery, id: `${runId}.also` as DeliveryId } }];
          },
        },
      },
    });
    await nest.tell("hello");
    expect(nest.channel().calls).toEqual([]);
    expect((await nest.deliveries()).map(({ reason }) => reason)).toEqual([SEND_BLOCKED, SEND_BLOCKED]);
  });

  it("gives way to what the agent itself was told", async () => {
    const nest = await Nest.open({ system: { sendPolicy: denied } });
    await nest.tell("one");
    await nest.system.patch(await nest.agentId(), { sendPolicy: "allow" });
    await nest.settle();
    await nest.tell("two");
    expect(nest.shown()).toEqual(["answer to two"]);
  });

  it("is set by the owner with /send, whose answer is not held back, and by nobody else", async () => {
    const nest = await Nest.open({ system: { isOwner: ({ userId }) => userId === "ann" } });
    const host = nest.system.connectorHost({ name: "test" });
    const send = async (id: string, policy: "allow" | "deny" | null, who = "ann") => {
      await host.command({ ...typed(id, who), command: { name: "send", policy } });
      await nest.settle();
      return nest.shown().at(-1);
    };
    expect(await send("1", "deny")).toBe("⚙️ Send policy set to off.");
    await nest.tell("one");
    expect(nest.shown()).toEqual(["⚙️ Send policy set to off."]);
    expect(await send("2", null)).toBe("⚙️ Send policy set to inherit.");
    await nest.tell("two");
    expect(nest.shown().at(-1)).toBe("answer to two");
    expect(await send("3", "allow")).toBe("⚙️ Send policy set to on.");
    expect(await send("4", "deny", "bob")).toBe(ONLY_THE_OWNER_TEXT);
    await nest.tell("three", { name: "bob" });
    expect(nest.shown().at(-1)).toBe("answer to three");
  });
});
