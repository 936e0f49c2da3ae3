/** Notices about answers that may not have arrived, and `/again`, which sends them once more (M46). */
import { describe, expect, it } from "vitest";
import { type Channel, channel } from "../../../test/kit/channel.ts";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { lastText, stall } from "../../../test/kit/model.ts";
import { dieAt } from "../../../test/kit/store.ts";
import type { SendingClass } from "../../core/delivery/delivery.ts";
import type { ConnectorHost, SendResult } from "../../core/ports/connector.ts";
import type { CommitSite } from "../../core/store/commit-sites.ts";
import { from } from "../agents/agent-system.test-kit.ts";

const NOTICE = "My last answer may not have arrived. Send /again to see it.";
const HOUR = 3600_000;

/** A channel that cannot confirm texts that contain "lost", until `works`. */
interface Flaky extends Channel {
  works: boolean;
}

function flaky(sendingClass: SendingClass = "ambiguous"): Flaky {
  const one: Flaky = Object.assign(channel("test", sendingClass), { works: false });
  one.sending = ({ payload }): SendResult =>
    !one.works && payload.text?.includes("lost") ? { status: "unknown", reason: "timeout" } : { status: "sent" };
  return one;
}

async function engineWith(one: Channel, more: Parameters<typeof TestEngine.open>[0] = {}): Promise<TestEngine> {
  return TestEngine.open({ channels: [one], ...more, system: { pollMs: HOUR, ...more.system } });
}

let ids = 0;
/** Types a text in the chat and waits for everything that follows. */
async function type(engine: TestEngine, text: string): Promise<void> {
  await (engine.hosts.get("test") as ConnectorHost).accept({ ...from("ann", `typed-${++ids}`), text });
  await engine.settle();
}

const texts = (engine: TestEngine, containing: string): readonly string[] =>
  engine.shown().filter((text) => text.includes(containing));

describe("a notice about an unconfirmed answer", () => {
  it.each([
    ["ambiguous", 1],
    ["reconcilable", 1],
    ["idempotent", 0],
  ] as const)("comes once after the person writes again, on a channel that is %s: %s", async (sendingClass, count) => {
    const one = flaky(sendingClass);
    const engine = await engineWith(one, { settings: { outbox: { maxAgeHours: 2 } } });
    await engine.tell("lost");
    await engine.advance(3 * HOUR);
    one.works = true;
    for (const text of ["hello?", "still there?"]) await engine.tell(text);
    await engine.advance(HOUR);
    expect(texts(engine, NOTICE)).toHaveLength(count);
  });

  it("opens an answer that goes there first", async () => {
    const { promise, open } = gate<string>();
    const engine = await engineWith(flaky(), {
      script: (call) =>
        lastText(call.request) === "slow" ? stall(call, promise) : `answer to ${lastText(call.request)}`,
    });
    await engine.tell("lost");
    await engine.tell("slow");
    open("done");
    await engine.settle();
    expect(engine.shown()).toEqual(["answer to lost", `${NOTICE}\n\ndone`]);
    expect(await engine.transcript()).toContain("assistant: done");
  });

  it("follows a confirmed send, once for all unconfirmed answers", async () => {
    const one = flaky();
    const { promise, open } = gate<SendResult>();
    one.sending = (_delivery, n) =>
      n === 1 ? promise : n === 2 ? { status: "unknown", reason: "timeout" } : { status: "sent" };
    const engine = await engineWith(one);
    for (const text of ["one", "two", "three"]) await engine.tell(text);
    open({ status: "unknown", reason: "timeout" });
    await engine.settle();
    await engine.advance(HOUR);
    expect(engine.shown()).toEqual(["answer to one", "answer to two", "answer to three", NOTICE]);
  });

  it("does not offer /again where commands are off", async () => {
    const engine = await engineWith(flaky(), { settings: { commands: { test: false } } });
    await engine.tell("lost");
    await engine.tell("hello?");
    expect(texts(engine, "may not have arrived")).toHaveLength(1);
    expect(texts(engine, "/again")).toEqual([]);
  });

  it("is not sent for an answer of yesterday", async () => {
    const one = flaky();
    const engine = await engineWith(one);
    await engine.tell("lost");
    await engine.advance(24 * HOUR);
    await engine.tell("hello?");
    expect(texts(engine, NOTICE)).toEqual([]);
  });

  it("is not followed by a notice about itself", async () => {
    const one = flaky();
    one.sending = ({ payload }) =>
      payload.text === NOTICE || payload.text?.includes("lost")
        ? { status: "unknown", reason: "timeout" }
        : { status: "sent" };
    const engine = await engineWith(one);
    await engine.tell("lost");
    for (const text of ["/status", "/status"]) await type(engine, text);
    expect(texts(engine, NOTICE)).toEqual([NOTICE]);
    await engine.tell("hello?");
    expect(texts(engine, NOTICE)).toEqual([NOTICE]);
  });

  it("is not needed once the channel says that the answer arrived", async () => {
    const engine = await engineWith(flaky());
    await engine.tell("lost");
    const [lost] = await engine.deliveries();
    if (!lost) throw new TypeError("nothing was delivered");
    await engine.system.deliveries.receipt("test", { deliveryId: lost.id, status: "arrived" });
    await engine.tell("hello?");
    expect(texts(engine, NOTICE)).toEqual([]);
  });

  it("follows a receipt for another part of the answer", async () => {
    const one = flaky();
    one.maxTextLength = 80;
    const engine = await engineWith(one, { script: () => `${"lost ".repeat(15)}\n\n${"lost ".repeat(15)}` });
    await engine.tell("hi");
    const [first, second] = await engine.deliveries();
    if (!first || !second) throw new TypeError("the answer has one part");
    await engine.system.deliveries.receipt("test", { deliveryId: second.id, status: "arrived" });
    await engine.settle();
    expect((await engine.deliveries()).map(({ state }) => state)).toEqual(["unconfirmed", "sent", "sent"]);
    expect(engine.shown().at(-1)).toBe(NOTICE);
  });
});

describe("/again", () => {
  it("sends the unconfirmed answers again, in their order, and only those", async () => {
    const one = flaky();
    const engine = await engineWith(one);
    await engine.tell("lost 1");
    await engine.tell("fine");
    await engine.tell("lost 2");
    one.works = true;
    const before = engine.shown().length;
    await type(engine, "/again");
    const [first, second, reply] = engine
      .shown()
      .slice(before)
      .filter((text) => text !== NOTICE);
    expect([first, second]).toEqual(["answer to lost 1", "answer to lost 2"]);
    expect(reply).toContain("Sent 2 messages again.");
    await type(engine, "/again");
    expect(engine.shown().at(-1)).toContain("No answer here is unconfirmed.");
    expect((await engine.deliveries()).map(({ state }) => state)).not.toContain("unconfirmed");
  });

  it.each(["before", "after"] as const)(
    "sends an answer once again if the process dies %s its commit",
    async (moment) => {
      const one = flaky();
      const engine = await engineWith(one);
      await engine.tell("lost");
      one.works = true;
      engine.onCommit = (change, nth) =>
        change.ops.some(({ op }) => op === "delivery.move") ? dieAt("command", moment)(change, nth) : "go";
      await type(engine, "/again").catch(() => {});
      await engine.restart();
      await engine.advance(HOUR);
      expect(texts(engine, "answer to lost")).toHaveLength(2);
    },
  );
});

describe("a process that dies around a notice", () => {
  const SITES: readonly CommitSite[] = [
    "outbox.unconfirmed",
    "accept",
    "outbox.notice",
    "command",
    "take",
    "rest",
    "outbox.sending",
    "outbox.sent",
  ];
  const moments = SITES.flatMap((site) => (["before", "after"] as const).map((moment) => [moment, site] as const));

  it.each(moments)("dies %s %s: the person reads the notice once", async (moment, site) => {
    const one = flaky();
    const engine = await engineWith(one);
    await engine.tell("lost");
    one.works = true;
    engine.onCommit = dieAt(site, moment);
    await engine.tell("hello?").catch(() => {});
    await engine.restart();
    await engine.tell("still there?");
    await engine.advance(HOUR);
    const notices = texts(engine, NOTICE);
    // A notice or an answer that was being sent when the process died is not sent again.
    const unconfirmed = (await engine.deliveries()).filter(({ state }) => state === "unconfirmed").slice(1);
    const most = unconfirmed.some(({ payload }) => !payload.notice) ? 2 : 1;
    expect(notices.length).toBeGreaterThanOrEqual(1);
    expect(notices.length).toBeLessThanOrEqual(most);
  });
});
