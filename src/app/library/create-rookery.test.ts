import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { inTurn, lastText, modelResult, type Reply } from "../../../test/kit/model.ts";
import type { Model, ModelRequest } from "../../core/ports/model.ts";
import { OutputInvalidError, RunFailedError } from "../client/answer.ts";
import type { AnswerEvent } from "../client/stream-answer.ts";
import { createRookery, type Rookery } from "./create-rookery.ts";

/** Answers by the text of the question; the replies of a test come first. */
const script: { next: ((request: ModelRequest) => Reply | Promise<Reply>)[] } = { next: [] };
const model: Model = {
  async call(request, _signal, onEvent) {
    const reply = (await script.next.shift()?.(request)) ?? `answer to ${lastText(request)}`;
    if (typeof reply === "string") for (const delta of reply.split(/(?<= )/)) onEvent({ type: "text", delta });
    return modelResult(reply);
  },
};
const says = (...texts: string[]): void => {
  script.next = texts.map((text) => () => text);
};

let rookery: Rookery;
beforeAll(async () => {
  rookery = await createRookery({ home: "memory", model });
});
afterAll(() => rookery.close());

const all = async <T>(events: AsyncIterable<T>): Promise<T[]> => {
  const list: T[] = [];
  for await (const event of events) list.push(event);
  return list;
};
const textOf = (events: readonly AnswerEvent[]): string =>
  events.map((event) => (event.type === "delta" ? event.text : "")).join("");

describe("an agent of createRookery", () => {
  it("is the conversation of an API user, made by its first message", async () => {
    const receipt = await rookery.agent("ann").send("hello");
    expect(receipt.messageId).toContain(receipt.agentId);
    const answer = await receipt.result();
    expect(answer).toMatchObject({ outcome: "ok", seq: receipt.seq, text: "answer to hello" });
    expect(await receipt.runId()).toBe(answer.runId);
    expect((await rookery.agents.list()).items.map(({ sessionKey }) => sessionKey)).toContain("agent:main:api:dm:ann");
    expect(await rookery.agent("agent:main:api:dm:ann").ask("by key")).toBe("answer to by key");
    // By its id the owner writes into the conversation, and the model reads who speaks.
    expect(await rookery.agent(receipt.agentId).ask("by id")).toMatch(/<speaker id="owner" .*\nby id$/);
  });

  it("keeps two users apart whose names need escaping in a key", async () => {
    await rookery.agent("a:b").ask("one");
    await rookery.agent("a").ask("two");
    const texts = JSON.stringify((await rookery.agent("a:b").history()).items);
    expect(texts).toContain("answer to one");
    expect(texts).not.toContain("answer to two");
  });

  it("accepts a message with an id once", async () => {
    const agent = rookery.agent("once");
    const [first, second] = [await agent.send("hi", { id: "k1" }), await agent.send("hi", { id: "k1" })];
    expect(second.messageId).toBe(first.messageId);
    await first.result();
    await expect(agent.send("other", { id: "k1" })).rejects.toMatchObject({ code: "idempotency_key_reused" });
  });

  it("throws with the answer if the run fails", async () => {
    script.next = [() => ({ content: [], stopReason: "error", error: { class: "auth", message: "no key" } })];
    const failed = await rookery
      .agent("fails")
      .ask("hi")
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(RunFailedError);
    expect((failed as RunFailedError).answer.outcome).toBe("error");
  });

  it("asks for an object, and again with what is wrong", async () => {
    says("I do not know", '{"city": 1}', '```json\n{"city":"Rome"}\n```');
    const output = z.object({ city: z.string() });
    expect(await rookery.agent("object").ask("Where?", { output })).toEqual({ city: "Rome" });
    const texts = JSON.stringify((await rookery.agent("object").history()).items);
    expect(texts).toContain("JSON Schema");
    expect(texts).toContain("it is not JSON.");
    expect(texts).toContain("city: ");
  });

  it("gives up on an object after three answers, with the last text", async () => {
    says("one", "two", "three", "four");
    const failed = await rookery
      .agent("never")
      .ask("Where?", { output: z.object({}) })
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(OutputInvalidError);
    expect((failed as OutputInvalidError).text).toBe("three");
    script.next = [];
  });

  it("streams the answer, and continues behind an event", async () => {
    const agent = rookery.agent("streams");
    const events = await all(agent.stream("hello there", { id: "s1" }));
    expect(textOf(events)).toBe("answer to hello there");
    expect(events.at(-1)).toMatchObject({ type: "end", outcome: "ok" });
    const after = events.find((event) => event.type === "end" || event.type === "delta")?.id;
    const rest = await all(agent.stream("hello there", { id: "s1", after }));
    expect(rest.at(-1)).toMatchObject({ type: "end", outcome: "ok" });
    expect((await agent.history()).items.filter(({ entry }) => entry?.role === "assistant")).toHaveLength(1);
  });

  it("streams the whole text of a run that ended before the stream was opened", async () => {
    const agent = rookery.agent("late");
    await agent.ask("early");
    const receipt = await agent.send("and now", { queue: { mode: "queue" } });
    await receipt.result();
    const events = await all(rookery.runs.events((await receipt.runId()) ?? ""));
    expect(JSON.stringify(events)).toContain("answer to and now");
  });

  it("changes, resets, branches, compacts and removes", async () => {
    const agent = rookery.agent("life");
    await agent.ask("one");
    await (await agent.patch({ label: "Life" })).result();
    expect((await agent.state()).label).toBe("Life");
    const [newest] = (await agent.history({ limit: 1 })).items;
    await agent.branch(String(newest?.entry?.id));
    await (await agent.reset()).result();
    await (await agent.stop()).result();
    await (await agent.compact()).result();
    expect(await agent.inbox()).toMatchObject({ waiting: [] });
    await agent.remove();
    await expect(agent.history()).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("a rookery", () => {
  it("hears its agents through the mailbox until it acknowledges", async () => {
    const receipt = await rookery.agent("mail").send("write to me", { mailbox: true });
    await receipt.result();
    const { items } = await rookery.mailbox("mail").list({ wait: 10 });
    expect(items.map(({ text }) => text)).toEqual(["answer to write to me"]);
    await rookery.mailbox("mail").ack(...items.map(({ id }) => id));
    expect((await rookery.mailbox("mail").list()).items).toEqual([]);
    // An answer that its caller reads itself does not wait anywhere.
    await rookery.agent("mail").ask("only to me");
    expect((await rookery.mailbox("mail").list()).items).toEqual([]);
  });

  it("starts a subagent once per id, which reports to its parent", async () => {
    await rookery.agent("parent").ask("hello");
    const parent = "agent:main:api:dm:parent";
    const [one, two] = [
      await rookery.spawn(parent, "count the files", { id: "sp1", label: "counter" }),
      await rookery.spawn(parent, "count the files", { id: "sp1", label: "counter" }),
    ];
    expect(two.runId).toBe(one.runId);
    expect((await one.wait({ timeoutMs: 30_000 })).status).toBe("ended");
    await rookery.settled();
    expect(JSON.stringify((await rookery.agent("parent").history()).items)).toContain("counter");
    await expect(rookery.spawn(parent, "x", { agentId: "no-such" })).rejects.toMatchObject({ code: "denied" });
  });

  it("adds a job once per id, runs and removes it", async () => {
    const job = {
      name: "nightly",
      schedule: { kind: "cron", expr: "0 3 * * *" },
      payload: { kind: "agentTurn", message: "report" },
    } as const;
    const added = await rookery.schedule.add(job, { id: "j1" });
    expect((await rookery.schedule.add(job, { id: "j1" })).id).toBe(added.id);
    expect((await rookery.schedule.run(added.id)).slot).toBeTruthy();
    await rookery.settled();
    expect((await rookery.schedule.runs(added.id)).items.length).toBeGreaterThan(0);
    await rookery.schedule.remove(added.id);
    expect(await rookery.schedule.list()).toEqual({ items: [], next: null });
  });

  it("calls back for events, until it is told to stop", async () => {
    const heard: string[] = [];
    const ended = Promise.withResolvers<void>();
    const stop = rookery.on("end", (event) => {
      heard.push(String(event.outcome));
      ended.resolve();
    });
    // The stream is open with its first event.
    await new Promise<void>((resolve) => {
      const off = rookery.on("tree", () => {
        off();
        resolve();
      });
    });
    await rookery.agent("heard").ask("hello");
    await ended.promise;
    stop();
    expect(heard).toEqual(["ok"]);
  });

  it("lists usage, budgets, swarms and the outbox", async () => {
    expect((await rookery.usage()).tokens).toBeGreaterThan(0);
    expect(Array.isArray((await rookery.budgets.list()).items)).toBe(true);
    expect(await rookery.swarm.list()).toEqual({ items: [], next: null });
    expect(Array.isArray((await rookery.outbox.list()).items)).toBe(true);
    expect(await rookery.approvals.list()).toEqual({ items: [], next: null });
    await expect(rookery.approvals.yes("kmtb", { digest: "d" })).rejects.toThrow("There is no approval kmtb");
    expect((await rookery.agents.tree()).roots.length).toBeGreaterThan(0);
  });
});

describe("a subagent", () => {
  it("reads clawdbot's answer when it spawns a subagent", async () => {
    const heard = Promise.withResolvers<string>();
    const spawning: Model = {
      async call(request) {
        const isChild = request.system.includes("Subagent Context");
        const result = lastText(request, "tool");
        if (isChild && result !== "") heard.resolve(result);
        const task = isChild ? "deeper" : "dig";
        return modelResult(result === "" ? { call: [{ name: "sessions_spawn", with: { task } }] } : "done");
      },
    };
    await using family = await createRookery({ home: "memory", model: spawning });
    await family.agent("ann").ask("spawn one");
    expect(JSON.parse(await heard.promise)).toEqual({
      status: "forbidden",
      error: "sessions_spawn is not allowed from sub-agent sessions",
    });
  });
});

describe("fetch", () => {
  const ask = (headers: Record<string, string>, url = "http://localhost/v1/models") =>
    rookery.fetch(new Request(url, { headers }));

  it("needs a token, whoever mounts it", async () => {
    expect((await ask({})).status).toBe(401);
    expect((await ask({ authorization: "Bearer wrong" })).status).toBe(401);
    expect((await ask({ authorization: "Bearer wrong", "x-forwarded-for": "127.0.0.1" })).status).toBe(401);
  });

  it("refuses another host, and a page of another origin", async () => {
    expect((await ask({}, "http://evil.example/v1/models")).status).toBe(421);
    expect((await ask({ origin: "http://evil.example" })).status).toBe(403);
  });

  it("does not lock out a valid token after many wrong ones", async () => {
    const token =
      process.env.ROOKERY_TOKEN ?? (await import("node:fs")).readFileSync(join(rookery.home, "token"), "utf8").trim();
    for (let n = 0; n < 40; n++) await (await ask({ authorization: "Bearer wrong" })).text();
    const response = await ask({ authorization: `Bearer ${token}` });
    expect(response.status).toBe(200);
    expect(JSON.stringify(await response.json())).toContain("main");
  });

  it("answers a chat, whole and as a stream", async () => {
    const token = (await import("node:fs")).readFileSync(join(rookery.home, "token"), "utf8").trim();
    const chat = (stream: boolean) =>
      rookery.fetch(
        new Request("http://localhost/v1/chat/completions", {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify({
            model: "main",
            user: "web",
            stream,
            messages: [{ role: "user", content: `hi ${stream}` }],
          }),
        }),
      );
    expect(await (await chat(false)).json()).toMatchObject({
      choices: [{ message: { content: "answer to hi false" } }],
    });
    expect(await (await chat(true)).text()).toContain("[DONE]");
  });
});

/** The open files of this process. */
function openFiles(): readonly string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return [];
    }
  });
}

describe("a home", () => {
  it("in use rejects with HOME_IN_USE, which names connectRookery", async () => {
    const home = mkdtempSync(join(tmpdir(), "rookery-library-"));
    await using first = await createRookery({ home, model });
    const refused = await createRookery({ home, model }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "HOME_IN_USE" });
    expect((refused as { hint: string }).hint).toContain("connectRookery");
    await first.close();
    rmSync(home, { recursive: true, force: true });
  });

  it("continues after it is closed and opened again", async () => {
    const home = mkdtempSync(join(tmpdir(), "rookery-library-"));
    const gate = Promise.withResolvers<void>();
    script.next = [() => gate.promise.then(() => "never")];
    const first = await createRookery({ home, model });
    const receipt = await first.agent("ann").send("survive", { id: "s" });
    await receipt.runId();
    await first.close();
    script.next = [];
    await using second = await createRookery({ home, model });
    expect(await second.agent("ann").ask("survive", { id: "s2" })).toContain("survive");
    const again = await (await second.agent("ann").send("survive", { id: "s" })).result();
    expect(again).toMatchObject({ seq: receipt.seq, outcome: "ok" });
    await second.close();
    rmSync(home, { recursive: true, force: true });
  });

  it.skipIf(!existsSync("/proc/self/fd"))("closes all its files", async () => {
    const home = mkdtempSync(join(tmpdir(), "rookery-library-"));
    const open = () => openFiles().filter((file) => file.startsWith(home));
    const one = await createRookery({ home, model });
    await one.agent("ann").ask("hello");
    expect(open()).not.toEqual([]);
    await one.close();
    expect(open()).toEqual([]);
    rmSync(home, { recursive: true, force: true });
  });

  it("in memory leaves nothing behind", async () => {
    const memory = await createRookery({ home: "memory", model: inTurnModel("x") });
    await memory.agent("ann").ask("hi");
    expect(existsSync(memory.home)).toBe(true);
    await memory.close();
    expect(existsSync(memory.home)).toBe(false);
  });

  it("does not start with a bad word in the configuration, and leaves nothing behind", async () => {
    await expect(createRookery({ home: "memory", config: { queue: { mode: "no" } } })).rejects.toMatchObject({
      code: "config",
    });
    await expect(createRookery({ home: "" })).rejects.toMatchObject({ code: "invalid_input" });
    await expect(createRookery({ home: "memory", store: "mysql://x" })).rejects.toMatchObject({
      code: "invalid_input",
    });
  });
});

const inTurnModel = (...replies: Reply[]): Model => {
  const next = inTurn(...replies);
  return {
    call: async (request, signal, onEvent) => modelResult(await next({ request, signal, onEvent, n: 1 })),
  };
};
