/** A node whose bubblewrap has lost its guards: no command runs in it, and messages are answered as before. */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { makeDiskDirectory } from "../../../test/kit/disk-directory.ts";
import { needs } from "../../../test/kit/needs.ts";
import { configSchema } from "../../config/config-schema.ts";
import { homePaths } from "../../config/paths.ts";
import { silentLog } from "../../core/ports/log.ts";
import type { Model } from "../../core/ports/model.ts";
import { openNode, type RookeryNode } from "./open-node.ts";

const root = makeDiskDirectory("rookery-refused-");
const paths = homePaths(join(root, "home"));
const programs = join(root, "bin");
const used = join(root, "used");

/** The first `bwrap` of `PATH`. It keeps a list of its uses. */
function putBwrap(line: string): void {
  mkdirSync(programs, { recursive: true });
  writeFileSync(join(programs, "bwrap"), `#!/bin/bash\necho use >>${used}\n${line}\n`);
  chmodSync(join(programs, "bwrap"), 0o755);
}

const about = { api: "a", provider: "p", model: "m" } as const;
/** Runs the line of a message that begins with `$`, answers with the result, and answers everything else with "hello". */
const model: Model = {
  async call({ messages }) {
    const last = messages.at(-1);
    const said = last?.content.map((block) => (block.type === "text" ? block.text : "")).join("") ?? "";
    const answer = (text: string) => ({
      ...about,
      content: [{ type: "text" as const, text }],
      stopReason: "stop" as const,
    });
    if (last?.role === "tool") return answer(said);
    if (!said.startsWith("$ ")) return answer("hello");
    const call = { type: "toolCall" as const, id: "c", name: "exec", arguments: { command: said.slice(2) } };
    return { ...about, content: [call], stopReason: "tool_calls" };
  },
};

let node: RookeryNode;
beforeAll(async () => {
  putBwrap('for word; do shift; [ "$word" = --unshare-net ] || set -- "$@" "$word"; done; exec /usr/bin/bwrap "$@"');
  node = await openNode({
    paths,
    config: configSchema.parse({
      owner: { accounts: ["test:olga"] },
      sandbox: { kind: "bwrap" },
      profiles: { main: { exec: { security: "full" } } },
    }),
    env: { ...process.env, PATH: `${programs}:${process.env.PATH}` },
    connectors: [],
    model,
    log: silentLog,
    onFatal: (error) => expect.unreachable(String(error)),
  });
});
afterAll(async () => {
  await node.close();
  rmSync(root, { recursive: true, force: true });
});

async function say(text: string): Promise<string> {
  const descriptor = { type: "user", connector: "test", userId: "olga", channelId: "olga" } as const;
  const { result } = await node.agents.postAndAwait({ to: { descriptor }, body: { kind: "user", text } });
  return JSON.stringify(result);
}

it("answers messages without trying the sandbox", needs("bwrap"), async () => {
  expect(await say("hi")).toContain("hello");
  expect(existsSync(used)).toBe(false);
});

it("refuses a command if the sandbox lets one reach the network, and says what to do", needs("bwrap"), async () => {
  const answer = await say("$ touch made.txt");
  expect(answer).toContain("The sandbox bwrap is not used, because in it a command could reach a port of this machine");
  expect(answer).toContain("rookery doctor");
  expect(existsSync(join(paths.workspace, "made.txt"))).toBe(false);
});

it("runs commands again after the sandbox was repaired, and tries it once", needs("bwrap"), async () => {
  putBwrap('exec /usr/bin/bwrap "$@"');
  expect(await say("$ touch made.txt")).toContain("exit code 0");
  expect(existsSync(join(paths.workspace, "made.txt"))).toBe(true);
  const uses = (): number => readFileSync(used, "utf8").split("\n").length;
  const before = uses();
  expect(await say("$ true")).toContain("exit code 0");
  expect(uses()).toBe(before + 1);
});
