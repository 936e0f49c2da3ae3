/** One phone over WhatsApp Web: what the engine is told of its messages, and what people see of it. */
import { describe, expect, it, test } from "vitest";
import type { DeliveryReceipt } from "../../../core/ports/connector.ts";
import { messageIdOf } from "./read-web-message.ts";
import { webWorld } from "./whatsapp-web.test-kit.ts";

const { signal } = new AbortController();
const delivery = (id: string) => ({ id: id as never, attempt: 2, target: { to: "491" }, payload: { text: "hi" } });

describe("what the server says of our message", () => {
  test.each<[string, number | undefined, Partial<DeliveryReceipt> | undefined]>([
    ["an error", 0, { status: "failed", reason: "WhatsApp did not take it." }],
    ["that it is under way", 1, undefined],
    ["that it has it", 2, { status: "arrived", reason: undefined }],
    ["that it was read", 4, { status: "arrived", reason: undefined }],
    ["nothing", undefined, undefined],
  ])("%s", async (_, status, expected) => {
    const { fake, wait, opened } = webWorld();
    const { one, host } = await opened();
    const receipts: DeliveryReceipt[] = [];
    Object.assign(host, { receipt: async (receipt: DeliveryReceipt) => void receipts.push(receipt) });
    await one.send(delivery("d.0"), signal);
    const id = messageIdOf("d.0");
    fake.emit("messages.update", [
      { key: { id: "of the phone" }, status: 2 },
      { key: { id }, status },
    ]);
    await wait(100);
    const common = { deliveryId: "d.0", attempt: 2, receipt: id };
    expect(receipts).toEqual(expected ? [{ ...common, ...expected }] : []);
    await one.stop();
  });
});

describe("a connection", () => {
  it("that is closed lets deliveries wait, and shows nothing", async () => {
    const { fake, until, wait, opened } = webWorld();
    const { one } = await opened();
    const target = { channel: "whatsapp-web", to: "491" };
    expect(one.admit?.(target)).toBe(0);
    fake.close(503);
    await until(() => !one.health().ok);
    expect(one.admit?.(target)).toBeGreaterThan(0);
    expect(one.view?.(target, {} as never)).toBeUndefined();
    expect(await one.send(delivery("d.0"), signal)).toEqual({ status: "retry", reason: "not connected" });
    expect(one.health()).toMatchObject({
      detail: "closed by WhatsApp: 503 fake",
      lastError: { text: expect.any(String) },
    });
    await until(() => one.health().ok);
    expect(one.health()).toMatchObject({ detail: "+4915999", login: undefined });
    await wait(100);
    await one.stop();
  });

  it("that is closed again and again is opened after longer and longer, and at first again after it worked", async () => {
    const { clock, fake, until, opened } = webWorld();
    const { one } = await opened();
    const pauses: number[] = [];
    const reopened = async (): Promise<void> => {
      const [at, before] = [clock.monotonic(), fake.opened];
      fake.close(503);
      await until(() => fake.opened > before);
      pauses.push(Math.round((clock.monotonic() - at) / 1_000));
    };
    // Not connected in between.
    fake.isLinked = false;
    for (let n = 0; n < 3; n++) await reopened();
    fake.isLinked = true;
    await reopened();
    await until(() => one.health().ok);
    await reopened();
    expect(pauses).toEqual([1, 2, 4, 8, 1]);
    await one.stop();
  });

  it("of an old socket says nothing more", async () => {
    const { fake, until, wait, opened } = webWorld();
    const { one } = await opened();
    fake.close(515);
    await until(() => fake.opened === 2 && one.health().ok);
    await one.stop();
    fake.close(503);
    await wait(10_000);
    expect(fake.opened).toBe(2);
  });
});

describe("people see", () => {
  it("that an answer is being written, until it is there", async () => {
    const { fake, wait, opened } = webWorld();
    const { one } = await opened();
    const view = one.view?.({ channel: "whatsapp-web", to: "491" }, {} as never);
    await wait(8_000);
    view?.close();
    await wait(20_000);
    const jid = "491@s.whatsapp.net";
    expect(fake.presences).toEqual([`composing ${jid}`, `composing ${jid}`, `paused ${jid}`]);
    await one.stop();
  });

  it("nothing of it if drafts are off", async () => {
    const { fake, opened } = webWorld({ drafts: false });
    const { one } = await opened();
    expect(one.view?.({ channel: "whatsapp-web", to: "491" }, {} as never)).toBeUndefined();
    expect(fake.presences).toEqual([]);
    await one.stop();
  });

  test.each([
    [true, 1],
    [false, 0],
  ])("that a message was read, once, if that is on: %s", async (readMarks, count) => {
    const { clock, fake, wait, until, opened } = webWorld({ readMarks });
    const { one, host } = await opened();
    await wait(3_000);
    const said = fake.say("491", "hello", clock.now() - 2_000);
    await until(() => host.messages.length === 1);
    fake.bring(said);
    await wait(500);
    expect(fake.reads).toHaveLength(count);
    expect(one.health().lagMs).toBeGreaterThanOrEqual(2_000);
    await one.stop();
  });
});
