/** What a store tells other nodes over its control connection, and what it hears: hints about agents, and texts. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { pass, stopClock, turns, world } from "./control-connection.test-kit.ts";

beforeEach(stopClock);
afterEach(() => void vi.useRealTimers());

const posted = (agentId: string, node?: number, duplicate = false) => ({
  ok: true,
  results: [{ op: "message.post", agentId, duplicate, holder: node === undefined ? undefined : { node } }],
});

describe("hints and texts", () => {
  test("of one moment go in one query: posts of others' agents, aborts, stops and handed agents", async () => {
    const { control, asked } = world();
    await control.open();
    await control.hold(1);
    asked();
    const stop = { ops: [{ op: "agent.stop", agentId: "stopped" }] };
    const hand = { ops: [{ op: "agent.hand", to: 9 }], owner: { agentId: "handed" } };
    control.publishHints(
      [{}, {}, {}, {}, {}, stop, hand, stop] as never,
      [
        posted("free"),
        posted("own", 1),
        posted("other", 2),
        posted("seen", 2, true),
        {
          ok: true,
          results: [
            { op: "run.abort", marked: true, agentId: "aborted" },
            { op: "run.abort", marked: false, agentId: "no" },
            { op: "run.abort", marked: true },
          ],
        },
        { ok: true, results: [] },
        { ok: true, results: [undefined] },
        { ok: false },
      ] as never,
    );
    control.relay.send("to all");
    control.relay.send("to one", "you-2");
    await turns();
    expect(asked()).toEqual([
      "notify s_relay relay_you2 s_hint me-1 to all me-1 to one me-1 0:free,2:other,0:aborted,0:stopped,9:handed",
    ]);
    control.publishHints([{}] as never, [new Error("gone")] as never);
    await turns();
    expect(asked()).toEqual([]);
    await control.close();
  });

  test("that are too long or too many are dropped, and many hints go in several notes", async () => {
    const { control, asked } = world();
    await control.open();
    asked();
    expect(control.relay.maxBytes).toBe(7_736);
    for (const text of ["x".repeat(7_736), "x".repeat(7_737), "ü".repeat(3_868), "ü".repeat(3_869)])
      control.relay.send(text);
    await turns();
    expect(asked()).toEqual([`notify s_relay s_relay me-1 ${"x".repeat(7_736)} me-1 ${"ü".repeat(3_868)}`]);
    for (let n = 0; n < 1_005; n++) control.relay.send(`${n}`);
    await turns();
    const texts = asked().join(" ").split("me-1 ").slice(1);
    expect([texts.length, texts.at(-1)]).toEqual([1_000, "999"]);
    control.publishHints(
      [{}] as never,
      [
        {
          ok: true,
          results: Array.from({ length: 500 }, (_none, n) => posted(`agent-number-${n}-with-a-long-name`).results[0]),
        },
      ] as never,
    );
    await turns();
    const notes = asked().join(" ").split("me-1 ").slice(1);
    expect(notes.length).toBeGreaterThan(2);
    for (const note of notes) expect(note.length).toBeLessThanOrEqual(7_800 - 64);
    expect(notes.flatMap((note) => note.split(","))).toHaveLength(500);
    await control.close();
  });

  test("that come while a query runs go together with the next one", async () => {
    const { control, hang, asked } = world();
    await control.open();
    asked();
    const resolve = hang("pg_notify");
    for (const text of ["first", "second", "third"]) {
      control.relay.send(text);
      await turns();
    }
    expect(asked()).toEqual(["notify s_relay me-1 first"]);
    resolve();
    await turns();
    expect(asked()).toEqual(["notify s_relay s_relay me-1 second me-1 third"]);
    await control.close();
  });

  test("that waited for a connection all go before a close, in queries of at most 64 texts", async () => {
    const { control, clients, state, last } = world();
    await control.open();
    state.refuse = 1;
    last().emit("end");
    for (let n = 0; n < 130; n++) control.relay.send(`${n}`);
    await turns();
    await pass(100);
    expect(last().queries).toEqual(["listen"]);
    await control.close();
    const sent = (clients[1]?.queries ?? []).filter((text) => text.startsWith("notify"));
    expect(sent.map((text) => text.split("me-1").length - 1)).toEqual([64, 64, 2]);
    expect(clients[1]?.queries.at(-1)).toBe("advisory_unlock_all");
  });

  test("wait while there is no connection, and go with the next ones afterwards", async () => {
    const { control, state, last, asked } = world();
    await control.open();
    state.refuse = 1;
    last().emit("end");
    control.relay.send("waits");
    await turns();
    await pass(100);
    expect(asked()).toEqual(["listen"]);
    control.relay.send("next");
    await turns();
    expect(asked()).toEqual(["notify s_relay s_relay me-1 waits me-1 next"]);
    await control.close();
  });

  test("reach those who listen: hints for own nodes or for any, texts of other processes, never the own ones", async () => {
    const { control, last } = world();
    await control.open();
    await control.hold(1);
    const heard: string[] = [];
    const stopHints = control.onHint((agentId) => heard.push(agentId));
    const stopTexts = control.relay.listen((text, from) => heard.push(`${from}: ${text}`));
    const hear = (channel: string, payload?: string): void => void last().emit("notification", { channel, payload });
    hear("s_hint", "you-2 1:mine,2:theirs,0:free");
    hear("s_hint", "me-1 0:own");
    hear("s_relay", "you-2 a text, with words");
    hear("relay_me1", "you-2 for me");
    hear("s_relay", "me-1 own");
    expect(heard.splice(0)).toEqual(["mine", "free", "you-2: a text, with words", "you-2: for me"]);
    stopHints();
    stopTexts();
    hear("s_hint", "you-2 1:mine");
    hear("s_relay", "you-2 x");
    expect(heard).toEqual([]);
    await control.close();
  });

  test("that were sent before a close go first", async () => {
    const { control, clients } = world();
    await control.open();
    control.publishHints([{}] as never, [posted("a", 2)] as never);
    await turns();
    control.relay.send("last words");
    await turns();
    await control.close();
    expect(clients[0]?.queries).toEqual([
      "listen",
      "notify s_hint me-1 2:a",
      "notify s_relay me-1 last words",
      "advisory_unlock_all",
    ]);
  });
});

test("a query that fails loses its own texts, not the next ones", async () => {
  const { control, state, asked } = world();
  await control.open();
  state.fails = true;
  control.relay.send("lost");
  await turns();
  state.fails = false;
  asked();
  control.relay.send("next");
  await turns();
  expect(asked()).toEqual(["notify s_relay me-1 next"]);
  await control.close();
});

test.each([
  [7_736, 1],
  [7_737, 2],
])("hints of %i bytes go in %i notes", async (bytes, notes) => {
  const { control, asked } = world();
  await control.open();
  asked();
  const results = [posted("a".repeat(3_998)), posted("b".repeat(bytes - 4_003))];
  control.publishHints([{}, {}] as never, results as never);
  await turns();
  expect(
    asked()
      .join(" ")
      .split("me-1 ")
      .slice(1)
      .map((text) => text.trim().length),
  ).toEqual(notes === 1 ? [bytes] : [4_000, bytes - 4_001]);
  await control.close();
});

test("a notice of another program is no hint: one without text, without an agent, or of a node elsewhere", async () => {
  const { control, last } = world();
  await control.open();
  const heard: string[] = [];
  control.onHint((agentId) => heard.push(agentId));
  for (const payload of [undefined, "", "x", "x 0", "x 0:", "x 9:theirs", "x 0:free"])
    last().emit("notification", { channel: "s_hint", payload });
  expect(heard).toEqual(["free"]);
  await control.close();
});
