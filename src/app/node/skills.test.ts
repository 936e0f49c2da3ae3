/**
 * Skills in a whole node: the gate keeps a run to the tools that a skill allows, also after a restart, and a session keeps the skills
 * that it began with until it is reset.
 */
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { makeDiskDirectory } from "../../../test/kit/disk-directory.ts";
import { configSchema } from "../../config/config-schema.ts";
import { createHome } from "../../config/create-home.ts";
import { homePaths } from "../../config/paths.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import type { Model, ModelMessage } from "../../core/ports/model.ts";
import { openNode, type RookeryNode } from "./open-node.ts";

const about = { api: "a", provider: "p", model: "m" } as const;
const textOf = (message?: ModelMessage): string =>
  message?.content.map((block) => (block.type === "text" ? block.text : "")).join("\n") ?? "";
let calls = 0;
let system = "";
let beforeCall: (name: string) => void = () => {};
/** Makes the calls of the last message, one after another, and then tells all results. */
const model: Model = {
  async call(request) {
    system = request.system;
    const { messages } = request;
    const from = messages.findLastIndex(({ role }) => role === "user");
    const wanted = [...textOf(messages[from]).matchAll(/^CALL (\{.*\})$/gmu)].map(([, json]) => JSON.parse(json ?? ""));
    const results = messages.slice(from).filter(({ role }) => role === "tool");
    const next = wanted[results.length];
    if (!next)
      return { ...about, content: [{ type: "text", text: results.map(textOf).join("\n---\n") }], stopReason: "stop" };
    const { name, ...given } = next;
    beforeCall(name);
    const content = [{ type: "toolCall", id: `c${++calls}`, name: next.tool ?? name, arguments: next.given ?? given }];
    return { ...about, content: content as never, stopReason: "tool_calls" };
  },
};

const paths = homePaths(makeDiskDirectory("rookery-skills-node-"));
const OLGA: AgentDescriptor = { type: "user", connector: "test", userId: "olga", channelId: "olga" };
let node: RookeryNode;
const open = () =>
  openNode({
    paths,
    config: configSchema.parse({
      owner: { accounts: ["test:olga"] },
      queue: { debounceMs: 0 },
      permissions: { deny: ["read(**/secret.txt)"] },
    }),
    connectors: [],
    env: { HOME: paths.home },
    model,
    onFatal: (error) => expect.unreachable(String(error)),
  });
const writeSkill = (name: string, description: string, tools: string, body = `Do ${name}.`): void => {
  mkdirSync(join(paths.workspace, "skills", name), { recursive: true });
  const head = `---\nname: ${name}\ndescription: ${description}\n${tools}---\n`;
  writeFileSync(join(paths.workspace, "skills", name, "SKILL.md"), `${head}\n${body}\n`);
};

beforeAll(async () => {
  await createHome(paths);
  writeSkill("reading", "reads files", "allowed-tools: read\n");
  writeSkill("free", "does anything", "");
  writeFileSync(join(paths.workspace, "a.txt"), "the text");
  writeFileSync(join(paths.workspace, "secret.txt"), "the secret");
  node = await open();
});
afterAll(async () => {
  await node.close();
  for (const path of [paths.home, `${paths.home}-crashed`]) rmSync(path, { recursive: true, force: true });
});

async function say(...wanted: readonly (readonly [name: string, given: object])[]): Promise<readonly string[]> {
  const text = wanted.map(([tool, given]) => `CALL ${JSON.stringify({ name: tool, tool, given })}`).join("\n");
  await node.agents.post({ to: { descriptor: OLGA }, body: { kind: "user", text: text || "hello" } });
  await node.agents.settled();
  return lastWords();
}
async function lastWords(): Promise<readonly string[]> {
  const [agent] = await node.ports.store.agents({ limit: 1 });
  const [line] = await node.ports.store.linesBack(agent?.id as never, { limit: 1 });
  const { content } = JSON.parse(line?.line ?? "{}");
  return String(content[0]?.text).split("\n---\n");
}
const reset = () => node.agents.post({ to: { descriptor: OLGA }, body: { kind: "reset", by: "person" } });
const READ = ["read", { path: "a.txt" }] as const;
const WRITE = ["write", { path: "b.txt", content: "x" }] as const;
const skill = (name: string) => ["skill", { name }] as const;

it("keeps a run to the tools of the skills that it has read, and the next run has all again", async () => {
  const [before, read, allowed, denied, secret] = await say(WRITE, skill("reading"), READ, WRITE, [
    "read",
    { path: "secret.txt" },
  ]);
  expect(before).toContain("Wrote b.txt");
  expect(read).toContain("Do reading.");
  expect(allowed).toContain("the text");
  expect(denied).toContain("the skill reading is used with these tools only: read");
  // It gives nothing: what a rule denies is denied.
  expect(secret).toContain("read(**/secret.txt)");
  expect(await say(skill("free"), WRITE)).toEqual([
    expect.stringContaining("Do free."),
    expect.stringContaining("b.txt"),
  ]);
});

it("keeps to them after a crash in the middle of the run", async () => {
  const crashed = `${paths.home}-crashed`;
  beforeCall = (name) => {
    if (name === "list") cpSync(paths.home, crashed, { recursive: true });
  };
  await say(skill("reading"), READ, ["list", { path: "." }]);
  beforeCall = () => {};
  await node.close();
  rmSync(paths.home, { recursive: true, force: true });
  cpSync(crashed, paths.home, { recursive: true });
  node = await open();
  await node.agents.settled();
  expect((await lastWords()).at(-1)).toContain("the skill reading is used with these tools only");
});

it("keeps the skills of a session over changes of files and restarts, until it is reset", async () => {
  await reset();
  await say();
  expect(system).toContain("- reading: reads files\n");
  writeSkill("reading", "another description", "", "Do harm.");
  writeSkill("later", "came later", "");
  await node.close();
  node = await open();
  const [shown, denied] = await say(skill("reading"), WRITE);
  expect(system).toContain("- reading: reads files\n");
  expect(system).not.toContain("came later");
  expect(shown).toContain("Do reading.");
  expect(denied).toContain("with these tools only: read");
  await reset();
  const [fresh] = await say(skill("reading"));
  expect(system).toContain("- reading: another description\n");
  expect(system).toContain("came later");
  expect(fresh).toContain("Do harm.");
});
