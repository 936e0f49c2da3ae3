/** The rates of a channel over kills: a group gets no more in any minute, whatever a killed process had sent. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { tries } from "../../../../test/kit/share.ts";
import { virtualClock } from "../../../app/testing/clock.ts";
import { type NotedSends, type SendRates, sendRates } from "./send-rates.ts";

const LIMITS = { perChatMs: 1_050, groupPerMinute: 19, perSecond: 22, isGroup: (chat: string) => chat.startsWith("-") };

function world() {
  const clock = virtualClock();
  const sent: { readonly chat: string; readonly at: number }[] = [];
  let stored: NotedSends = {};
  const start = (): SendRates => {
    const notes = {
      write: async (noted: NotedSends): Promise<void> => {
        stored = structuredClone(noted);
      },
    };
    const rates = sendRates(clock, { ...LIMITS, notes });
    rates.restore(stored);
    return rates;
  };
  /** As the outbox does it: asks for a place, waits, asks again, then sends. Returns how long it waited. */
  const send = async (rates: SendRates, chat: string): Promise<number> => {
    const began = clock.monotonic();
    for (let wait = rates.admit(chat, chat); wait > 0; wait = rates.admit(chat, chat)) await clock.advance(wait);
    await rates.paced(chat, undefined, async () => void sent.push({ chat, at: clock.monotonic() }));
    return clock.monotonic() - began;
  };
  return { clock, sent, start, send };
}

const mostInAMinute = (sent: readonly { chat: string; at: number }[]): number =>
  Math.max(
    0,
    ...sent.map(
      ({ chat, at }) => sent.filter((one) => one.chat === chat && one.at <= at && at - one.at < 60_000).length,
    ),
  );

it("a group gets at most twenty messages in any minute, whenever the process is killed", async () => {
  const act = fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom("-1", "-1", "-1", "-2") },
    { weight: 1, arbitrary: fc.constant("kill") },
    { weight: 1, arbitrary: fc.integer({ min: 1_000, max: 40_000 }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 30, maxLength: 90 }), async (acts) => {
      const { clock, sent, start, send } = world();
      let rates = start();
      for (const one of acts) {
        if (one === "kill") rates = start();
        else if (typeof one === "number") await clock.advance(one);
        else await send(rates, one);
      }
      expect(mostInAMinute(sent)).toBeLessThanOrEqual(20);
    }),
    { numRuns: tries(60) },
  );
});

it("a group that is not busy waits for nothing after restarts but the first second", async () => {
  const { start, send } = world();
  for (let restart = 1; restart <= 10; restart++) expect(await send(start(), "-1")).toBeLessThan(1_100);
});

it("a clock that was set back or ahead in between delays no group by more than a minute", async () => {
  for (const ms of [-3_600_000, 3_600_000]) {
    const { clock, start, send } = world();
    const rates = start();
    for (let n = 1; n <= 19; n++) await send(rates, "-1");
    clock.jump(ms);
    expect(await send(start(), "-1")).toBeLessThanOrEqual(60_000);
  }
});
