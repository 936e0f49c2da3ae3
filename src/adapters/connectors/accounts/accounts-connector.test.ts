import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../app/testing/clock.ts";
import { type LogLine, recordingLog } from "../../../app/testing/log.ts";
import type { ChannelRequest, Connector, ConnectorHost, OutgoingDelivery } from "../../../core/ports/connector.ts";
import { accountsConnector, type ChannelAccount } from "./accounts-connector.ts";

const traits = { capabilities: { sendText: true }, sendingClass: "ambiguous" } as const;
const host = {} as ConnectorHost;

interface Life {
  starts: number;
  stops: number;
  sent: string[];
  failing: boolean;
}

function account(name: string, life: Life, fingerprint = "1"): ChannelAccount {
  const connector: Connector = {
    name: "chat",
    ...traits,
    async start() {
      if (life.failing) throw new TypeError("no network");
      life.starts += 1;
    },
    async stop() {
      life.stops += 1;
    },
    health: () => ({ ok: true, detail: "fine" }),
    async send({ id }) {
      life.sent.push(id);
      return { status: "sent" };
    },
  };
  return { name, accountId: name === "chat" ? undefined : name, fingerprint, open: async () => connector };
}

const life = (failing = false): Life => ({ starts: 0, stops: 0, sent: [], failing });
const TARGET = { channel: "chat", to: "1" };
const delivery = (id: string, accountId?: string) =>
  ({ id, target: { channel: "chat", accountId, to: "1" }, payload: {} }) as OutgoingDelivery;

function channelOf(starts = true) {
  const clock = virtualClock();
  const lines: LogLine[] = [];
  const channel = accountsConnector("chat", traits, { clock, log: recordingLog(lines), once: (one) => one, starts });
  return { clock, lines, channel };
}

describe("a channel with several accounts", () => {
  it("gives each delivery to its account, and lets one for an unknown account wait", async () => {
    const { channel } = channelOf();
    const [a, b] = [life(), life()];
    await channel.replace([account("chat", a), account("work", b)]);
    await channel.start(host);
    const signal = AbortSignal.timeout(60_000);
    expect(await channel.send(delivery("1"), signal)).toEqual({ status: "sent" });
    expect(await channel.send(delivery("2", "work"), signal)).toEqual({ status: "sent" });
    expect([a.sent, b.sent]).toEqual([["1"], ["2"]]);
    expect(await channel.send(delivery("3", "gone"), signal)).toMatchObject({ status: "retry" });
    expect(channel.admit?.({ channel: "chat", accountId: "gone", to: "1" })).toBeGreaterThan(0);
  });

  it("shows an account that cannot start, tries it again, and runs the others", async () => {
    const { channel, clock, lines } = channelOf();
    const [bad, good] = [life(true), life()];
    await channel.replace([account("bad", bad), account("good", good)]);
    await channel.start(host);
    expect(channel.accounts?.()).toMatchObject([
      { name: "bad", state: "failing", ok: false, lastError: { text: "no network" } },
      { name: "good", state: "running", ok: true },
    ]);
    expect(channel.health()).toMatchObject({ ok: false });
    expect(lines).toHaveLength(1);
    expect(await channel.send(delivery("1", "bad"), AbortSignal.timeout(60_000))).toMatchObject({ status: "retry" });
    bad.failing = false;
    await clock.advance(1_000, () => new Promise(setImmediate));
    expect(channel.accounts?.()[0]).toMatchObject({ state: "running", ok: true });
    expect(bad.starts).toBe(1);
  });

  it("restarts only the account whose settings have changed", async () => {
    const { channel } = channelOf();
    const [a, b, c] = [life(), life(), life()];
    await channel.replace([account("a", a), account("b", b)]);
    await channel.start(host);
    await channel.replace([account("a", a), account("b", b, "2"), account("c", c)]);
    expect([a, b, c].map(({ starts, stops }) => [starts, stops])).toEqual([
      [1, 0],
      [2, 1],
      [1, 0],
    ]);
    await channel.replace([]);
    expect([a, b, c].map(({ starts, stops }) => starts - stops)).toEqual([0, 0, 0]);
  });

  it("does not try again after it was stopped", async () => {
    const { channel, clock } = channelOf();
    const bad = life(true);
    await channel.replace([account("bad", bad)]);
    await channel.start(host);
    await channel.stop();
    bad.failing = false;
    await clock.advance(600_000);
    expect(bad.starts).toBe(0);
  });

  it("starts nothing in a process that does not stay, and lets deliveries wait", async () => {
    const { channel } = channelOf(false);
    const a = life();
    await channel.replace([account("a", a)]);
    await channel.start(host);
    expect(a.starts).toBe(0);
    expect(channel.accounts?.()).toMatchObject([{ state: "off" }]);
    expect(channel.admit?.({ channel: "chat", accountId: "a", to: "1" })).toBeGreaterThan(0);
  });

  it("asks the account of an address, and no other, for everything that concerns it", async () => {
    const { channel } = channelOf();
    const asked: string[] = [];
    const speaking = (name: string): ChannelAccount => ({
      ...account(name, life()),
      groupActivation: name === "work" ? "always" : "mention",
      open: async () => ({
        ...(await account(name, life()).open()),
        admit: () => (name === "work" ? 5 : 0),
        view: () => void asked.push(`view ${name}`) as undefined,
        lookup: async () => `seen by ${name}` as never,
        receive: async () => ({ status: 200, text: name }),
      }),
    });
    await channel.replace([speaking("chat"), speaking("work")]);
    await channel.start(host);
    const [first, work, gone] = [undefined, "work", "gone"].map((accountId) => ({ ...TARGET, accountId }));
    expect([first, work].map((to) => channel.admit?.(to ?? TARGET))).toEqual([0, 5]);
    expect([first, work, gone].map((to) => channel.groupActivation?.(to ?? TARGET))).toEqual([
      ...["mention", "always", undefined],
    ]);
    channel.view?.({ ...TARGET, accountId: "work" }, {} as never);
    expect(asked).toEqual(["view work"]);
    expect(await channel.lookup?.(delivery("1", "work"))).toBe("seen by work");
    expect(await channel.lookup?.(delivery("1", "gone"))).toBe("unknown");
    const called = async (name: string) => (await channel.receive?.({ account: name } as ChannelRequest, host))?.text;
    expect([await called("chat"), await called("work"), await called("gone")]).toEqual(["chat", "work", undefined]);
  });

  it("is well while all accounts are, and else names those that are not", async () => {
    const { channel } = channelOf();
    await channel.replace([account("good", life()), account("bad", life(true)), account("worse", life(true))]);
    expect(channel.health()).toEqual({ ok: true, detail: "3 accounts" });
    await channel.start(host);
    const why = "could not start: no network";
    expect(channel.health()).toEqual({ ok: false, detail: `bad: ${why}; worse: ${why}` });
  });

  it("says in a refusal which account is missing", async () => {
    const { channel } = channelOf();
    const reasonOf = async (accountId?: string) => {
      const result = await channel.send(delivery("1", accountId), AbortSignal.timeout(60_000));
      return "reason" in result ? result.reason : "";
    };
    expect(await reasonOf("gone")).toBe('There is no account "gone" in the configuration.');
    expect(await reasonOf()).toBe('There is no account "chat" in the configuration.');
  });

  it("shows an account that another node runs, with what that node says", async () => {
    const once = (one: Connector): Connector => ({
      ...one,
      isRemote: () => true,
      health: () => ({ ok: true, detail: "runs on node-2" }),
    });
    const channel = accountsConnector("chat", traits, {
      ...{ clock: virtualClock(), log: recordingLog([]), once, starts: true },
    });
    await channel.replace([account("chat", life(true))]);
    await channel.start(host);
    expect(channel.accounts?.()).toMatchObject([{ state: "elsewhere", ok: true, detail: "runs on node-2" }]);
    expect([TARGET, { ...TARGET, accountId: "gone" }, undefined].map((to) => channel.isRemote?.(to))).toEqual([
      ...[true, false, false],
    ]);
  });

  /** An account whose first connector stops when the gate opens. */
  function slowToStop() {
    const gate = Promise.withResolvers<void>();
    const events: string[] = [];
    const slow = (fingerprint: string): ChannelAccount => ({
      ...account("work", life(), fingerprint),
      open: async () => ({
        ...(await account("work", life()).open()),
        start: async () => void events.push(`start ${fingerprint}`),
        stop: async () => {
          if (fingerprint === "1") await gate.promise;
          events.push(`stop ${fingerprint}`);
        },
      }),
    });
    return { gate, events, slow };
  }

  it("has stopped the old account before the changed one starts, one change after the other", async () => {
    const { channel } = channelOf();
    const { gate, events, slow } = slowToStop();
    await channel.replace([slow("1")]);
    await channel.start(host);
    const changes = [channel.replace([slow("2")]), channel.replace([slow("3")])];
    await new Promise(setImmediate);
    expect(events).toEqual(["start 1"]);
    gate.resolve();
    await Promise.all(changes);
    expect(events).toEqual(["start 1", "stop 1", "start 2", "stop 2", "start 3"]);
  });

  it("that is stopped waits for an account that is being removed, and starts none that is still to come", async () => {
    const { channel } = channelOf();
    const { gate, events, slow } = slowToStop();
    await channel.replace([slow("1")]);
    await channel.start(host);
    const change = channel.replace([slow("2")]);
    await new Promise(setImmediate);
    const stopped = channel.stop().then(() => events.push("stopped"));
    await new Promise(setImmediate);
    expect(events).toEqual(["start 1"]);
    gate.resolve();
    await Promise.all([change, stopped]);
    expect(events).toEqual(["start 1", "stop 1", "stopped"]);
    await channel.start(host);
    expect(events.at(-1)).toBe("start 2");
  });

  it("starts an account that is added later, also if it has the name of one that was removed", async () => {
    const { channel } = channelOf();
    await channel.replace([]);
    await channel.start(host);
    const [first, second] = [life(), life()];
    await channel.replace([account("work", first)]);
    await channel.replace([]);
    expect(channel.accounts?.()).toEqual([]);
    await channel.replace([account("work", second)]);
    expect([first, second].map(({ starts, stops }) => [starts, stops])).toEqual([
      [1, 1],
      [1, 0],
    ]);
  });
});
