/** One attempt to send: what the channel gets, that it ends in time, and that a commit is repeated until it is known. */
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import type { Delivery } from "../../core/delivery/delivery.ts";
import type { Connector } from "../../core/ports/connector.ts";
import type { CommitResult } from "../../core/store/change.ts";
import { commitUntilKnown, lookUp, moveChange, send } from "./send-delivery.ts";

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 30; turn++) await Promise.resolve();
};
const FILE = { id: "file_1", name: "a.pdf", mimeType: "application/pdf", size: 3 };
const delivery = (payload: object): Delivery =>
  ({ id: "d", attempts: 2, state: "sending", target: { channel: "c", to: "t" }, payload }) as never;

describe("the channel", () => {
  const given = async (payload: object, sendFiles: boolean) => {
    let seen: { attempt?: number; payload: { text?: string; files?: unknown; slot?: unknown } } | undefined;
    const connector = {
      capabilities: { sendText: true, sendFiles: sendFiles ? { modes: ["document"] } : undefined },
      send: async (one: never) => {
        seen = one;
        return { status: "sent" };
      },
    } as unknown as Connector;
    await send(virtualClock(), connector, delivery(payload), 1_000);
    return seen;
  };

  test("gets the content with the number of the attempt, and never the trigger's slot", async () => {
    const seen = await given({ text: "hi", slot: { jobId: "j" } }, false);
    expect(seen).toMatchObject({ id: "d", attempt: 2, target: { channel: "c", to: "t" }, payload: { text: "hi" } });
    expect(seen?.payload.slot).toBeUndefined();
  });

  test("that cannot carry files gets their names, if there is no text that has them already", async () => {
    expect((await given({ files: [FILE] }, false))?.payload.text).toContain("a.pdf");
    expect((await given({ text: "with words", files: [FILE] }, false))?.payload.text).toBe("with words");
    expect((await given({ files: [FILE] }, true))?.payload.text).toBeUndefined();
    expect((await given({ files: [] }, false))?.payload.text).toBeUndefined();
  });
});

describe("a send", () => {
  const connector = (call: (signal: AbortSignal) => Promise<unknown>): Connector =>
    ({ capabilities: {}, send: (_one: never, signal: AbortSignal) => call(signal) }) as never;

  test("that takes too long is unknown, and the channel is told to stop", async () => {
    const clock = virtualClock();
    let signal: AbortSignal | undefined;
    const sending = send(
      clock,
      connector((given) => {
        signal = given;
        return new Promise(() => {});
      }),
      delivery({ text: "x" }),
      1_000,
    );
    clock.advanceSync(999);
    expect(signal?.aborted).toBe(false);
    clock.advanceSync(1);
    expect([signal?.aborted, await sending]).toEqual([true, { status: "unknown", reason: "timed out" }]);
  });

  test("that throws is unknown with its reason; one that answers leaves no timer", async () => {
    const clock = virtualClock();
    const failed = await send(
      clock,
      connector(() => Promise.reject(new Error("cut"))),
      delivery({ text: "x" }),
      1_000,
    );
    expect(failed).toEqual({ status: "unknown", reason: "cut" });
    await send(
      clock,
      connector(async () => ({ status: "sent" })),
      delivery({ text: "x" }),
      1_000,
    );
    expect(clock.timers).toBe(0);
  });
});

test("a look-up that fails, hangs or does not exist says nothing", async () => {
  const clock = virtualClock();
  const asked = (lookup: unknown) => lookUp(clock, { capabilities: {}, lookup } as never, delivery({ text: "x" }), 10);
  expect(await asked(async () => "sent")).toBe("sent");
  expect(await asked(() => Promise.reject(new Error("no")))).toBeUndefined();
  expect(await asked(undefined)).toBeUndefined();
  const hanging = asked(() => new Promise(() => {}));
  await turns();
  clock.advanceSync(10);
  expect(await hanging).toBeUndefined();
});

describe("a commit of the outbox", () => {
  const applied: CommitResult = { ok: true, results: [] };

  function world(failures: number, known: (tries: number) => CommitResult | undefined = () => undefined) {
    const clock = virtualClock();
    const stop = new AbortController();
    let tries = 0;
    const store = {
      commit: async () => {
        tries += 1;
        if (tries <= failures) throw new Error("full");
        return applied;
      },
      outcome: async () => known(tries),
    };
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const change = moveChange({ ids: { change: () => "c" } as never, clock }, "test", delivery({}), {
      to: "sent",
    } as never);
    const done = commitUntilKnown({ store, clock, log } as never, change, stop.signal).catch((error) => error);
    return { clock, stop, done, tries: () => tries };
  }

  test("is made again in longer and longer pauses, up to ten seconds, until it is applied", async () => {
    const { clock, done, tries } = world(9);
    await turns();
    for (const [before, pause] of [200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000, 10_000].entries()) {
      clock.advanceSync(pause - 1);
      await turns();
      expect([pause, tries()]).toEqual([pause, before + 1]);
      clock.advanceSync(1);
      await turns();
      expect([pause, tries()]).toEqual([pause, before + 2]);
    }
    expect(await done).toBe(applied);
  });

  test("that was applied although its answer was lost is not made again", async () => {
    const refused: CommitResult = { ok: false, refused: "conflict", detail: "" };
    let isKnown = false;
    const { clock, done, tries } = world(9, () => (isKnown ? refused : undefined));
    await turns();
    isKnown = true;
    clock.advanceSync(200);
    expect([await done, tries()]).toEqual([refused, 1]);
  });

  test("ends with its error when the program stops", async () => {
    const { clock, stop, done } = world(9);
    await turns();
    stop.abort();
    clock.advanceSync(200);
    await turns();
    expect(String(await done)).toContain("full");
  });
});
