/** What a channel says about a delivery after the send has ended. */
import { describe, expect, it } from "vitest";
import { type Channel, channel } from "../../../test/kit/channel.ts";
import { TestEngine } from "../../../test/kit/engine.ts";
import type { DeliveryReceipt, SendResult } from "../../core/ports/connector.ts";

const SENT: SendResult = { status: "sent", receipt: "first" };
const LOST: SendResult = { status: "unknown", reason: "cut" };

async function delivered(result: SendResult): Promise<{ engine: TestEngine; one: Channel }> {
  const one = channel("test", "ambiguous");
  one.sending = () => result;
  const engine = await TestEngine.open({ channels: [one], system: { pollMs: 3600_000 } });
  await engine.tell("hi");
  return { engine, one };
}

async function first(engine: TestEngine) {
  const [delivery] = await engine.deliveries();
  if (!delivery) throw new TypeError("there is no delivery");
  return delivery;
}

const say = async (
  engine: TestEngine,
  one: Channel,
  more: Partial<DeliveryReceipt>,
  from = one.name,
): Promise<void> => {
  const { id } = await first(engine);
  await engine.system.deliveries.receipt(from, { deliveryId: id, status: "arrived", ...more });
  await engine.settle();
};

const notes = async (engine: TestEngine): Promise<readonly string[]> => {
  const [agent] = await engine.store.agents({ limit: 1 });
  const messages = agent ? await engine.store.messages(agent.id, { limit: 10 }) : [];
  return messages.flatMap(({ body }) => (body.kind === "system" ? [body.text] : []));
};

describe("a receipt", () => {
  it.each([
    [
      "arrived, of one that was unconfirmed",
      LOST,
      { status: "arrived", receipt: "r" },
      { state: "sent", receipt: "r" },
    ],
    ["arrived, of one that was sent", SENT, { status: "arrived", receipt: "r" }, { state: "sent", receipt: "first" }],
    ["failed, of one that was sent", SENT, { status: "failed", reason: "no" }, { state: "failed", reason: "no" }],
    [
      "failed, of one that was unconfirmed",
      LOST,
      { status: "failed", reason: "no" },
      { state: "failed", reason: "no" },
    ],
  ] as const)("%s", async (_, result, receipt, expected) => {
    const { engine, one } = await delivered(result);
    await say(engine, one, receipt);
    expect(await first(engine)).toMatchObject(expected);
    expect(one.calls).toHaveLength(1);
    expect(await notes(engine)).toHaveLength(expected.state === "failed" ? 1 : 0);
  });

  it("of a failure is told to the agent once, without a run", async () => {
    const { engine, one } = await delivered(SENT);
    await say(engine, one, { status: "failed", reason: "not on this channel" });
    await say(engine, one, { status: "failed", reason: "not on this channel" });
    const [agent] = await engine.store.agents({ limit: 1 });
    expect(await notes(engine)).toEqual([
      expect.stringMatching(/^This did not reach test:.*"answer to hi"\nReason: not on this channel$/su),
    ]);
    expect(agent?.runId).toBeUndefined();
    expect(one.calls).toHaveLength(1);
  });

  it("that asks for another way sends it again, not for ever", async () => {
    const { engine, one } = await delivered(SENT);
    for (let n = 0; n < 7; n++) await say(engine, one, { status: "again", reason: "only templates" });
    expect(one.calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5]);
    expect(await first(engine)).toMatchObject({ state: "failed", reason: "only templates" });
  });

  it.each(["again", "failed", "arrived"] as const)(
    "that says %s about an earlier attempt changes nothing",
    async (status) => {
      const { engine, one } = await delivered(SENT);
      await say(engine, one, { status: "again", attempt: 1 });
      one.sending = () => LOST;
      await say(engine, one, { status: "again", attempt: 1 });
      expect(one.calls).toHaveLength(2);
      await say(engine, one, { status, attempt: 1 });
      expect(one.calls).toHaveLength(2);
      expect(await first(engine)).toMatchObject({ state: "sent" });
    },
  );

  it("that comes while someone else moves the delivery is taken after that", async () => {
    const { engine, one } = await delivered(LOST);
    const { id } = await first(engine);
    const { deliveries } = engine.system;
    await Promise.all([
      deliveries.receipt(one.name, { deliveryId: id, status: "failed", reason: "no" }),
      deliveries.receipt(one.name, { deliveryId: id, status: "arrived" }),
    ]);
    await engine.settle();
    // Whichever came first: what is said last about one that was sent is that it failed.
    expect(await first(engine)).toMatchObject({ state: "failed", reason: "no" });
    expect(await notes(engine)).toHaveLength(1);
  });

  it("of another channel, or about nothing, changes nothing", async () => {
    const { engine, one } = await delivered(LOST);
    await say(engine, one, { status: "arrived" }, "other");
    await say(engine, one, { status: "arrived", deliveryId: "none.0" as never });
    expect(await first(engine)).toMatchObject({ state: "unconfirmed" });
  });
});

it("a refusal that the agent should read is a note for it", async () => {
  const { engine } = await delivered({ status: "refused", reason: "the window is closed", tell: true });
  expect(await notes(engine)).toEqual([expect.stringContaining("the window is closed")]);
});
