/**
 * A process for tests of the watchdog: a node whose tool blocks the event loop. Its scripted model calls the tool that the
 * message names, and answers other messages. Prints a line of JSON for what happens.
 *
 *     node blocked-node.ts HOME blocking BLOCKED_SECONDS DRAIN_SECONDS    the tools block or hang
 *     node blocked-node.ts HOME harmless BLOCKED_SECONDS DRAIN_SECONDS    the tools return at once
 */
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { openNode } from "../../src/app/node/open-node.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { homePaths } from "../../src/config/paths.ts";
import { silentLog } from "../../src/core/ports/log.ts";
import type { Model } from "../../src/core/ports/model.ts";
import type { Tool } from "../../src/core/ports/tool.ts";
import { lastText, modelResult } from "../kit/model.ts";

const say = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`);
};
/** Takes no processor time from the other tests. */
const blockForever = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
const forever = (): Promise<never> => new Promise(() => setInterval(() => {}, 1_000));

/** What each tool does. The line goes out before: afterwards nothing does. */
const WORK: Readonly<Record<string, () => Promise<unknown>>> = {
  block: async () => {
    // Longer than a beat of the watchdog: what the run noted before is over.
    await setTimeout(700);
    blockForever();
  },
  hang: forever,
};

const tools = Object.entries(WORK).map(
  ([name, work]): Tool => ({
    name,
    description: "",
    input: z.looseObject({}),
    rights: [],
    replay: "safe",
    parallel: false,
    maxOutput: 100,
    async execute() {
      say({ tool: name });
      if (process.argv[3] !== "harmless") await work();
      return { content: [] };
    },
  }),
);

const model: Model = {
  async call(request) {
    const text = lastText(request);
    const isNew = request.messages.at(-1)?.role === "user";
    return modelResult(isNew && WORK[text] ? { call: [{ name: text }] } : `answer to ${text}`);
  },
};

const paths = homePaths(process.argv[2] ?? "");
const { config } = await loadConfig(paths, process.env);
const node = await openNode({
  paths,
  config,
  model,
  connectors: [],
  env: process.env,
  tools: { list: () => tools, find: (_, name) => tools.find((tool) => tool.name === name) },
  log: {
    ...silentLog,
    warn: (message, fields) => say({ log: message, ...fields }),
    error: (message, fields) => say({ log: message, ...fields }),
  },
  stays: true,
  watchdog: true,
  times: { watchdog: { blockedMs: Number(process.argv[4]) * 1_000, drainMs: Number(process.argv[5]) * 1_000 } },
  onFatal: () => process.exit(4),
});
process.once("SIGTERM", () => {
  say({ stopping: true });
  void node.close().then(() => process.exit(0));
});
process.stdin.setEncoding("utf8");
/** A line `USER TEXT` posts a message and prints how it ended. */
process.stdin.on("data", (chunk: string) => {
  for (const line of chunk.split("\n").filter(Boolean)) {
    const [user = "", text = ""] = line.split(" ");
    const to = { descriptor: { type: "user", connector: "test", userId: user, channelId: user } } as const;
    node.agents
      .postAndAwait({ to, body: { kind: "user", text } }, { timeoutMs: 60_000 })
      .then(({ result }) => say({ user, outcome: result?.outcome, error: result?.meta.error?.message }))
      .catch(() => {});
  }
});
node.agents.events.listenToEnds(({ type, agentId, ...rest }) => {
  if (type === "end" && "result" in rest) {
    say({ ended: agentId, outcome: rest.result.outcome, error: rest.result.meta.error?.message });
  }
});
say({ ready: true });
