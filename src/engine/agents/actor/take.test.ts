/** What a run is when it begins: which messages it took, for whom, and what its one commit writes. */
import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { seededIds } from "../../../../test/kit/ids.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { RunId } from "../../../core/ids.ts";
import type { Message } from "../../../core/message/message.ts";
import type { RunBody } from "../../../core/run/run.ts";
import type { Change } from "../../../core/store/change.ts";
import { AgentLease } from "../../runtime/agent-lease.ts";
import type { LiveRun } from "../../runtime/live-run.ts";
import { DEFAULT_RUN_SETTINGS } from "../../runtime/run-ports.ts";
import { type RunChoice, steerInto, takeRun } from "./take.ts";

const RUN = "r1" as RunId;
const SOURCE = { connector: "test", channelId: "ann", messageId: "m7" };
const user = (text: string, more: object = {}): object => ({ body: { kind: "user", text }, ...more });
const fromPerson = (text: string, more: object = {}): object => user(text, { source: SOURCE, ...more });
const inOrder = (all: readonly object[], first = 1): readonly Message[] =>
  all.map((one, at) => ({
    agentId: "a1",
    seq: first + at,
    id: `a1/${first + at}`,
    acceptedAt: 100 + at,
    ...one,
  })) as never;

function world(more: { session?: object; state?: object } = {}) {
  const changes: Change[] = [];
  const events: unknown[] = [];
  const store = {
    commit: async (change: Change) => {
      changes.push(change);
      return { ok: true, results: [] };
    },
    outcome: async () => undefined,
  };
  const base = { store, ids: seededIds("take"), clock: virtualClock() };
  const ports = {
    ...base,
    settings: DEFAULT_RUN_SETTINGS,
    events: { emit: (_position: unknown, event: unknown) => void events.push(event) },
    sessionFor: more.session && (async () => more.session),
  } as never;
  const record = {
    ...{ id: "a1", sessionId: "s1", leaf: "e1", nextPos: 5, state: more.state ?? {}, person: "ann", profile: "main" },
    descriptor: { type: "user", connector: "test", userId: "ann", channelId: "ann" },
  } as unknown as AgentRecord;
  const context = { clear: () => {}, append: () => {} } as never;
  const lease = new AgentLease(base as never, record, { node: 3, epoch: 7 }, context);
  const take = async (messages: readonly object[], choice: Partial<RunChoice> = {}): Promise<LiveRun> => {
    const made = { act: "run", messages: inOrder(messages), dropped: [], summarize: [], cap: 20, ...choice };
    return takeRun(ports, lease, RUN, made as RunChoice, 9);
  };
  const opened = (): RunBody => {
    const op = changes[0]?.ops.find((one) => one.op === "run.open");
    if (op?.op !== "run.open") throw new TypeError("no run");
    return op.body;
  };
  const written = (): { text: string; seqs?: number[] }[] =>
    changes.flatMap(({ ops }) =>
      ops.flatMap((op) =>
        op.op === "entries.append"
          ? op.lines.map((line) => {
              const { type, content = [], seqs } = JSON.parse(line) as Record<string, never>;
              return { text: (content as { text: string }[])[0]?.text ?? `<${String(type)}>`, seqs };
            })
          : [],
      ),
    );
  return { take, changes, events, opened, written, lease, ports };
}
const texts = (entries: readonly { text: string }[]): string[] => entries.map(({ text }) => text);

describe("a run that begins", () => {
  it("takes its messages, opens and writes its prompt in one commit, unless a reset came after what was read", async () => {
    const { take, changes, lease, written } = world();
    const run = await take([fromPerson("hi")]);
    expect(changes).toHaveLength(1);
    const ops = changes[0]?.ops.map((op) => op.op);
    expect(ops).toEqual(["message.settle", "message.take", "run.open", "entries.append"]);
    expect(changes[0]?.ops[1]).toEqual({ op: "message.take", runId: RUN, seqs: [1], unlessResetAfter: 9 });
    expect([run.id, run.step, run.attempt, lease.runId]).toEqual([RUN, 1, 1, RUN]);
    expect(texts(written())).toEqual(["hi"]);
  });

  it("answers where its last message came from, with what that one wants", async () => {
    const { take, opened } = world();
    const [one, two] = [
      { channel: "test", to: "one" },
      { channel: "test", to: "two" },
    ];
    const last = { kind: "user", text: "b", wishes: { model: "m2", timeoutSeconds: 5 } };
    const run = await take([fromPerson("a", { delivery: one }), { body: last, source: SOURCE, delivery: two }]);
    expect(opened()).toMatchObject({
      ...{ seqs: [1, 2], merged: [1], delivery: two, replyToId: "m7", wishes: { model: "m2" }, humanAt: 101, node: 3 },
      behalf: { person: "ann", roots: [RUN] },
    });
    expect(run.limits.timeoutMs).toBe(5_000);
  });

  test.each<[string, readonly object[], Partial<RunBody>]>([
    ["one message merges nothing", [fromPerson("a")], { merged: undefined, humanAt: 100, said: undefined }],
    ["a task of an agent is no word of a person", [user("task")], { humanAt: 100, said: 0 }],
    ["of two, one of a person", [user("task"), fromPerson("a")], { said: 1, humanAt: 101 }],
    ["two of a person", [fromPerson("a"), fromPerson("b")], { said: undefined, merged: [1] }],
    ["a message of the system", [{ body: { kind: "system", text: "x" } }], { humanAt: undefined, said: undefined }],
    [
      "a person's message and one of the system",
      [fromPerson("a"), { body: { kind: "system", text: "x" } }],
      { humanAt: 100, said: 1 },
    ],
    [
      "the newest time counts, in whatever order they stand",
      [fromPerson("a", { acceptedAt: 900 }), fromPerson("b", { acceptedAt: 300 })],
      { humanAt: 900 },
    ],
    [
      "who wrote, the last one who is named",
      [
        { body: { kind: "user", text: "a", sender: { id: "7" } }, source: SOURCE },
        { body: { kind: "user", text: "b", sender: { id: "8" } }, source: SOURCE },
        user("c"),
      ],
      { person: "test:8" },
    ],
    [
      "a sender without a channel is no one",
      [{ body: { kind: "user", text: "a", sender: { id: "7" } } }],
      { person: undefined },
    ],
    [
      "the person that an agent works for",
      [{ body: { kind: "system", text: "x", person: "test:9" } }],
      { person: "test:9" },
    ],
    ["a compaction", [{ body: { kind: "compact", instructions: "short" } }], { compact: { instructions: "short" } }],
    ["a compaction without a word", [{ body: { kind: "compact", instructions: "" } }], { compact: {} }],
    ["no compaction", [fromPerson("a")], { compact: undefined, trigger: undefined }],
    [
      "a trigger",
      [{ body: { kind: "trigger", text: "x", trigger: { type: "cron", id: "j1" } } }],
      { trigger: { type: "cron", id: "j1" } as never, compact: undefined },
    ],
    ["nothing done yet", [fromPerson("a")], { calls: [], iterations: 0, deliveries: 0, lane: "main" }],
  ])("knows what it was made of: %s", async (_title, messages, body) => {
    const { take, opened } = world();
    await take(messages);
    expect(opened()).toMatchObject(body);
  });

  it("settles what the queue dropped in the same commit, with its reason and its run", async () => {
    const { take, changes } = world();
    const [dropped] = inOrder([fromPerson("old")], 4);
    await take([fromPerson("a")], { dropped: [{ message: dropped as Message, policy: "cap 1 (old)" }] });
    expect(changes[0]?.ops[0]).toEqual({
      op: "message.settle",
      settlements: [{ seq: 4, from: "waiting", state: "dropped", reason: "cap 1 (old)", runId: RUN }],
    });
  });
});

describe("a run that begins a session", () => {
  const session = { speakers: ["eve"], label: "fork" };
  it("belongs to it: the new session, its marker and its state are in the same commit", async () => {
    const { take, changes, lease, opened, written } = world({ session, state: { speakers: ["bob"] } });
    const run = await take([fromPerson("hi")]);
    const kinds = changes[0]?.ops.map((op) => op.op);
    expect(kinds?.[0]).toBe("session.begin");
    expect(texts(written())).toEqual(["<reset>", "hi"]);
    expect(changes[0]?.ops.at(-1)).toEqual({ op: "state.put", state: session });
    expect([run.sessionId, lease.sessionId === "s1"]).toEqual([lease.sessionId, false]);
    // Those who have spoken in the session that begins are on its way, not those of the one that it leaves.
    expect(opened().behalf).toMatchObject({ person: "ann", through: ["eve"] });
  });

  it("remembers who else has spoken, also without a new session", async () => {
    const { take, changes, opened } = world({ state: { speakers: ["bob"] } });
    await take([fromPerson("hi", { behalf: { person: "eve" } })]);
    expect(opened().behalf).toMatchObject({ person: "eve", through: ["ann", "bob"] });
    expect(changes[0]?.ops.at(-1)).toMatchObject({ op: "state.put", state: { speakers: ["bob", "eve"] } });
  });
});

describe("the prompt of a run", () => {
  const summarize = inOrder([fromPerson("lost"), fromPerson("gone")], 7);
  const OVERFLOW = "[Queue overflow] Dropped 2 messages due to cap.\nSummary:\n- lost\n- gone";
  test.each<[string, Partial<RunChoice>, readonly string[]]>([
    ["each message on its own", {}, ["a", "b"]],
    ["dropped ones first", { summarize }, [OVERFLOW, "a", "b"]],
    [
      "one dropped one",
      { summarize: summarize.slice(0, 1) },
      ["[Queue overflow] Dropped 1 message due to cap.\nSummary:\n- lost", "a", "b"],
    ],
    ["joined in one", { joined: true } as never, ["a\nb"]],
    ["joined, after dropped ones", { joined: true, summarize } as never, [`${OVERFLOW}\na\nb`]],
    [
      "collected under a title",
      { collected: true },
      ["[Queued messages while agent was busy]\n\n---\nQueued #1\na\n\n---\nQueued #2\nb"],
    ],
    [
      "collected, after dropped ones",
      { collected: true, summarize },
      [`[Queued messages while agent was busy]\n\n${OVERFLOW}\n\n---\nQueued #1\na\n\n---\nQueued #2\nb`],
    ],
  ])("has %s", async (_title, choice, prompt) => {
    const { take, written } = world();
    await take([fromPerson("a"), fromPerson("b")], choice);
    expect(texts(written())).toEqual(prompt);
    if (prompt.length === 1) expect(written()[0]?.seqs).toEqual([1, 2]);
  });

  it("says once who speaks if one other person said it all at once", async () => {
    const { take, written, ports } = world();
    const directory = {
      recent: async () => ({
        ...{ personOf: (id: string) => id, record: () => undefined },
        standing: (person: string) => ({ person, role: "guest", grants: [] }),
      }),
    };
    Object.assign(ports, { directory });
    const behalf = { person: "eve" };
    await take([fromPerson("a", { behalf }), fromPerson("b", { behalf })], { joined: true } as never);
    const [prompt] = texts(written());
    expect(prompt?.split("<speaker")).toHaveLength(2);
    expect(prompt?.indexOf("<speaker")).toBeLessThan(prompt?.indexOf("a") ?? 0);
    expect(prompt).toMatch(/a\nb$/);
  });

  it("names reports as such if it has nothing else", async () => {
    const report = (text: string): object => ({ body: { kind: "report", text, childId: "c", runId: "x" } });
    const { take, written } = world();
    await take([report("one"), report("two")], { collected: true });
    expect(written()[0]?.text).toContain("[Queued announce messages while agent was busy]");
    const mixed = world();
    await mixed.take([report("one"), fromPerson("two")], { collected: true });
    expect(mixed.written()[0]?.text).toContain("[Queued messages while agent was busy]");
  });
});

describe("messages that enter a run between two steps", () => {
  it("are taken in a step of the run, counted, and named by their id if they have one", async () => {
    const { take, changes, written, ports, lease } = world();
    const run = await take([fromPerson("a")]);
    await steerInto(
      ports,
      lease,
      run,
      inOrder([fromPerson("b"), user("task"), { body: { kind: "system", text: "s" } }], 2),
    );
    const [taken, step] = changes[1]?.ops ?? [];
    expect(taken).toEqual({ op: "message.take", runId: RUN, seqs: [2, 3, 4] });
    expect(step).toMatchObject({ op: "run.step", body: { seqs: [1, 2, 3, 4], said: 2, behalf: { person: "ann" } } });
    expect(changes[1]?.owner?.run).toMatchObject({ id: RUN, step: 1 });
    expect([run.step, run.body.seqs]).toEqual([2, [1, 2, 3, 4]]);
    expect(run.body).toMatchObject({ lane: "main", node: 3, replyToId: "m7" });
    expect(texts(written()).slice(1, 3)).toEqual(["b\n[message_id: m7]", "task"]);
  });
});
