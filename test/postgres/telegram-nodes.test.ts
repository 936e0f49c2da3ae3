/** Two nodes on one database and the bots of Telegram: each account runs on one of them, and either takes what the server brings. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openNode, type RookeryNode } from "../../src/app/node/open-node.ts";
import { lastText, type ModelCall } from "../../src/app/testing/model.ts";
import { scripted } from "../../src/app/testing/scripted.ts";
import { configSchema } from "../../src/config/config-schema.ts";
import { homePaths } from "../../src/config/paths.ts";
import type { AccountStatus } from "../../src/core/ports/connector.ts";
import { FakeTelegram, person, privateChat } from "../telegram/fake-telegram.ts";
import { freshDatabase } from "./shared.ts";

const SECRET = "secret-of-the-hook";
const home = mkdtempSync(join(tmpdir(), "rookery-telegram-nodes-"));
let [asked, called]: FakeTelegram[] = [];
let url = "";
const nodes: RookeryNode[] = [];

beforeAll(async () => {
  url = await freshDatabase();
  asked = await new FakeTelegram().start();
  called = await new FakeTelegram({ token: "999:hook", username: "hook_bot" }).start();
  for (const name of ["a", "b"]) nodes.push(await openOn(name));
});
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.close()));
  await asked?.close();
  await called?.close();
  rmSync(home, { recursive: true, force: true });
});

function openOn(name: string): Promise<RookeryNode> {
  const hook = {
    kind: "telegram",
    token: "999:hook",
    apiRoot: called?.url,
    webhook: { secret: SECRET },
  };
  const telegram = { token: "123456:fake-token", apiRoot: asked?.url };
  const config = configSchema.parse({
    ...{ connectors: { telegram, hook }, people: { unknown: "guest" }, log: { level: "error" } },
    gateway: { publicUrl: "https://x.example" },
    store: { leaseSeconds: 60 },
  });
  return openNode({
    paths: { ...homePaths(join(home, name)), sharedStore: url },
    ...{ config, connectors: [], env: {}, stays: true, tools: { list: () => [], find: () => undefined } },
    model: scripted(
      ...Array.from(
        { length: 50 },
        () =>
          ({ request }: ModelCall) =>
            `answer to ${lastText(request)}`,
      ),
    ),
    onFatal(error) {
      throw error;
    },
  });
}

const statesOf = (node: RookeryNode | undefined): Record<string, string> =>
  Object.fromEntries(
    (node?.ports.connectors.get("telegram")?.accounts?.() ?? []).map(({ name, state }: AccountStatus) => [name, state]),
  );
const runningOn = (name: string): readonly number[] =>
  [0, 1].filter((index) => statesOf(nodes[index])[name] === "running");

test("each account runs on one node, and a message is answered once", async () => {
  await expect.poll(() => [runningOn("telegram").length, runningOn("hook").length]).toEqual([1, 1]);
  for (const account of ["telegram", "hook"]) {
    expect(nodes.map((node) => statesOf(node)[account]).toSorted()).toEqual(["elsewhere", "running"]);
  }
  asked?.say(5, "hello");
  await asked?.until(() => asked?.textsTo(5).length === 1);
  expect(asked?.textsTo(5)).toEqual(["answer to hello"]);
  expect(asked?.conflicts).toBe(0);
});

test("a node that does not run an account takes what the server brings to it, once", async () => {
  const [running = 0] = runningOn("hook");
  const message = { message_id: 9, date: called?.now(), from: person(6), chat: privateChat(6), text: "brought" };
  const bring = async (node: RookeryNode | undefined): Promise<number | undefined> => {
    const connector = node?.ports.connectors.get("telegram");
    const raw = Buffer.from(JSON.stringify({ update_id: 1, message }));
    const header = (name: string) => (name === "x-telegram-bot-api-secret-token" ? SECRET : undefined);
    const request = { account: "hook", method: "POST", query: {}, raw, header } as const;
    return node && connector && (await connector.receive?.(request, node.agents.connectorHost(connector)))?.status;
  };
  expect(await bring(nodes[1 - running])).toBe(200);
  expect(await bring(nodes[running])).toBe(200);
  await called?.until(() => called?.textsTo(6).length === 1);
  await Promise.all(nodes.map((node) => node.agents.settled()));
  expect(called?.textsTo(6)).toEqual(["answer to brought"]);
});

test("the other node takes the accounts over when a node stops", async () => {
  const [running = 0] = runningOn("telegram");
  const [left] = nodes.splice(running, 1);
  await left?.close();
  asked?.say(5, "still there?");
  await asked?.until(() => asked?.textsTo(5).length === 2);
  expect(asked?.textsTo(5)[1]).toBe("answer to still there?");
  expect(asked?.conflicts).toBe(0);
});
