/** One account of a channel that is kept running: when it is tried again, what it says of itself, and what it leaves behind. */
import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../app/testing/clock.ts";
import { type LogLine, recordingLog } from "../../../app/testing/log.ts";
import type { ChannelRequest, Connector, ConnectorHost, OutgoingDelivery } from "../../../core/ports/connector.ts";
import { supervise, WAIT_FOR_START_MS } from "./supervise.ts";

const traits = { capabilities: { sendText: true }, sendingClass: "ambiguous" } as const;
const host = {} as ConnectorHost;
const request = {} as ChannelRequest;
const target = { channel: "chat", to: "1" };
const delivery = { id: "d.0", target, payload: {} } as OutgoingDelivery;
const { signal } = new AbortController();
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** `events`: what happened to the connectors that were opened, each with its number. */
function world() {
  const clock = virtualClock();
  const lines: LogLine[] = [];
  const events: string[] = [];
  const how = { open: [] as string[], start: [] as string[], stop: Promise.resolve() as Promise<void> };
  let opened = 0;
  const open = async (): Promise<Connector> => {
    const wrong = how.open.shift();
    if (wrong) throw new TypeError(wrong);
    const n = ++opened;
    events.push(`open ${n}`);
    return {
      name: "chat",
      ...traits,
      async start() {
        const fault = how.start.shift();
        events.push(`start ${n}`);
        if (fault) throw new TypeError(fault);
      },
      async stop() {
        events.push(`stop ${n}`);
        await how.stop;
        events.push(`stopped ${n}`);
      },
      health: () => ({ ok: true, detail: `number ${n}` }),
      send: async () => ({ status: "sent", receipt: String(n) }),
      receive: async () => ({ status: 200, text: String(n) }),
      admit: () => 7,
      view: () => ({ text() {}, status() {}, close: () => void events.push(`view ${n}`) }),
      lookup: async () => "arrived" as never,
    };
  };
  const one = supervise("chat/one", traits, open, { clock, log: recordingLog(lines) });
  const pass = (ms: number): Promise<void> => clock.advance(ms, turn);
  return { clock, lines, events, how, one, pass, open };
}

describe("a start that fails", () => {
  it("is tried again after a second, and after twice as long each time, up to five minutes", async () => {
    const { how, one, lines, pass, events } = world();
    how.open = Array.from({ length: 11 }, () => "no network");
    await one.start(host);
    await pass(3_600_000);
    const pauses = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((seconds) => seconds * 1_000);
    expect(lines.map(({ fields }) => fields?.pause)).toEqual(pauses);
    expect(events).toEqual(["open 1", "start 1"]);
  });

  it("is not tried before its pause is over", async () => {
    const { how, one, pass, events } = world();
    how.open = ["no network"];
    await one.start(host);
    await pass(999);
    expect(events).toEqual([]);
    await pass(1);
    expect(events).toEqual(["open 1", "start 1"]);
  });

  it("begins with a short pause again after a start that worked", async () => {
    const { how, one, lines, pass } = world();
    how.open = ["away", "away"];
    await one.start(host);
    await pass(10_000);
    await one.stop();
    how.open = ["away"];
    await one.start(host);
    expect(lines.map(({ fields }) => fields?.pause)).toEqual([1_000, 2_000, 1_000]);
  });

  it("stops what it had opened before it opens another one", async () => {
    const { how, one, pass, events } = world();
    how.start = ["no answer"];
    await one.start(host);
    await pass(1_000);
    expect(events).toEqual(["open 1", "start 1", "stop 1", "stopped 1", "open 2", "start 2"]);
  });

  it("has stopped what it had opened when it resolves", async () => {
    const { how, one, events, clock } = world();
    const gate = Promise.withResolvers<void>();
    how.start = ["no answer"];
    how.stop = gate.promise;
    const started = one.start(host);
    await turn();
    expect([events, clock.timers]).toEqual([["open 1", "start 1", "stop 1"], 0]);
    gate.resolve();
    await started;
    expect(clock.timers).toBe(1);
  });

  it("is not tried again after a stop, also if it fails only then", async () => {
    const { how, one, pass, events, clock } = world();
    how.open = ["no network"];
    await one.start(host);
    await one.stop();
    expect(clock.timers).toBe(0);
    how.open = ["no network"];
    const starting = one.start(host);
    await Promise.resolve();
    await Promise.all([one.stop(), starting]);
    await pass(600_000);
    expect(events).toEqual([]);
  });

  it("is tried again although what was opened cannot be stopped", async () => {
    const { how, one, pass, events } = world();
    how.start = ["no answer"];
    how.stop = Promise.reject(new TypeError("stuck"));
    how.stop.catch(() => undefined);
    await one.start(host);
    await pass(1_000);
    expect(events.slice(-2)).toEqual(["open 2", "start 2"]);
  });
});

describe("an account", () => {
  it("says what it does: starting, failing with the reason, running with the last failure", async () => {
    const { how, one, pass, clock } = world();
    const shown = () => [one.state(), one.health().ok, one.health().detail];
    expect(shown()).toEqual(["starting", true, "starting"]);
    how.open = ["no network"];
    await one.start(host);
    expect(shown()).toEqual(["failing", false, "could not start: no network"]);
    const failedAt = clock.now();
    await pass(1_000);
    expect(shown()).toEqual(["running", true, "number 1"]);
    expect(one.health().lastError).toEqual({ at: failedAt, text: "no network" });
  });

  it("that is started twice runs once", async () => {
    const { one, events } = world();
    await Promise.all([one.start(host), one.start(host)]);
    expect(events).toEqual(["open 1", "start 1"]);
  });

  it("that is stopped before it has started does not run", async () => {
    const { one, events } = world();
    await Promise.all([one.start(host), one.stop()]);
    expect(events).toEqual([]);
    const starting = one.start(host);
    await Promise.resolve();
    await Promise.all([one.stop(), starting]);
    expect([one.state(), events]).toEqual(["starting", ["open 1", "start 1", "stop 1", "stopped 1"]]);
  });

  it("has stopped when its stop resolves, and only then starts again", async () => {
    const { how, one, events } = world();
    await one.start(host);
    const gate = Promise.withResolvers<void>();
    how.stop = gate.promise;
    let isOver = false;
    const stopped = one.stop().then(() => {
      isOver = true;
    });
    const again = one.start(host);
    await turn();
    expect([isOver, events]).toEqual([false, ["open 1", "start 1", "stop 1"]]);
    gate.resolve();
    await Promise.all([stopped, again]);
    expect(events).toEqual(["open 1", "start 1", "stop 1", "stopped 1", "open 2", "start 2"]);
  });

  it("that does not stop as it should is shown in the log and can be started again", async () => {
    const { how, one, lines, events } = world();
    await one.start(host);
    how.stop = Promise.reject(new TypeError("stuck"));
    how.stop.catch(() => undefined);
    await one.stop();
    expect(lines.map(({ message, fields }) => [message, fields?.error])).toEqual([
      ["an account did not stop", "stuck"],
    ]);
    await one.start(host);
    expect(events.at(-1)).toBe("start 2");
  });
});

describe("what is asked of an account", () => {
  test.each([
    ["that has not started", false, [WAIT_FOR_START_MS, "retry", undefined, "unknown"]],
    ["that runs", true, [7, "sent", "view", "arrived"]],
  ])("%s", async (_, runs, expected) => {
    const { one, events } = world();
    if (runs) await one.start(host);
    one.view?.(target, {} as never)?.close();
    const answers = [
      one.admit?.(target),
      (await one.send(delivery, signal)).status,
      events.at(-1)?.split(" ")[0],
      await one.lookup?.(delivery),
    ];
    expect(answers).toEqual(expected);
  });

  it("waits for a rate only if the channel has one", async () => {
    const { clock } = world();
    const bare = { name: "chat", ...traits, start: async () => {}, health: () => ({ ok: true, detail: "" }) };
    const one = supervise("chat/bare", traits, async () => bare as never, { clock, log: recordingLog([]) });
    await one.start(host);
    expect(one.admit?.(target)).toBe(0);
  });

  it("while it does not run is answered by one that is opened once and never started", async () => {
    const { how, one, events } = world();
    how.open = ["a secret is missing"];
    await expect(one.receive?.(request, host)).rejects.toThrow("a secret is missing");
    expect((await one.receive?.(request, host))?.text).toBe("1");
    expect((await one.receive?.(request, host))?.text).toBe("1");
    expect(events).toEqual(["open 1"]);
    await one.start(host);
    expect((await one.receive?.(request, host))?.text).toBe("2");
    // After a stop, what it was opened with may have changed.
    await one.stop();
    expect((await one.receive?.(request, host))?.text).toBe("3");
  });
});
