import { expect, it } from "vitest";
import { virtualClock } from "../../../app/testing/clock.ts";
import { webTypingView } from "../whatsapp-web/typing-view.ts";
import type { GraphApi } from "./graph-api.ts";
import { markRead, typingView } from "./typing-view.ts";

function world() {
  const clock = virtualClock();
  const bodies: object[] = [];
  const api = { message: async (body: object) => void bodies.push(body) } as unknown as GraphApi;
  return { clock, bodies, api };
}

it("a message is marked as read with or without typing", async () => {
  const { api, bodies } = world();
  await markRead(api, "m1", false);
  await markRead(api, "m1", true);
  expect(bodies).toEqual([
    { status: "read", message_id: "m1" },
    { status: "read", message_id: "m1", typing_indicator: { type: "text" } },
  ]);
});

it("typing is shown again every twenty seconds, for a quarter of an hour, and not after the end", () => {
  const { clock, api, bodies } = world();
  let closed = 0;
  const view = typingView({ api, clock, messageId: "m1" }, () => void closed++);
  expect(bodies).toHaveLength(1);
  clock.advanceSync(19_999);
  expect(bodies).toHaveLength(1);
  clock.advanceSync(1);
  expect(bodies).toHaveLength(2);
  clock.advanceSync(3_600_000);
  expect([bodies.length, clock.timers]).toEqual([45, 0]);
  const short = typingView({ api, clock, messageId: "m2" }, () => void closed++);
  short.close();
  expect(clock.timers).toBe(0);
  clock.advanceSync(60_000);
  view.close();
  expect([bodies.length, closed]).toEqual([46, 2]);
});

it("typing over WhatsApp Web is shown every eight seconds until the end", () => {
  const { clock } = world();
  const shown: string[] = [];
  const closed: object[] = [];
  const view = webTypingView(
    clock,
    (type) => void shown.push(type),
    (one) => void closed.push(one),
  );
  clock.advanceSync(16_000);
  expect(shown).toEqual(["composing", "composing", "composing"]);
  view.close();
  expect([clock.timers, closed]).toEqual([0, [view]]);
});
