import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../app/testing/clock.ts";
import { type LogLine, recordingLog } from "../../../app/testing/log.ts";
import type { Connector, ConnectorHost, OutgoingDelivery } from "../../../core/ports/connector.ts";
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
});
