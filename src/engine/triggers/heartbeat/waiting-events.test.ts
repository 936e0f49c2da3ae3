/** Events that wait for the next heartbeat, and the state that a job's run begins with. */
import { describe, expect, test } from "vitest";
import type { Message } from "../../../core/message/message.ts";
import { cronSessionFor } from "../cron/cron-session.ts";
import { earlierCall } from "../webhooks/seen-calls.ts";
import { unseenEvents } from "./system-events.ts";

const event = (seq: number, text: string, more: object = {}): Message =>
  ({ seq, body: { kind: "system", text, origin: "cron:j", silent: true, ...more } }) as never;

describe("events that no run has taken", () => {
  const unseen = async (messages: readonly Message[], taken: readonly number[] = []): Promise<readonly string[]> => {
    const store = {
      runs: async () => [{ body: { seqs: [] } }, { body: { seqs: taken } }],
      messages: async () => messages.toReversed(),
    };
    const found = await unseenEvents(store as never, { id: "a" } as never);
    return found.map(({ seq, body }) => `${seq} ${(body as { text: string }).text}`);
  };

  test("are those after the latest message that a run took, in their order", async () => {
    const all = [event(1, "one"), event(2, "two"), event(3, "three")];
    expect(await unseen(all)).toEqual(["1 one", "2 two", "3 three"]);
    expect(await unseen(all, [1, 2])).toEqual(["3 three"]);
    expect(await unseen(all, [3])).toEqual([]);
  });

  test("that repeat the one before are told once; another one between them makes two", async () => {
    expect(await unseen([event(1, "x"), event(2, "x"), event(3, "y"), event(4, "x"), event(5, "")])).toEqual([
      "1 x",
      "3 y",
      "4 x",
      "5 ",
    ]);
    expect(await unseen([event(1, "")])).toEqual([]);
  });

  test("are silent, and of a trigger", async () => {
    const origins = ["heartbeat:main", "webhook:w", "cron:j", "person:ann", "a cron:j"];
    const all = origins.map((origin, index) => event(index + 1, origin, { origin }));
    expect(
      await unseen([...all, event(9, "loud", { silent: undefined }), event(10, "none", { origin: undefined })]),
    ).toEqual(["1 heartbeat:main", "2 webhook:w", "3 cron:j"]);
  });

  test("are the latest twenty", async () => {
    const found = await unseen(Array.from({ length: 25 }, (_none, n) => event(n + 1, `e${n + 1}`)));
    expect([found.length, found[0], found.at(-1)]).toEqual([20, "6 e6", "25 e25"]);
  });
});

describe("the session of a job's run", () => {
  const session = (type: string, body: object | undefined, main: object | undefined = { modelOverride: "m" }) =>
    cronSessionFor(
      {
        job: async (id: string) => (id === "j" ? { agentId: "other" } : undefined),
        agentByKey: async (key: string) => (main ? { state: { ...main, key } } : undefined),
      } as never,
      { descriptor: { type }, profile: "main", state: { modelOverride: "old", stats: {} } } as never,
      body === undefined ? [] : ([{ body }] as never),
      5,
    );
  const trigger = (id: string) => ({ kind: "trigger", trigger: { type: "cron", id } });

  test.each(["cron", "heartbeat"])(
    "of an agent of kind %s is new, with the settings of the main conversation",
    async (type) => {
      expect((await session(type, trigger("j")))?.modelOverride).toBe("m");
      expect((await session(type, trigger("j"), {}))?.modelOverride).toBeUndefined();
    },
  );

  test("of anything else goes on", async () => {
    expect(await session("user", trigger("j"))).toBeUndefined();
    expect(await session("cron", { kind: "user", text: "hi" })).toBeUndefined();
    expect(await session("cron", undefined)).toBeUndefined();
  });
});

describe("a call of a webhook that was seen", () => {
  const seen = (row: object | undefined, now = 10) =>
    earlierCall(
      {
        clock: { now: () => now },
        store: { request: async (key: string) => (key === "k" ? row : { message: { agentId: "a", seq: 3 } }) },
      } as never,
      { key: "k", keepUntil: 0 },
    );
  const reply = JSON.stringify({ entry: "e" });

  test("is its message, until its time is over", async () => {
    expect(await seen({ reply, keepUntil: 11 })).toEqual({ agentId: "a", seq: 3 });
    expect(await seen({ reply, keepUntil: 10 })).toBeUndefined();
    expect(await seen({ keepUntil: 11 })).toBeUndefined();
    expect(await seen(undefined)).toBeUndefined();
  });
});
