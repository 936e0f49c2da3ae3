import { expect, it } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import type { McpSession } from "./open-session.ts";
import { ServerLink } from "./server-link.ts";

interface Opened {
  closed: boolean;
  breaks(): void;
}

function linkOn(fails: () => boolean = () => false) {
  const clock = virtualClock();
  const opened: Opened[] = [];
  const link = new ServerLink({
    name: "files",
    clock,
    settings: () => ({ idleMs: 60_000, startMs: 1_000 }),
    async open(_timeout, onClosed) {
      if (fails()) throw new Error("no such program");
      const one: Opened = { closed: false, breaks: onClosed };
      opened.push(one);
      const close = async (): Promise<void> => {
        one.closed = true;
      };
      return { errors: () => "", close } as never as McpSession;
    },
  });
  return { clock, opened, link, ask: () => link.use(async () => "answer") };
}

it("starts with the first use, once for calls at the same time, and ends when it is idle", async () => {
  const { clock, opened, link, ask } = linkOn();
  expect(link.state).toBe("idle");
  expect(await Promise.all([ask(), ask(), ask()])).toEqual(["answer", "answer", "answer"]);
  expect([opened.length, link.state]).toEqual([1, "running"]);
  await clock.advance(59_000);
  await ask();
  await clock.advance(59_000);
  expect(opened[0]?.closed).toBe(false);
  await clock.advance(2_000);
  expect([opened[0]?.closed, link.state]).toEqual([true, "idle"]);
  await ask();
  expect(opened).toHaveLength(2);
});

it("does not end while a call is under way", async () => {
  const { clock, opened, link } = linkOn();
  const { promise, resolve: done } = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const long = link.use(() => {
    started.resolve();
    return promise;
  });
  await started.promise;
  await clock.advance(600_000);
  expect(opened[0]?.closed).toBe(false);
  done();
  await long;
  await clock.advance(61_000);
  expect(opened[0]?.closed).toBe(true);
});

it("starts again at once after one crash, and with growing pauses after more", async () => {
  let failing = true;
  const { clock, link, ask } = linkOn(() => failing);
  const attempt = () =>
    ask().then(
      () => "answer",
      (error: Error) => error.message,
    );
  expect(await attempt()).toContain("no such program");
  expect(link.state).toBe("idle");
  for (const pause of [0, 1_000, 2_000, 4_000]) {
    const trying = attempt();
    await clock.advance(pause);
    expect(await trying).toContain("no such program");
    expect(link.state).toBe("pausing");
  }
  // A pause of eight seconds is longer than a call waits.
  const { hint } = await ask().catch((error) => error);
  expect(hint).toMatch(/in 8 seconds/);
  failing = false;
  await clock.advance(8_000);
  expect(await attempt()).toBe("answer");
});

it("never pauses longer than a minute, and forgets failures after a server has lived", async () => {
  let failing = true;
  const { clock, link, opened, ask } = linkOn(() => failing);
  for (let n = 0; n < 12; n++) {
    await clock.advance(60_000);
    await ask().catch(() => undefined);
  }
  failing = false;
  await clock.advance(60_000);
  expect(await ask()).toBe("answer");
  await clock.advance(20_000);
  opened.at(-1)?.breaks();
  expect(link.state).toBe("idle");
  expect(await ask()).toBe("answer");
});

it("rejects calls after it was closed", async () => {
  const { link, opened, ask } = linkOn();
  await ask();
  await link.close();
  expect(opened[0]?.closed).toBe(true);
  await expect(ask()).rejects.toThrow("not configured any more");
});
