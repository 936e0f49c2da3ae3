/** Asking for updates: another program with the same token, a server that wants a pause, and a connection that breaks. */
import { afterEach, describe, expect, it } from "vitest";
import { seededIds } from "../../../../test/kit/ids.ts";
import { FakeTelegram, type Fault } from "../../../../test/telegram/fake-telegram.ts";
import { virtualClock } from "../../../app/testing/clock.ts";
import { type LogLine, recordingLog } from "../../../app/testing/log.ts";
import { configSchema } from "../../../config/config-schema.ts";
import type { Connector } from "../../../core/ports/connector.ts";
import { openMemoryStore } from "../../store/sqlite/open-store.ts";
import { telegramConnector } from "./telegram-connector.ts";

const clock = virtualClock();
let fake: FakeTelegram;
let connector: Connector;

async function connected(...faults: readonly Fault[]): Promise<readonly string[]> {
  fake = await new FakeTelegram({ clock }).start();
  fake.fail("getUpdates", ...faults);
  const settings = configSchema.parse({ connectors: { telegram: { token: "x", apiRoot: fake.url } } }).connectors
    .telegram;
  if (!settings) throw new TypeError("no settings");
  const lines: LogLine[] = [];
  const ports = { clock, log: recordingLog(lines), store: openMemoryStore(), ids: seededIds("bot") } as never;
  connector = telegramConnector({ name: "telegram", settings, token: fake.token, reveal: () => "", ports });
  const taken: string[] = [];
  await connector.start({
    async accept({ text }) {
      taken.push(text);
      return { status: "accepted", agentId: "a" as never, messageId: "a:1" as never };
    },
    command: async () => ({ status: "stale" }),
  });
  return taken;
}

const polls = (): readonly number[] => fake.calls.filter(({ method }) => method === "getUpdates").map(({ at }) => at);

afterEach(async () => {
  await connector.stop();
  await fake.close();
});

describe("asking for updates", () => {
  it("shows a 409 as failing with what it means, and works again when the other program stops", async () => {
    const conflict = { code: 409, description: "Conflict: terminated by other getUpdates request" };
    const taken = await connected({ answer: conflict }, { answer: conflict });
    await fake.until(() => !connector.health().ok);
    expect(connector.health().detail).toContain("another program receives the messages of this bot");
    await fake.until(() => connector.health().ok || polls().length > 2);
    fake.say(5, "after the conflict");
    await fake.until(() => taken.length === 1 && connector.health().ok);
    expect(connector.health().lastError?.text).toContain("another program");
  });

  it("waits as long as a 429 says before it asks again", async () => {
    const answer = { code: 429, description: "Too Many Requests", parameters: { retry_after: 37 } };
    await connected({ answer });
    await fake.until(() => polls().length === 1);
    const began = clock.monotonic();
    await fake.until(() => polls().length === 2);
    expect(clock.monotonic() - began).toBeGreaterThanOrEqual(36_900);
  });

  it.each([
    ["a connection that breaks", { cut: "before" }],
    ["an answer that is no JSON", { garbage: true }],
    ["a server that is down", { answer: { code: 502, description: "Bad Gateway" } }],
  ] as const)("loses no update with %s", async (_, fault) => {
    const taken = await connected(fault, fault);
    fake.say(5, "still here");
    await fake.until(() => taken.length === 1 && fake.pending === 0);
    expect(taken).toEqual(["still here"]);
  });
});
