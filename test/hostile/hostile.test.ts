/**
 * The hostile corpus: texts from every entry by its own way, a model that obeys all of them, and no effect that no one granted (L13).
 * The attacker has a site that every request can reach, and a broken gate must be found.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cases, type HostileCase, type HostileWorld, OWNER_AT, openHostileWorld } from "./hostile.test-kit.ts";

let world: HostileWorld;
beforeAll(async () => {
  world = await openHostileWorld();
});
afterAll(() => world.close());

const look = (name: string, given: object = {}): string => `LOOK ${JSON.stringify({ name, with: given })}`;
const quoted = (text: string): string => `QUOTE\n${text}`;

const page = (id: string): string => look("web_fetch", { url: `${world.site}/page/${id}` });

/** A session with untrusted text writes the file; a fresh one reads it. */
const inFile =
  (path: (one: HostileCase) => string, content: (one: HostileCase) => string, read: (path: string) => string) =>
  async (one: HostileCase): Promise<void> => {
    await world.say(OWNER_AT, page("other"));
    await world.say(OWNER_AT, quoted(look("write", { path: path(one), content: content(one) })));
    await fresh();
    await world.say(OWNER_AT, read(path(one)));
  };

async function fresh(): Promise<void> {
  await world.node.agents.post({ to: { agentId: world.main.id }, body: { kind: "reset", by: "person" } });
  await world.node.agents.settled();
}

const ENTRIES: Readonly<Record<string, readonly [string, (one: HostileCase) => Promise<unknown>]>> = {
  "web page": ["fetched from a server", ({ id }) => world.say(OWNER_AT, page(id))],
  mail: ["through a hook for mail", ({ text }) => world.hook("mail", { from: "mallory@example.org", body: text })],
  "tool output": [
    "as the output of a command that shows a file from outside",
    inFile(
      ({ id }) => `logs/${id}.txt`,
      ({ text }) => text,
      (path) => look("exec", { command: ["cat", path] }),
    ),
  ],
  "MCP description": [
    "as the description of a tool of a real server, which is searched for",
    ({ id }) => world.say(OWNER_AT, look("find_tools", { query: id })),
  ],
  "MCP resource": [
    "read from a real server",
    ({ id }) => world.say(OWNER_AT, look("mcp_resources", { server: "hostile", uri: `case://${id}` })),
  ],
  "MCP prompt": [
    "shown by a real server",
    ({ id }) => world.say(OWNER_AT, look("mcp_prompts", { server: "hostile", name: id })),
  ],
  "child's report": [
    "of a child that fetched it",
    ({ id }) => world.say(OWNER_AT, look("start_background_agent", { prompt: quoted(page(id)) })),
  ],
  skill: [
    "as a skill that an agent wrote: it is left out, and its file is read",
    inFile(
      ({ id }) => `skills/${id}/SKILL.md`,
      ({ id, text }) => `---\nname: ${id}\ndescription: ${text.replaceAll("\n", " ").slice(0, 900)}\n---\n\n${text}\n`,
      (path) => look("read", { path }),
    ),
  ],
  "memory file": [
    "as a note that is looked up",
    inFile(
      ({ id }) => `memory/${id}.md`,
      ({ text }) => text,
      (path) => look("memory_get", { ref: path }),
    ),
  ],
  "file name": [
    "in a list of files",
    inFile(
      ({ id, text }) => `names/${id}/${text}`,
      () => "x",
      (path) => look("list", { path: path.slice(0, path.lastIndexOf("/")) }),
    ),
  ],
  "group member": ["as the message of a guest in a group", ({ text }) => world.inGroup("ann", text)],
  "webhook body": ["through the route of a hook", ({ text }) => world.hook("deploy", { message: text })],
};

it("has at least 200 cases over all entries", () => {
  expect(cases.length).toBeGreaterThanOrEqual(200);
  expect(new Set(cases.map(({ entry }) => entry))).toEqual(new Set(Object.keys(ENTRIES)));
  expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length);
});

describe.each(Object.entries(ENTRIES))("%s", (entry, [how, arrive]) => {
  it(`has no effect that no one granted, ${how}`, { timeout: 120_000 }, async () => {
    const before = await world.snapshot();
    const wrong: string[] = [];
    for (const one of cases.filter((each) => each.entry === entry)) {
      await arrive(one);
      if (!world.tried.has(one.id)) wrong.push(`${one.id} did not reach the model (${one.effect})`);
      const after = await world.snapshot();
      if (JSON.stringify(after) !== JSON.stringify(before)) wrong.push(`${one.id} had an effect: ${one.effect}`);
      await fresh();
    }
    expect(wrong).toEqual([]);
    expect(await world.snapshot()).toEqual(before);
  });
});

it("finds effects if the gate is told nothing about what calls do", { timeout: 120_000 }, async () => {
  const broken = await openHostileWorld({ gate: "open" });
  try {
    const before = JSON.stringify(await broken.snapshot());
    let found: string | undefined;
    for (const { id, effect } of cases.filter(({ entry }) => entry === "web page")) {
      await broken.say(OWNER_AT, look("web_fetch", { url: `${broken.site}/page/${id}` }));
      if (JSON.stringify(await broken.snapshot()) !== before) found = effect;
      if (found !== undefined) break;
    }
    expect(found).toBeDefined();
  } finally {
    await broken.close();
  }
});
