/** What the ingress makes of a request: whose message it is, its files, what is taken back with it; and what retention prunes. */
import { beforeEach, describe, expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { openMemoryStore } from "../../adapters/store/sqlite/open-store.ts";
import type { ChangeId } from "../../core/ids.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { Op } from "../../core/store/change.ts";
import type { Store } from "../../core/store/store.ts";
import { askOp, questionIdOf } from "../people/open-question.ts";
import { MessageIngress, type PostRequest } from "./message-ingress.ts";
import { pressButton } from "./press-button.ts";
import { agesOf, pruneRound } from "./retention.ts";

const [ANN, BOB] = ["ann", "bob"] as unknown as [PersonId, PersonId];
let store: Store;
let clock = virtualClock();
let ingress: MessageIngress;
let events: string[] = [];
let committed: Op[] = [];
let stored: unknown[] = [];

beforeEach(() => {
  clock = virtualClock();
  store = openMemoryStore();
  events = [];
  committed = [];
  stored = [];
  const watched = new Proxy(store, {
    get(target, name) {
      if (name !== "commit") return Reflect.get(target, name).bind(target);
      return (change: Parameters<Store["commit"]>[0]) => {
        committed.push(...change.ops);
        return store.commit(change);
      };
    },
  });
  const files = {
    put: async (given: { data: Uint8Array; name: string; behalf: object }) => {
      stored.push([given.data.length, given.name, given.behalf]);
      return {
        id: "file-1",
        name: given.name,
        mimeType: "text/plain",
        size: given.data.length,
        shown: { as: "text", blob: "b", characters: 1 },
        behalf: given.behalf,
      };
    },
  };
  ingress = new MessageIngress(
    { store: watched, clock, ids: seededIds("ingress") } as never,
    { systemTags: ["doctor"], textLimits: { messageCharacters: 100 } as never, files: files as never },
    {
      emit: ({ type }) => void events.push(type),
      claimFor: () => undefined,
      people: {
        foregroundOf: async () => undefined,
        personOfNew: async (_made: unknown, behalf: { person: PersonId } | undefined) => behalf?.person,
        directory: {
          recent: async () => ({
            sender: (_connector: string, id: string) =>
              id === "7" ? ANN : id === "8" ? BOB : (`test:${id}` as PersonId),
          }),
        },
      } as never,
    },
  );
});

const to = { descriptor: { type: "user", connector: "test", userId: "7", channelId: "7" } } as const;
const post = async (more: Partial<PostRequest> = {}) => {
  const result = await ingress.post({ to, body: { kind: "user", text: "hi" }, ...more });
  if (result.status === "stale") return { result, message: undefined };
  return { result, message: await store.message(result.agentId, result.seq) };
};
const sender = (more: object = {}) => ({ connector: "test", userId: "7", ...more });

describe("whose message it is", () => {
  test.each<[string, Partial<PostRequest>, object | undefined]>([
    ["the sender's", { sender: sender() }, { person: ANN }],
    ["the sender's, with others on its way", { sender: sender({ others: ["8"] }) }, { person: ANN, through: [BOB] }],
    [
      "the sender's, with words of people who are not known",
      { sender: sender({ untrusted: true }) },
      { person: ANN, untrusted: true },
    ],
    ["no one's if no one is named", {}, undefined],
    ["the one's that the request names", { behalf: { person: BOB }, sender: sender() }, { person: BOB }],
  ])("%s", async (_title, more, behalf) => {
    const { message } = await post(more);
    expect(message?.behalf).toEqual(behalf);
  });
  test("of a run is on its way too", async () => {
    const result = await ingress.post(
      { to, body: { kind: "user", text: "x" }, behalf: { person: BOB } },
      { begin: () => [], owner: undefined, behalf: { person: ANN } },
    );
    const message = result.status === "stale" ? undefined : await store.message(result.agentId, result.seq);
    expect(message?.behalf).toEqual({ person: BOB, through: [ANN] });
  });
  test("an agent that it makes belongs to its person and knows its group", async () => {
    const { result } = await post({ sender: sender(), about: { subject: "Team", space: undefined } as never });
    const agent = result.status === "stale" ? undefined : await store.agent(result.agentId);
    expect(agent).toMatchObject({ person: ANN, state: { subject: "Team" } });
    expect(events).toEqual(["posted"]);
  });
});

describe("a message", () => {
  test("with files of others is marked, and holds the stored ones for its person", async () => {
    const file = (id: string, more: object = {}) => ({ id, name: "n", mimeType: "m", size: 1, ...more });
    const body = {
      kind: "user",
      text: "hi",
      files: [file("old"), file("f1", { as: "text", untrusted: true })],
    } as const;
    await expect(post({ sender: sender(), body: body as never })).rejects.toThrow();
    expect(committed.find(({ op }) => op === "file.hold")).toMatchObject({
      files: ["f1"],
      person: ANN,
      ifPosted: true,
    });
    const posted = committed.find(({ op }) => op === "message.post");
    expect(posted?.op === "message.post" && posted.message.behalf).toEqual({ person: ANN, untrusted: true });
    committed = [];
    await post({ sender: sender() });
    expect(committed.map(({ op }) => op)).toEqual(["message.post"]);
  });
  test.each<[string, PostRequest["body"], string | undefined]>([
    ["a stop", { kind: "stop" }, "the run was stopped"],
    ["a reset of a person", { kind: "reset", by: "person" }, "the session was reset"],
    ["a daily reset", { kind: "reset", by: "daily" }, undefined],
    ["words", { kind: "user", text: "x" }, undefined],
  ])("%s takes open questions back: %s", async (_title, body, reason) => {
    await post({ body });
    const withdrawn = committed.find(({ op }) => op === "approval.withdraw");
    expect(withdrawn?.op === "approval.withdraw" ? withdrawn.reason : undefined).toBe(reason);
  });
  test("that is too long becomes a file of it, if the rest is not too long", async () => {
    const long = { sender: sender(), longText: "file" } as const;
    const fits = await post({ ...long, body: { kind: "user", text: "x".repeat(100) } });
    expect(fits.message?.body).toMatchObject({ text: "x".repeat(100) });
    expect(stored).toEqual([]);
    await post({ ...long, body: { kind: "user", text: "x".repeat(101) } }).catch(() => undefined);
    expect(stored).toEqual([[101, "message.txt", { person: ANN }]]);
    stored = [];
    const rest = { kind: "user", text: "x".repeat(90), summaryLine: "y".repeat(51) } as const;
    await expect(post({ ...long, body: rest })).rejects.toMatchObject({ code: "too_large" });
    await expect(post({ longText: "file", body: { kind: "user", text: "x".repeat(101) } })).rejects.toMatchObject({
      code: "too_large",
    });
    await expect(post({ sender: sender(), body: { kind: "user", text: "x".repeat(101) } })).rejects.toMatchObject({
      code: "too_large",
    });
    expect(stored).toEqual([]);
  });
  test("to no one is refused, with nothing stored", async () => {
    await expect(post({ to: { strategy: "most-recent-foreground" } })).rejects.toThrow("No recent foreground agent");
    await expect(post({ to: { descriptor: { type: "system", tag: "other" } } })).rejects.toThrow(
      "Unknown system agent tag: other",
    );
    await expect(post({ to: { descriptor: { type: "system", tag: "No" } } as never })).rejects.toMatchObject({
      code: "invalid_input",
    });
    await expect(post({ to: { agentId: "x".repeat(24) as never } })).rejects.toMatchObject({ code: "not_found" });
    expect(events).toEqual(["claim-unknown"]);
  });
  test("older than its channel may send it is stale, and no one is woken", async () => {
    const source = { connector: "test", messageId: "m", sentAt: clock.now() - 11 };
    expect((await post({ source, replayHorizonMs: 10 })).result).toEqual({ status: "stale" });
    expect(events).toEqual([]);
  });
  test("to an agent that was removed makes a new one", async () => {
    const first = await post({ sender: sender() });
    const again = await post({ sender: sender() });
    if (first.result.status === "stale" || again.result.status === "stale") throw new TypeError("stale");
    expect(again.result.agentId).toBe(first.result.agentId);
    const { agentId } = first.result;
    await store.commit({
      id: "erase" as ChangeId,
      site: "t",
      at: 1,
      ops: [{ op: "agent.erase", agentId, tombstone: "x" }],
    });
    const fresh = await post({ sender: sender() });
    expect(fresh.result).toMatchObject({ status: "accepted", seq: 1 });
    expect(fresh.result.status !== "stale" && fresh.result.agentId).not.toBe(agentId);
  });
});

describe("a choice of a question", () => {
  const question = {
    agentId: "a".repeat(24),
    question: "Tea?",
    choices: ["Yes", "No"],
    target: { channel: "test", to: "7" },
    askedAt: 1_000,
  };
  const id = questionIdOf("r", "c");
  const press = async (choice: string, more: object = {}) => {
    const token = `q:${choice}:${Math.floor(clock.now() / 1_000).toString(36)}`;
    const posts: PostRequest[] = [];
    const op = askOp(id, question);
    const fact = async (key: string) => (op.op === "fact.put" && key === op.key ? (op.value ?? undefined) : undefined);
    const deps = {
      store: { fact },
      post: async (request: PostRequest) => void posts.push(request),
      clock,
      directory: {},
      approvals: {},
    };
    const button = {
      token,
      connector: "test",
      userId: "7",
      channelId: "c7",
      accountId: "acc",
      senderName: "Ann",
      delivery: { channel: "test", to: "7" },
      ...more,
    };
    return { result: await pressButton(deps as never, button as never), posts };
  };
  test("is posted once as the answer, where the question was asked", async () => {
    const { result, posts } = await press(`${id}:1`);
    expect(result).toEqual({ say: "No", done: true });
    expect(posts).toMatchObject([
      {
        ...{ to: { agentId: question.agentId }, delivery: question.target, sender: { connector: "test", userId: "7" } },
        body: { kind: "user", text: '[Answer to your question "Tea?"] No', sender: { id: "7", name: "Ann" } },
        source: { connector: "test", accountId: "acc", channelId: "c7", messageId: `answer-${id}` },
        first: [{ op: "fact.put", value: null }],
      },
    ]);
  });
  test.each<[string, string, object]>([
    ["that does not exist", `${id}:2`, {}],
    ["in another chat", `${id}:1`, { delivery: { channel: "test", to: "8" } }],
    ["of a question that is over", `${"0".repeat(24)}:1`, {}],
    ["of no question", "what:1", {}],
  ])("%s does nothing", async (_title, token, more) => {
    const { result, posts } = await press(token, more);
    expect(result.done).toBe(true);
    expect(posts).toEqual([]);
  });
});

describe("retention", () => {
  const limits = { messagesMs: 1, deliveriesMs: 2, runsMs: 3, changesMs: 4, auditMs: 5 };
  test("keeps each kind of row as long as its own limit says", () => {
    expect(Object.fromEntries(agesOf(limits))).toEqual({
      ...{
        messages: 1,
        deliveries: 2,
        runs: 3,
        changes: 4,
        slots: 3,
        audit: 5,
        approvals: 3,
        questions: 180 * 86_400_000,
      },
      ...{ dedupe: 0, requests: 0 },
    });
  });
  test("prunes in portions with pauses, goes on where it was, and ends reservations of a day", async () => {
    const ops: Op[] = [];
    let left = 2;
    const fake = {
      commit: async (change: { ops: readonly Op[] }) => {
        const [op] = change.ops;
        if (op) ops.push(op);
        if (op?.op !== "prune") return { ok: true, results: [] };
        const more = op.what === "messages" && left-- > 0;
        return { ok: true, results: [{ op: "prune", removed: 7, next: more ? `at-${left}` : undefined }] };
      },
    };
    let pauses = 0;
    const removed = await pruneRound(
      { store: fake as never, ids: seededIds("prune"), clock },
      limits,
      async () => void pauses++,
    );
    expect(removed).toMatchObject({ messages: 21, deliveries: 7, requests: 7 });
    expect(pauses).toBe(12);
    const now = clock.now();
    expect(ops.slice(0, 3)).toEqual([
      { op: "prune", what: "messages", before: now - 1, limit: 200, after: undefined },
      { op: "prune", what: "messages", before: now - 1, limit: 200, after: "at-1" },
      { op: "prune", what: "messages", before: now - 1, limit: 200, after: "at-0" },
    ]);
    expect(ops.at(-1)).toEqual({ op: "budget.sweep", reservedBefore: now - 86_400_000, rowsBefore: now - 3 });
  });
});
