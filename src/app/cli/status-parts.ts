/**
 * What `rookery status` shows of the work besides the engine itself: each part reads one route and makes a line. A feature adds its
 * part here. A part that cannot be read is left out of the screen.
 */
import type { EngineApi } from "../client/engine-api.ts";
import type { ConnectorItem } from "../gateway/api/connector-routes.ts";
import { oneLine } from "./plain-text.ts";
import { relativeTime } from "./relative-time.ts";

export interface StatusPart {
  /** Its name in JSON. */
  readonly name: string;
  /** The value for programs, and lines for people. */
  read(api: EngineApi, now: number): Promise<{ readonly value: unknown; readonly lines: readonly string[] }>;
}

const DAY_MS = 24 * 3_600_000;
const SHOWN = 3;

interface Job {
  readonly id: string;
  readonly name: string;
  readonly state: { readonly nextRunAtMs?: number };
}

const failed: StatusPart = {
  name: "failed",
  async read(api, now) {
    const { items } = await api.get<{ items: readonly { settledAt?: number | null }[] }>("/api/inbox", {
      state: "failed",
      limit: 100,
    });
    const count = items.filter(({ settledAt }) => (settledAt ?? 0) > now - DAY_MS).length;
    return {
      value: count,
      lines: [
        count === 0
          ? "Failed    nothing today"
          : `Failed    ${count} messages in a day: \`rookery doctor\`, \`rookery logs --level warn\``,
      ],
    };
  },
};

const schedules: StatusPart = {
  name: "schedules",
  async read(api, now) {
    const { items } = await api.get<{ items: readonly Job[] }>("/api/cron", { limit: 100 });
    const next = items
      .flatMap(({ id, name, state: { nextRunAtMs } }) =>
        nextRunAtMs === undefined ? [] : [{ id, name, at: nextRunAtMs }],
      )
      .sort((a, b) => a.at - b.at)
      .slice(0, SHOWN);
    const lines = next.map(
      ({ name, at }, index) =>
        `${index === 0 ? "Next     " : "         "} ${relativeTime(at, now)}: ${oneLine(name, 60)}`,
    );
    return { value: next, lines };
  },
};

const channels: StatusPart = {
  name: "channels",
  async read(api) {
    const { items } = await api.get<{ items: readonly ConnectorItem[] }>("/api/connectors");
    const failing = items.filter(({ state }) => state === "failing");
    const value = items.map(({ channel, name, state, detail }) => ({ channel, name, state, detail }));
    const lines = failing.map(
      ({ name, detail }, index) => `${index === 0 ? "Channels " : "         "} ${name} fails: ${oneLine(detail, 160)}`,
    );
    return { value, lines };
  },
};

const leftBehind: StatusPart = {
  name: "leftBehind",
  async read(api) {
    const { warning } = await api.get<{ readonly warning: string | null }>("/api/carry-over");
    const lines = warning === null ? [] : [`Left      ${oneLine(warning, 300)} \`rookery sessions carry-over\``];
    return { value: warning, lines };
  },
};

export const STATUS_PARTS: readonly StatusPart[] = [failed, schedules, channels, leftBehind];

export async function readStatusParts(api: EngineApi, now: number) {
  const read = await Promise.all(
    STATUS_PARTS.map(async (part) => ({
      name: part.name,
      ...(await part.read(api, now).catch(() => ({ value: null, lines: [] }))),
    })),
  );
  return {
    facts: Object.fromEntries(read.map(({ name, value }) => [name, value])),
    lines: read.flatMap(({ lines }) => lines),
  };
}
