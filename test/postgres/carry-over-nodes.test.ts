/** Two nodes on one database: what one carries over after a change of `session.dmScope`, the other follows, and loses nothing in between. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/adapters/system/system-clock.ts";
import { openNode, type RookeryNode } from "../../src/app/node/open-node.ts";
import { type Config, configSchema } from "../../src/config/config-schema.ts";
import { homePaths } from "../../src/config/paths.ts";
import type { DmScope } from "../../src/core/agent/session-key.ts";
import type { Connector, ConnectorHost } from "../../src/core/ports/connector.ts";
import { carryOver } from "../../src/engine/people/carry-over.ts";
import { freshDatabase } from "./shared.ts";

const BY = { person: "owner", surface: "test" } as const;
const home = mkdtempSync(join(tmpdir(), "rookery-carry-over-nodes-"));
/** The time of both nodes is ahead by so much. A node looks again whether rights have changed after ten seconds. */
let ahead = 0;
let url = "";
let [first, second]: Opened[] = [];
let ids = 0;

interface Opened {
  readonly node: RookeryNode;
  /** A person writes to this node. Resolves with the agent that got it. */
  say(connector: string, userId: string, text: string): Promise<string>;
}
/** What either node sent. */
const sent: { readonly to: string; readonly text: string }[] = [];

const configOf = (dmScope: DmScope): Config =>
  configSchema.parse({
    ...{ session: { dmScope }, log: { level: "error" } },
    people: { records: { ann: { accounts: ["phone:a1", "desk:a2"] } } },
  });

function channel(name: string, hosts: Map<string, ConnectorHost>): Connector {
  return {
    ...{ name, sendingClass: "idempotent", capabilities: { sendText: true } },
    start: async (host) => void hosts.set(name, host),
    stop: async () => {},
    health: () => ({ ok: true, detail: "" }),
    async send({ target, payload }) {
      sent.push({ to: `${target.channel}:${target.to}`, text: payload.text ?? "" });
      return { status: "sent" };
    },
  };
}

async function openOn(name: string): Promise<Opened> {
  const hosts = new Map<string, ConnectorHost>();
  const node = await openNode({
    paths: { ...homePaths(join(home, name)), sharedStore: url },
    ...{ config: configOf("per-channel-peer"), env: {}, stays: true },
    connectors: [channel("phone", hosts), channel("desk", hosts)],
    clock: { ...systemClock, now: () => systemClock.now() + ahead },
    tools: { list: () => [], find: () => undefined },
    model: {
      async call({ messages }) {
        const text = `${messages.filter(({ role }) => role === "user").length} heard`;
        return { content: [{ type: "text", text }], stopReason: "stop", api: "a", provider: "p", model: "m" };
      },
    },
    onFatal(error) {
      throw error;
    },
  });
  return {
    node,
    async say(connector, userId, text) {
      const message = { connector, userId, channelId: userId, messageId: `m${++ids}`, text };
      const accepted = await hosts.get(connector)?.accept({ ...message, delivery: { channel: connector, to: userId } });
      return (accepted as { agentId: string }).agentId;
    },
  };
}

beforeAll(async () => {
  url = await freshDatabase();
  first = await openOn("a");
  second = await openOn("b");
});
afterAll(async () => {
  await Promise.all([first?.node.close(), second?.node.close()]);
  rmSync(home, { recursive: true, force: true });
});

const answered = async (count: number): Promise<void> => {
  await expect.poll(() => sent.length, { timeout: 60_000 }).toBe(count);
};

test("the other node routes to the carried conversation, from the first message that it looks again for", async () => {
  if (!first || !second) throw new Error("The nodes did not open.");
  const phone = await first.say("phone", "a1", "hello");
  await answered(1);
  for (const { node } of [first, second]) await node.reload(configOf("per-peer"), ["session.dmScope"]);
  // Both have looked just now.
  for (const { node } of [first, second]) await node.agents.directory.now();

  expect(
    (await carryOver(first.node.ports, first.node.settings.current, {}, BY)).map(({ agentId }) => agentId),
  ).toEqual([phone]);
  await first.node.agents.pairing.reread();
  expect(await first.say("desk", "a2", "on the node that decided")).toBe(phone);
  await answered(2);

  // The other node does not know yet: a conversation begins there, and the message is answered in it.
  const between = await second.say("desk", "a2", "in between");
  await answered(3);
  expect(sent.at(-1)).toEqual({ to: "desk:a2", text: "1 heard" });
  expect(between).not.toBe(phone);

  ahead += 10_001;
  expect(await second.say("desk", "a2", "later")).toBe(phone);
  expect(await second.say("phone", "a1", "and from the phone")).toBe(phone);
  await answered(5);
  expect(sent.slice(-2).map(({ text }) => text)).toEqual(["3 heard", "4 heard"]);
});
