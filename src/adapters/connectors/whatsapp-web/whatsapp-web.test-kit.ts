/** An account of WhatsApp Web at its event port, with a phone that a test plays and time that a test moves. */
import { expect } from "vitest";
import { FakeWeb } from "../../../../test/whatsapp-web/fake-web.ts";
import { virtualClock } from "../../../app/testing/clock.ts";
import { seededIds } from "../../../app/testing/ids.ts";
import { MemoryHost } from "../../../app/testing/kit/kit-case.ts";
import { type LogLine, recordingLog } from "../../../app/testing/log.ts";
import { memoryStore } from "../../../app/testing/store.ts";
import { configSchema } from "../../../config/config-schema.ts";
import type { Connector } from "../../../core/ports/connector.ts";
import { whatsappWebConnector } from "./whatsapp-web-connector.ts";

const kept = memoryStore();
const ids = seededIds("web");

let accounts = 0;

export function webWorld(settings: object = {}) {
  const clock = virtualClock();
  const fake = new FakeWeb();
  const lines: LogLine[] = [];
  const name = `web-${++accounts}`;
  const parsed = configSchema.parse({ connectors: { [name]: { kind: "whatsapp-web", ...settings } } }).connectors[name];
  if (!parsed) throw new TypeError("no settings");
  const ports = { clock, log: recordingLog(lines), store: kept, ids };
  const connector = (): Connector =>
    whatsappWebConnector({ name, settings: parsed, reveal: () => "", ports, openWeb: fake.open });
  const wait = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 500)
      await clock.advance(Math.min(left, 500), () => new Promise((resolve) => setImmediate(resolve)));
    await new Promise((resolve) => setTimeout(resolve, 2));
  };
  const until = async (holds: () => boolean): Promise<void> => {
    for (let n = 0; n < 2_000 && !holds(); n++) await wait(20);
    expect(holds()).toBe(true);
  };
  const opened = async (host = new MemoryHost()) => {
    const one = connector();
    await one.start(host);
    await until(() => one.health().ok);
    return { one, host };
  };
  return { clock, fake, lines, name, ports, connector, wait, until, opened };
}
