/**
 * `memory_write` in a whole node: what is proposed is shown as a difference, a yes covers exactly that, it can be undone, the marks of
 * untrusted text hold, guests reach their own notes only, and a process that ends on either side of the write loses and doubles nothing.
 */
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { makeDiskDirectory } from "../../../test/kit/disk-directory.ts";
import { realDisk } from "../../adapters/tools/files/disk.ts";
import { personDirectory } from "../../adapters/workspace/person-directory.ts";
import { configSchema } from "../../config/config-schema.ts";
import { createHome } from "../../config/create-home.ts";
import { homePaths } from "../../config/paths.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import { apiMailbox } from "../../core/delivery/route.ts";
import { targetKey } from "../../core/delivery/target-key.ts";
import { OWNER } from "../../core/people/person.ts";
import type { Model, ModelMessage } from "../../core/ports/model.ts";
import type { Approval } from "../../core/rights/approval.ts";
import { openNode, type RookeryNode } from "./open-node.ts";

const about = { api: "a", provider: "p", model: "m" } as const;
const textOf = (message?: ModelMessage): string =>
  message?.content.map((block) => (block.type === "text" ? block.text : "")).join("\n") ?? "";
let calls = 0;
/** `CALL {json}` in the latest words of a person is made; then it tells the result. */
const model: Model = {
  async call({ messages }) {
    const from = messages.findLastIndex(({ role }) => role === "user");
    const [, json] = /^CALL (\{.*\})$/mu.exec(textOf(messages[from])) ?? [];
    if (json === undefined || messages.at(-1)?.role === "tool") {
      return { ...about, content: [{ type: "text", text: `result: ${textOf(messages.at(-1))}` }], stopReason: "stop" };
    }
    const { tool = "memory_write", ...given } = JSON.parse(json);
    const content = [{ type: "toolCall", id: `c${++calls}`, name: tool, arguments: given }];
    return { ...about, content: content as never, stopReason: "tool_calls" };
  },
};

const paths = homePaths(makeDiskDirectory("rookery-memory-write-"));
const main = join(paths.workspace, "MEMORY.md");
const read = (path = main): string => readFileSync(path, "utf8");
const DECIDER = { person: OWNER, surface: "test" } as const;
const OLGA: AgentDescriptor = { type: "user", connector: "test", userId: "olga", channelId: "olga" };
const ANN: AgentDescriptor = { type: "user", connector: "test", userId: "ann", channelId: "ann" };
let node: RookeryNode;

const open = (): Promise<RookeryNode> =>
  openNode({
    paths,
    config: configSchema.parse({
      owner: { accounts: ["test:olga"] },
      people: { unknown: "guest" },
      queue: { debounceMs: 0 },
      session: { timeZone: "UTC" },
    }),
    connectors: [],
    env: {},
    model,
    onFatal: (error) => expect.unreachable(String(error)),
  });

beforeAll(async () => {
  await createHome(paths);
  node = await open();
});
afterAll(async () => {
  await node.close();
  rmSync(paths.home, { recursive: true, force: true });
});

/** In a new session. Returns the last entry. */
async function say(given: object, descriptor = OLGA, mark = false): Promise<string> {
  const to = { descriptor };
  await node.agents.post({ to, body: { kind: "reset", by: "person" } });
  const text = `CALL ${JSON.stringify(given)}`;
  const behalf = mark ? { person: OWNER, untrusted: true as const } : undefined;
  await node.agents.post({ to, body: { kind: "user", text }, behalf });
  await node.agents.settled();
  return lastOf(descriptor);
}

async function agentOf(descriptor: AgentDescriptor): Promise<AgentRecord> {
  const all = await node.ports.store.agents({ limit: 20 });
  const found = all.find((each) => JSON.stringify(each.descriptor) === JSON.stringify(descriptor));
  return (await node.ports.store.agent(found?.id as never)) as AgentRecord;
}

async function lastOf(descriptor = OLGA): Promise<string> {
  const [line] = await node.ports.store.linesBack((await agentOf(descriptor)).id, { limit: 1 });
  return line?.line ?? "";
}

const pending = (): Promise<readonly Approval[]> => node.ports.store.approvals({ limit: 9, states: ["pending"] });

async function decide(approve: boolean, descriptor = OLGA): Promise<string> {
  const [one, ...more] = await pending();
  expect(more).toEqual([]);
  await node.agents.approvals.decide(one?.id as never, { approve }, DECIDER);
  await node.agents.settled();
  return lastOf(descriptor);
}

describe("a proposal", () => {
  it("is shown as a difference, is written with a yes, is kept with its author, and can be undone", async () => {
    writeFileSync(main, "- Likes coffee.\n");
    await say({ note: "MEMORY.md", text: "- Likes tea." });
    const [question] = await pending();
    expect(question?.prompt).toContain(`  --- ${main}\n  +++ ${main}\n`);
    expect(question?.prompt).toContain("\n   - Likes coffee.\n  +- Likes tea.");
    expect(read()).toBe("- Likes coffee.\n");
    expect(await decide(true)).toMatch(/Added to MEMORY\.md \(change \d+\)\. It has 28 of 20000 characters\./);
    expect(read()).toBe("- Likes coffee.\n- Likes tea.\n");
    const [change] = await node.changes.list({ limit: 1 });
    expect(change).toMatchObject({ kind: "memory", by: { person: OWNER, surface: "run", tool: "memory_write" } });
    await node.changes.undo(change?.id ?? 0, { person: OWNER, surface: "test" });
    expect(read()).toBe("- Likes coffee.\n");
  });

  it("is not written with a no", async () => {
    writeFileSync(main, "one\n");
    await say({ note: "MEMORY.md", text: "two", replaces: "one" });
    expect(await decide(false)).toContain("denied approval");
    expect(read()).toBe("one\n");
  });

  it("that someone has overtaken is not written: the yes was for another difference", async () => {
    writeFileSync(main, "one\n");
    await say({ note: "MEMORY.md", text: "two" });
    writeFileSync(main, "one, changed in an editor\n");
    expect(await decide(true)).toContain("has changed since. Call memory_write again");
    expect(read()).toBe("one, changed in an editor\n");
  });

  it("whose file changes at any moment between the yes and the write is not written either", async () => {
    const { open: openFile } = realDisk;
    let isOver = false;
    for (let at = 1; !isOver; at++) {
      writeFileSync(main, "one\n");
      await say({ note: "MEMORY.md", text: "two" });
      const spy = vi.spyOn(realDisk, "open");
      let opened = 0;
      spy.mockImplementation(async (path, flags, mode) => {
        opened += 1;
        if (opened === at) writeFileSync(main, "in between\n");
        return openFile(path, flags, mode);
      });
      await decide(true);
      spy.mockRestore();
      isOver = opened < at;
      expect([at, read()]).toEqual([at, isOver ? "one\ntwo\n" : "in between\n"]);
    }
  });

  it("replaces and removes a text that occurs once, and does not let MEMORY.md outgrow the prompt", async () => {
    writeFileSync(main, "a\nb\na\n");
    // What cannot be done is not asked about.
    expect(await say({ note: "MEMORY.md", text: "c", replaces: "a" })).toContain("2 times");
    expect(await say({ note: "MEMORY.md", text: "c", replaces: "z" })).toContain("is not in MEMORY.md");
    await say({ note: "memory.md", text: "", replaces: "b\n" });
    await decide(true);
    expect(read()).toBe("a\na\n");
    writeFileSync(main, "x".repeat(19_990));
    expect(await say({ note: "MEMORY.md", text: "y".repeat(30) })).toContain("20000 is the limit");
    expect(await pending()).toEqual([]);
    expect(read()).toHaveLength(19_990);
  });

  it.each(["secret.md", "memory/../x.md", "../MEMORY.md", "2026-13-01", "2026-02-30", "memory/x.md", ""])(
    "names a note and no other file: %j",
    async (note) => {
      const said = await say({ note, text: "x" });
      for (const { id } of await pending()) await node.agents.approvals.decide(id, { approve: true }, DECIDER);
      await node.agents.settled();
      expect(`${said} ${await lastOf()}`).toContain("It is not a note");
    },
  );
});

describe("the note of a day", () => {
  const day = join(paths.workspace, "memory", "2026-11-03.md");

  it("is added to without a question, and changed only with one", async () => {
    expect(await say({ note: "2026-11-03", text: "- Dentist." })).toContain("Added to memory/2026-11-03.md");
    expect(await say({ note: "memory/2026-11-03.md", text: "- Called." })).toContain("Added");
    expect(read(day)).toBe("- Dentist.\n- Called.\n");
    await say({ note: "2026-11-03", text: "- Baker.", replaces: "- Dentist." });
    await decide(false);
    expect(read(day)).toBe("- Dentist.\n- Called.\n");
    const today = new Date().toISOString().slice(0, 10);
    expect(await say({ note: "today", text: "- Now." })).toContain(today.slice(0, 8));
  });
});

describe("untrusted text in context", () => {
  it("needs a yes for a day's note too, and what is written keeps the mark, also after the yes", async () => {
    const path = join(paths.workspace, "memory", "2026-11-04.md");
    await say({ note: "2026-11-04", text: "- Pay Mallory." }, OLGA, true);
    expect(existsSync(path)).toBe(false);
    await decide(true);
    expect(read(path)).toBe("- Pay Mallory.\n");
    expect(readFileSync(join(paths.home, "untrusted-files.jsonl"), "utf8")).toContain("2026-11-04.md");
    // A later addition by a run without such text keeps it: the old text is still there.
    await say({ note: "2026-11-04", text: "- And then." });
    expect(await say({ tool: "memory_get", ref: "memory/2026-11-04.md" })).toContain("Pay Mallory");
    expect((await agentOf(OLGA)).state.untrusted).toBe(true);
  });
});

describe("guests", () => {
  it("write their own memory, with the owner's yes where one is needed, and no one else's", async () => {
    writeFileSync(main, "the owner's\n");
    await say({ note: "2026-11-05", text: "- Ann was here." }, ANN);
    await say({ note: "MEMORY.md", text: "- Ann likes tea." }, ANN);
    await decide(true, ANN);
    const own = join(paths.people, personDirectory("test:ann"));
    expect(read(join(own, "MEMORY.md"))).toBe("- Ann likes tea.\n");
    expect(read(join(own, "memory/2026-11-05.md"))).toBe("- Ann was here.\n");
    expect(read()).toBe("the owner's\n");
    expect(existsSync(join(paths.workspace, "memory/2026-11-05.md"))).toBe(false);
  });
});

describe("/memory undo", () => {
  /** The answer to a command that a person types in a conversation. */
  let typedBefore = 0;
  const typed = async (text: string, descriptor = ANN): Promise<string> => {
    const delivery = apiMailbox(`test-${++typedBefore}`);
    const body = { kind: "command", name: "memory", text } as const;
    await node.agents.post({ to: { descriptor }, delivery, body, sender: { connector: "test", userId: "ann" } });
    await node.agents.settled();
    const [answer] = await node.ports.store.mailbox(targetKey(delivery), { limit: 1 });
    return JSON.stringify(answer?.payload);
  };

  it("takes back a guest's own change, also twice, and never another's", async () => {
    writeFileSync(main, "- Likes coffee.\n");
    await say({ note: "MEMORY.md", text: "- The owner likes tea." });
    await decide(true);
    const [owners] = await node.changes.list({ limit: 1 });
    await say({ note: "2026-11-06", text: "- Ann was here." }, ANN);
    const [anns] = await node.changes.list({ limit: 1 });
    const own = join(paths.people, personDirectory("test:ann"), "memory/2026-11-06.md");
    expect([owners?.file, anns?.file]).toEqual([
      "workspace/MEMORY.md",
      expect.stringContaining("/memory/2026-11-06.md"),
    ]);
    const listed = await typed("undo");
    expect(listed).toContain(`${anns?.id}: added memory/2026-11-06.md`);
    expect(listed).not.toContain(`${owners?.id}: `);
    for (const other of [owners?.id, 99_999])
      expect(await typed(`undo ${other}`)).toContain(`There is no change ${other} of your notes.`);
    expect(read()).toContain("The owner likes tea.");
    // In another's conversation there is nothing of hers.
    expect(await typed(`undo ${anns?.id}`, OLGA)).not.toContain("is as it was before");
    expect(read(own)).toContain("Ann was here.");
    for (let time = 0; time < 2; time++) {
      expect(await typed(`undo ${anns?.id}`)).toContain("memory/2026-11-06.md is as it was before");
      expect(existsSync(own)).toBe(false);
    }
    expect((await node.changes.list({ limit: 1 }))[0]).toMatchObject({
      undoes: anns?.id,
      by: { person: "test:ann", surface: "chat" },
    });
  });
});

describe("without a person", () => {
  it("proposes nothing that needs a yes: no one is there to ask", async () => {
    writeFileSync(main, "one\n");
    const job = await node.triggers.cron.add({
      ...{ name: "tidy", schedule: { kind: "every", everyMs: 3_600_000 } },
      payload: { kind: "agentTurn", message: `CALL ${JSON.stringify({ note: "MEMORY.md", text: "two" })}` },
    });
    await node.triggers.cron.run(job.id);
    await node.agents.settled();
    expect(await pending()).toEqual([]);
    expect(read()).toBe("one\n");
  });
});

describe("killed", () => {
  const image = (name: string): string => `${paths.home}-${name}`;
  const NAMES = ["before", "after", "edited"];
  /** The disk before and after the file is replaced, in one run. */
  async function imagesOf(given: object): Promise<void> {
    await say(given);
    const rename = vi.spyOn(realDisk, "rename");
    const real = rename.getMockImplementation();
    rename.mockImplementationOnce(async (from, to) => {
      cpSync(paths.home, image("before"), { recursive: true });
      rename.mockRestore();
      await realDisk.rename(from, to);
      cpSync(paths.home, image("after"), { recursive: true });
      cpSync(paths.home, image("edited"), { recursive: true });
    });
    expect(real).toBeUndefined();
    if ((await pending()).length > 0) await decide(true);
  }
  afterAll(() => {
    for (const name of NAMES) rmSync(image(name), { recursive: true, force: true });
  });

  it("on either side of the write loses and doubles nothing, and the yes is not asked for again", async () => {
    writeFileSync(main, "one\n");
    await imagesOf({ note: "MEMORY.md", text: "two" });
    expect(read()).toBe("one\ntwo\n");
    writeFileSync(join(image("edited"), "workspace/MEMORY.md"), "one\ntwo\nthree\n");
    const outcomes: Record<string, readonly [string, string]> = {};
    for (const name of NAMES) {
      await node.close();
      rmSync(paths.home, { recursive: true, force: true });
      cpSync(image(name), paths.home, { recursive: true });
      node = await open();
      await node.agents.settled();
      expect(await pending()).toEqual([]);
      const said = /result: ([^"\\]*)/.exec(await lastOf())?.[1] ?? "";
      outcomes[name] = [read(), said.replace(/\d+/g, "N")];
    }
    expect(outcomes).toEqual({
      before: ["one\ntwo\n", "Added to MEMORY.md (change N). It has N of N characters."],
      after: ["one\ntwo\n", "Added to workspace/MEMORY.md (change N)."],
      edited: [
        "one\ntwo\nthree\n",
        "The program stopped during this change, and MEMORY.md was changed since. Read it before you propose the change again.",
      ],
    });
    const [change] = await node.changes.list({ limit: 1 });
    expect(change?.by.tool).toBe("memory_write");
  });
});
