/** The owner's mailbox: a route from the moment it is first opened, with what had no route (M26). Deliveries that people and channels move. */
import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { apiMailbox, OWNER_MAILBOXES, personAddress } from "../../core/delivery/route.ts";
import type { DeliveryId } from "../../core/ids.ts";
import type { SendResult } from "../../core/ports/connector.ts";
import { OWNER_READS } from "../runtime/people.ts";

/** Ann's agent says something to the owner, who can be reached nowhere. */
async function toldOwner(): Promise<TestEngine> {
  const engine = await TestEngine.open();
  await engine.tell("hello", { delivery: personAddress("owner") });
  expect((await engine.deliveries())[0]).toMatchObject({ state: "unroutable" });
  return engine;
}
const page = async (engine: TestEngine, mailbox = OWNER_MAILBOXES) =>
  (await engine.system.deliveries.mailboxes.page(mailbox)).items.map(({ payload }) => payload.text);

it("contains the deliveries that waited for a route on its first page", async () => {
  const engine = await toldOwner();
  expect(await page(engine)).toEqual(["answer to hello"]);
  expect(await engine.store.fact(OWNER_READS)).toBe("1");
});

it("opens once, and stays open after a restart", async () => {
  const engine = await toldOwner();
  await Promise.all([page(engine), page(engine)]);
  await page(engine);
  const count = engine.commits.length;
  await engine.restart();
  expect(await page(engine)).toEqual(["answer to hello"]);
  const opened = engine.commits.slice(count).flatMap(({ ops }) => ops.filter(({ op }) => op === "fact.put"));
  expect(opened).toEqual([]);
});

it("stays closed while only other mailboxes are read", async () => {
  const engine = await toldOwner();
  expect(await page(engine, [apiMailbox("ann")])).toEqual([]);
  expect(await engine.store.fact(OWNER_READS)).toBeUndefined();
  expect((await engine.deliveries())[0]).toMatchObject({ state: "unroutable" });
});

it("opens for the next reader if the first one fails", async () => {
  const engine = await toldOwner();
  let failed = 0;
  engine.onCommit = ({ site }) => (site === "mailbox.open" && failed++ === 0 ? "full" : "go");
  await expect(page(engine)).rejects.toThrow();
  expect(await page(engine)).toEqual(["answer to hello"]);
});

describe("a delivery that a person or its channel moves", () => {
  /** The answer to a message was refused, or waits, by what the channel says. */
  async function answered(result: SendResult): Promise<{ engine: TestEngine; id: DeliveryId }> {
    const engine = await TestEngine.open();
    engine.channel().sending = () => result;
    await engine.tell("hello");
    engine.channel().sending = () => ({ status: "sent" });
    engine.channel().calls.length = 0;
    const [delivery] = await engine.deliveries();
    return { engine, id: delivery?.id as DeliveryId };
  }

  it("is sent again at once, with the same or with another text", async () => {
    const again = await answered({ status: "refused", reason: "no" });
    await again.engine.system.deliveries.retry(again.id);
    await again.engine.settle();
    expect(again.engine.shown()).toEqual(["answer to hello"]);
    const other = await answered({ status: "refused", reason: "no" });
    await other.engine.system.deliveries.edit(other.id, "better");
    await other.engine.settle();
    expect(other.engine.shown()).toEqual(["better"]);
  });

  it("is dropped, and the next one to the same chat goes at once", async () => {
    const { engine, id } = await answered({ status: "retry", reason: "busy", afterMs: 3600_000 });
    await engine.tell("next");
    expect(engine.shown()).toEqual([]);
    await engine.system.deliveries.drop(id);
    await engine.settle();
    expect(engine.shown()).toEqual(["answer to next"]);
    const failed = await engine.system.deliveries.list({ states: ["failed"] });
    expect(failed).toMatchObject([{ id, reason: "dropped by a person" }]);
  });

  it("has not arrived, as its channel says later: its agent reads that at once", async () => {
    const { engine, id } = await answered({ status: "sent" });
    await engine.system.deliveries.receipt("test", { deliveryId: id, status: "failed", reason: "blocked" });
    await engine.settle();
    expect((await engine.deliveries()).find((one) => one.id === id)).toMatchObject({ state: "failed" });
    expect(await engine.states()).toEqual(["answered", "recorded"]);
  });
});

it("waits without a connector are counted by what they wait for", async () => {
  const engine = await toldOwner();
  expect(await engine.system.deliveries.counts()).toEqual({ unroutable: 1, "waiting-reader": 0 });
  await page(engine);
  expect(await engine.system.deliveries.counts()).toEqual({ unroutable: 0, "waiting-reader": 1 });
});
