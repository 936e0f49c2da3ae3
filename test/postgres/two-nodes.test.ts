/** Two real nodes on one database: any node serves any request, and a singleton connector moves when its node dies. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { openNode, type RookeryNode } from "../../src/app/node/open-node.ts";
import { parseConfig } from "../../src/config/parse-config.ts";
import { homePaths } from "../../src/config/paths.ts";
import type { AgentId, RunId } from "../../src/core/ids.ts";
import type { Connector } from "../../src/core/ports/connector.ts";
import type { Model, ModelMessage } from "../../src/core/ports/model.ts";
import type { RunEvent } from "../../src/engine/runtime/run-events.ts";
import { startProxy, type WireProxy } from "./proxy.ts";
import { freshDatabase } from "./shared.ts";

const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 };
const about = { api: "scripted", provider: "scripted", model: "scripted", usage };
const textOf = (message: ModelMessage | undefined): string =>
  (message?.content ?? []).flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");

/** Answers with the last text; waits inside the call until the test releases or stops it. */
class HeldModel implements Model {
  readonly #held: (() => void)[] = [];
  readonly calls: string[] = [];
  isHeld = false;
  deltas: readonly string[] = [];

  readonly call: Model["call"] = async ({ messages }, signal, onEvent) => {
    const asked = textOf(messages.findLast(({ role }) => role === "user"));
    this.calls.push(asked);
    for (const text of this.deltas) onEvent?.({ type: "text", delta: text });
    if (this.isHeld) {
      await new Promise<void>((resolve) => {
        this.#held.push(resolve);
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    return { ...about, content: [{ type: "text", text: `answer to ${asked}` }], stopReason: "stop" };
  };

  letGo(): void {
    for (const go of this.#held.splice(0)) go();
  }
}

/**
 * Resolves when the engine of a node has read what waits, and then what is urgent: its look at the inbox is over. What it reads
 * later enters no run that ends before.
 */
function arrivalsAt({ ports }: RookeryNode): () => Promise<void> {
  const { calls, results } = vi.spyOn(ports.store, "waiting").mock;
  const hasRead = async (): Promise<boolean> => {
    const read = await Promise.all(results.map(({ value }) => value));
    const at = read.findIndex(({ length }) => length > 0);
    return at !== -1 && read.some((_, later) => later > at && calls[later]?.[1]?.urgent === true);
  };
  return () => expect.poll(hasRead, { interval: 20 }).toBe(true);
}

let url = "";
let proxy: WireProxy;
let homes: string[] = [];
let nodes: RookeryNode[] = [];
beforeAll(async () => {
  url = await freshDatabase();
});
beforeEach(async () => {
  const { hostname, port } = new URL(url);
  proxy = await startProxy({ host: hostname, port: Number(port) });
  homes = [];
  nodes = [];
});
afterEach(async () => {
  proxy.refusing = false;
  await Promise.all(nodes.map((node) => node.close()));
  await proxy.close();
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

/** A node that must not lose its agents gets a lease that no slow machine outlasts. */
async function node(
  model: Model,
  connectors: readonly Connector[] = [],
  at = url,
  leaseSeconds = 60,
): Promise<RookeryNode> {
  const home = mkdtempSync(join(tmpdir(), "rookery-node-"));
  homes.push(home);
  const { config } = parseConfig({
    text: `{ queue: { mode: "queue", cap: 1000 }, log: { level: "error" }, store: { leaseSeconds: ${leaseSeconds} } }`,
    file: "rookery.json5",
    env: {},
  });
  const opened = await openNode({
    paths: { ...homePaths(home), sharedStore: at },
    config,
    connectors,
    model,
    env: {},
    tools: { list: () => [], find: () => undefined },
    onFatal(error) {
      throw error;
    },
  });
  nodes.push(opened);
  return opened;
}

const descriptor = (user: string) => ({ type: "user", connector: "test", userId: user, channelId: user }) as const;
const say = (text: string) => ({ kind: "user", text }) as const;

/** Makes node B hold an agent with a run that waits inside its model call. */
async function runOnB(b: RookeryNode, model: HeldModel, user: string): Promise<{ agentId: AgentId; runId: RunId }> {
  model.isHeld = true;
  const posted = await b.agents.post({ to: { descriptor: descriptor(user) }, body: say(user) });
  if (posted.status === "stale") throw new Error("Not accepted.");
  await expect.poll(() => b.agents.runs.live(posted.agentId)?.id, { interval: 5 }).toBeDefined();
  await expect.poll(() => model.calls.length, { interval: 5 }).toBeGreaterThan(0);
  return { agentId: posted.agentId, runId: b.agents.runs.live(posted.agentId)?.id as RunId };
}

test("a run on B streams to a listener on A, and its result reaches a waiter on A", async () => {
  const [ours, theirs] = [new HeldModel(), new HeldModel()];
  const [a, b] = [await node(ours), await node(theirs)];
  const { agentId } = await runOnB(b, theirs, "streamed");
  const heard: RunEvent[] = [];
  a.agents.events.listen((event) => heard.push(event));
  a.remoteNodes?.follow(agentId);
  const awaited = a.agents.postAndAwait({ to: { agentId }, body: say("second") }, { timeoutMs: 60_000 });
  await expect.poll(async () => (await a.ports.store.agent(agentId))?.waiting, { interval: 10 }).toBe(1);
  theirs.isHeld = false;
  theirs.deltas = ["word ".repeat(1_000), "ü".repeat(3_000), "end"];
  theirs.letGo();
  const { result } = await awaited;
  expect(result?.payloads[0]?.text).toContain("second");
  expect(ours.calls).toEqual([]);
  const second = () => heard.filter(({ runId }) => runId === result?.runId);
  await expect.poll(() => second().at(-1)?.type, { interval: 10 }).toBe("end");
  const text = second().flatMap((event) => (event.type === "delta" ? [event.text] : []));
  expect(text.join("")).toBe(theirs.deltas.join(""));
  expect(second().map(({ seq }) => seq)).toEqual(
    second()
      .map(({ seq }) => seq)
      .sort((x, y) => x - y),
  );
});

test("a run on B is aborted from A at once, not at its next step", async () => {
  const theirs = new HeldModel();
  const [a, b] = [await node(new HeldModel()), await node(theirs)];
  const { agentId, runId } = await runOnB(b, theirs, "aborted");
  expect(await a.agents.runs.abort(runId)).toBe(true);
  expect(await a.agents.runs.wait(runId, 60_000)).toMatchObject({ status: "ended", outcome: "aborted" });
  expect((await a.ports.store.agent(agentId))?.runId).toBeUndefined();
  expect(await a.agents.runs.abort(runId)).toBe(false);
});

test("a text steered from A into a run on B reaches that run", async () => {
  const theirs = new HeldModel();
  const [a, b] = [await node(new HeldModel()), await node(theirs)];
  const { agentId, runId } = await runOnB(b, theirs, "steered");
  const arrived = arrivalsAt(b);
  expect(await a.agents.runs.steer(runId, "turn left")).toBe(true);
  expect(await a.agents.runs.steer("unknown" as RunId, "x")).toBe(false);
  await expect.poll(async () => (await a.ports.store.waiting(agentId, { limit: 5 })).length, { interval: 10 }).toBe(1);
  await arrived();
  theirs.isHeld = false;
  theirs.letGo();
  expect(await a.agents.runs.wait(runId, 60_000)).toMatchObject({ status: "ended" });
  await expect
    .poll(async () => (await a.ports.store.messages(agentId, { limit: 5 })).map(({ state }) => state), {
      interval: 20,
    })
    .not.toContain("waiting");
  expect(theirs.calls.at(-1)).toContain("turn left");
});

test("a node that shuts down hands over: its runs continue on another node before its lease is over", async () => {
  const theirs = new HeldModel();
  const ours = new HeldModel();
  const [a, b] = [await node(ours), await node(theirs)];
  const { agentId, runId } = await runOnB(b, theirs, "handed over");
  const began = performance.now();
  await b.close();
  nodes.splice(nodes.indexOf(b), 1);
  expect(await a.agents.runs.wait(runId, 60_000)).toMatchObject({ status: "ended", outcome: "ok" });
  expect(performance.now() - began).toBeLessThan(50_000);
  expect(ours.calls).toContain("handed over");
  // A handover is not a crash and does not count as an attempt.
  expect(await a.ports.store.run(runId)).toMatchObject({ attempt: 1 });
  expect((await a.ports.store.agent(agentId))?.waiting).toBe(0);
});

function singletonConnector(log: string[], name: string): Connector {
  return {
    name: "bot",
    capabilities: { sendText: true },
    sendingClass: "idempotent",
    once: true,
    start: async () => void log.push(`${name} starts`),
    stop: async () => void log.push(`${name} stops`),
    health: () => ({ ok: true, detail: "" }),
    async send({ payload }) {
      log.push(`${name} sends ${payload.text}`);
      return { status: "sent" };
    },
  };
}

test("a singleton connector runs and sends on one node, and moves when that node is gone", async () => {
  const log: string[] = [];
  const a = await node(new HeldModel(), [singletonConnector(log, "A")], proxy.through(url), 3);
  await expect.poll(() => log, { interval: 10 }).toEqual(["A starts"]);
  const b = await node(new HeldModel(), [singletonConnector(log, "B")], url, 3);
  // B processes the message, and A sends the answer, because the bot runs there.
  await b.agents.post({
    to: { descriptor: descriptor("bot") },
    body: say("hi"),
    delivery: { channel: "bot", to: "x" },
  });
  await expect.poll(() => log, { interval: 20 }).toEqual(["A starts", expect.stringMatching(/^A sends/)]);
  proxy.refusing = true;
  proxy.cut();
  await expect.poll(() => log, { interval: 20 }).toContain("B starts");
  expect(log).toContain("A stops");
  expect(a.ports.connectors.get("bot")?.isRemote?.()).toBe(true);
});
