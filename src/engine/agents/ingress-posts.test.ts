/** What a posted message becomes: its recipient, its people, its files, and what is committed with it. No engine. */
import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { gate } from "../../../test/kit/gate.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import { InvalidInputError } from "../../core/errors.ts";
import type { MessageBody } from "../../core/message/message.ts";
import type { Change, Op } from "../../core/store/change.ts";
import { messageSize } from "../../core/text-limits.ts";
import type { AgentSystemOptions } from "./agent-system-options.ts";
import { MessageIngress, type PostRequest } from "./message-ingress.ts";

const ANN: AgentDescriptor = { type: "user", connector: "test", userId: "ann", channelId: "ann" };
const KEY = "agent:main:test:dm:ann";
const USER: MessageBody = { kind: "user", text: "hi" };
const ALSO: Op = { op: "fact.put", key: "k", value: "v" };

interface Given {
  readonly options?: Partial<AgentSystemOptions>;
  /** Keys of agents that exist. */
  readonly known?: readonly string[];
  /** Refusals of the first commits. */
  readonly refusals?: readonly string[];
  readonly holds?: readonly string[];
}

function world({ options = {}, known = [KEY], refusals = [], holds }: Given = {}) {
  const commits: Change[] = [];
  const told: string[] = [];
  const lookups: string[] = [];
  const put: object[] = [];
  const hooks: { onPerson?: () => Promise<void> } = {};
  const keys = new Set(known);
  const agent = { id: "p1", sessionId: "s", leaf: "0-m", state: {}, person: "ann" };
  const store = {
    agentByKey: async (key: string) => {
      lookups.push(key);
      return keys.has(key) ? agent : undefined;
    },
    agentFor: async (strategy: string) => (strategy === "most-recent" ? { id: "recent" } : undefined),
    linesBack: async () => [
      {
        position: 0,
        line: JSON.stringify({
          ...{ type: "message", id: "0-m", parentId: null, role: "user", timestamp: 1 },
          content: (holds ?? []).map((id) => ({ type: "text", text: id, file: { id, as: "reference" } })),
        }),
      },
    ],
    holdsFile: async () => true,
    commit: async (change: Change) => {
      const refused = refusals[commits.length];
      commits.push(change);
      await new Promise((resolve) => setImmediate(resolve));
      if (refused === "error") throw new TypeError("away");
      if (refused) return { ok: false, refused, detail: "no" };
      return { ok: true, results: change.ops.map(({ op }) => ({ op, agentId: "a1", seq: 1 })) };
    },
    outcome: async () => undefined,
  };
  const view = { sender: (connector: string, id: string) => `${connector}:${id}` };
  const ingress = new MessageIngress(
    { store, clock: virtualClock(), ids: seededIds("posts") } as never,
    {
      files: {
        put: async (file: object) => {
          put.push(file);
          return {
            id: "f9",
            name: "n",
            mimeType: "text/plain",
            size: 3,
            shown: { as: "reference" },
            behalf: { person: "ann" },
          };
        },
      },
      ...options,
    } as never,
    {
      ...{ emit: ({ type }: { type: string }) => void told.push(type), claimFor: () => 3 },
      people: {
        foregroundOf: async (person: string) => (person === "owner" ? { id: "front" } : undefined),
        directory: { recent: async () => hooks.onPerson?.().then(() => view) ?? view },
        personOfNew: async (_made: unknown, behalf?: { person: string }) => behalf?.person ?? "someone",
      },
    } as never,
  );
  const post = (more: Partial<PostRequest> = {}, asking?: object) =>
    ingress.post({ to: { descriptor: ANN }, body: USER, ...more } as PostRequest, asking as never);
  const ops = (): readonly Op[] => commits.flatMap((change) => change.ops);
  const posted = () => {
    const op = commits.at(-1)?.ops.find((one) => one.op === "message.post");
    return op?.op === "message.post" ? op : undefined;
  };
  return { ingress, post, posted, ops, commits, told, lookups, keys, put, hooks };
}

describe("the recipient of a message", () => {
  test.each<[string, PostRequest["to"], object]>([
    ["an agent", { agentId: "a7" as never }, { agentId: "a7" }],
    ["a conversation that exists", { descriptor: ANN }, { sessionKey: KEY }],
    [
      "a conversation of another key",
      { descriptor: ANN, sessionKey: KEY as never, profile: "other" },
      { sessionKey: KEY },
    ],
    ["the owner's foreground agent", { strategy: "most-recent-foreground" }, { agentId: "front" }],
    ["an agent by another strategy", { strategy: "most-recent" as never }, { agentId: "recent" }],
  ])("is %s", async (_title, to, recipient) => {
    const { post, posted, told } = world();
    await post({ to });
    expect([posted()?.to, posted()?.claimFor, told]).toEqual([recipient, 3, ["posted"]]);
  });

  test.each<[string, object, string]>([
    ["no agent has a strategy", { strategy: "none" }, "No recent foreground agent found."],
    ["a descriptor is wrong", { descriptor: { type: "user" }, sessionKey: "k" }, "Invalid agent descriptor"],
    ["an address is too long", { descriptor: { ...ANN, userId: "x".repeat(100_001) } }, "at most 100000 are accepted"],
    [
      "a system agent has no such tag",
      { descriptor: { type: "system", tag: "other" } },
      "Unknown system agent tag: other",
    ],
  ])("is refused if %s", async (_title, to, text) => {
    const { post, commits } = world({ options: { systemTags: ["doctor"] } });
    await expect(post({ to: to as never })).rejects.toThrow(text);
    expect(commits).toEqual([]);
  });

  test.each<[string, Given]>([
    ["a tag that is known", { options: { systemTags: ["doctor"] } }],
    ["any tag, where none are named", {}],
  ])("may be a system agent with %s", async (_title, given) => {
    const { post, posted } = world(given);
    await post({ to: { descriptor: { type: "system", tag: "doctor" } } });
    expect(posted()?.to).toMatchObject({ create: { descriptor: { type: "system", tag: "doctor" } } });
  });

  it("is made for its person with what the channel shows of it, if it is new", async () => {
    const { post, posted } = world({ known: [] });
    const behalf = { person: "eve" as never };
    await post({ behalf, about: { subject: "Team", space: undefined } });
    expect(posted()?.to).toMatchObject({
      create: { person: "eve", profile: "main", state: { subject: "Team", chatType: "direct" } },
    });
    expect(posted()?.to).not.toHaveProperty("create.state.space");
  });

  it("is looked up once, until it is forgotten", async () => {
    const { post, ingress, lookups } = world();
    await post();
    await post();
    expect(lookups).toEqual([KEY]);
    ingress.forget(KEY as never);
    await post();
    expect(lookups).toEqual([KEY, KEY]);
  });

  it("is made again if it was removed since it was known", async () => {
    const { post, posted, keys, commits, told } = world({ refusals: ["", "missing"] });
    await post();
    keys.clear();
    await post();
    expect([commits.length, posted()?.to]).toMatchObject([3, { sessionKey: KEY, create: { sessionKey: KEY } }]);
    expect(told).toEqual(["posted", "claim-unknown", "posted"]);
  });

  test.each<[string, PostRequest["to"], string, number]>([
    ["an agent that is gone", { agentId: "a7" as never }, "missing", 1],
    ["a new conversation that is refused", { descriptor: { ...ANN, userId: "new" } as never }, "missing", 1],
    ["a conflict", { descriptor: ANN }, "conflict", 1],
    ["an error of the store", { descriptor: ANN }, "error", 1],
  ])("is not made again for %s: that is an error", async (_title, to, refusal, commits) => {
    const one = world({ refusals: [refusal] });
    await expect(one.post({ to })).rejects.toThrow();
    expect([one.commits.length, one.told]).toEqual([commits, ["claim-unknown"]]);
  });
});

describe("the people of a message", () => {
  const sender = { connector: "test", userId: "7" };
  test.each<[string, Partial<PostRequest>, object | undefined, object | undefined]>([
    ["no one", {}, undefined, undefined],
    ["its sender", { sender }, undefined, { person: "test:7" }],
    ["who is named, whoever sends it", { sender, behalf: { person: "eve" as never } }, undefined, { person: "eve" }],
    [
      "others whose words it has",
      { sender: { ...sender, others: ["8"] } },
      undefined,
      { person: "test:7", through: ["test:8"] },
    ],
    [
      "its sender, with words of no one known",
      { sender: { ...sender, untrusted: true } },
      undefined,
      { person: "test:7", untrusted: true },
    ],
    ["those of the run that asks", { sender }, { behalf: { person: "ann" }, begin: () => [] }, { person: "ann" }],
  ])("are %s", async (_title, more, asking, behalf) => {
    const { post, posted } = world();
    await post(more, asking);
    if (behalf) expect(posted()?.message.behalf).toMatchObject(behalf);
    expect(posted()?.message.behalf === undefined).toBe(behalf === undefined);
  });

  it("have the mark of a file that was made of untrusted text, if there are any", async () => {
    const file = { id: "f1", name: "n", mimeType: "text/plain", size: 1, untrusted: true } as const;
    const { post, posted } = world();
    await post({ body: { ...USER, files: [file] } as MessageBody, sender });
    expect(posted()?.message.behalf).toEqual({ person: "test:7", untrusted: true });
    await post({ body: { ...USER, files: [{ ...file, untrusted: undefined }] } as MessageBody, sender });
    expect(posted()?.message.behalf).toEqual({ person: "test:7" });
    await post({ body: { ...USER, files: [file] } as MessageBody });
    expect(posted()?.message.behalf).toBeUndefined();
  });
});

describe("a text that is too long", () => {
  const limits = { textLimits: { messageCharacters: 4_000, toolResultCharacters: 9, answerCharacters: 9 } };
  const text = "x".repeat(4_200);
  const behalf = { person: "ann" as never };
  it("becomes a file of its message, beside those that it has", async () => {
    const { post, posted, put } = world({ options: limits });
    const file = { id: "f1", name: "n", mimeType: "text/plain", size: 1 };
    await post({ body: { ...USER, text, files: [file], replyToId: "m0" } as MessageBody, behalf, longText: "file" });
    expect(put).toMatchObject([{ behalf: { person: "ann" } }]);
    const body = posted()?.message.body;
    expect(body).toMatchObject({ replyToId: "m0", files: [{ id: "f1" }, { id: "f9" }] });
    expect(messageSize(body ?? {})).toBeLessThan(2_000);
    await post({ body: { ...USER, text } as MessageBody, behalf, longText: "file" });
    expect(posted()?.message.body).toMatchObject({ files: [{ id: "f9" }] });
  });

  test.each<[string, Partial<PostRequest>, object]>([
    ["the caller does not want that", { behalf }, limits],
    ["it is no message of a person", { behalf, longText: "file", body: { kind: "system", text } }, limits],
    ["no files are stored", { behalf, longText: "file" }, { ...limits, files: undefined }],
    ["it is for no one", { longText: "file" }, limits],
  ])("is refused if %s", async (_title, more, options) => {
    const { post, commits, put } = world({ options });
    await expect(post({ body: { ...USER, text } as MessageBody, ...more })).rejects.toThrow(
      "at most 4000 are accepted",
    );
    expect([commits, put]).toEqual([[], []]);
  });

  test.each([
    [0, true],
    [1, false],
  ])("is refused if the rest of the message takes %i more than half of the room", async (more, stored) => {
    const { post, put } = world({ options: limits });
    const rest = messageSize({ ...USER, text: "", replyToId: "" });
    const replyToId = "m".repeat(2_000 - rest + more);
    const done = await post({ body: { ...USER, text, replyToId } as MessageBody, behalf, longText: "file" }).then(
      () => true,
      () => false,
    );
    expect([done, put.length]).toEqual([stored, stored ? 1 : 0]);
  });

  it("stays as it is if it fits", async () => {
    const { post, put } = world({ options: limits });
    await post({ behalf, longText: "file" });
    expect(put).toEqual([]);
  });
});

describe("what is committed with a message", () => {
  const ifPosted = { of: { sessionKey: KEY }, ifPosted: true };
  test.each<[string, MessageBody, readonly object[]]>([
    [
      "a stop takes its questions back",
      { kind: "stop" },
      [{ op: "approval.withdraw", ...ifPosted, reason: "the run was stopped" }],
    ],
    [
      "a person's reset too",
      { kind: "reset", by: "person" },
      [{ op: "approval.withdraw", ...ifPosted, reason: "the session was reset" }],
    ],
    ["another reset does not", { kind: "reset", by: "system" } as unknown as MessageBody, []],
    ["nor does a text", USER, []],
  ])("%s", async (_title, body, expected) => {
    const { post, ops } = world();
    await post({ body });
    expect(ops().slice(1)).toEqual(expected);
  });

  it("its files are held by its agent, for its person; those that are not stored are not", async () => {
    const { post, ops } = world();
    const files = [{ id: "f1", as: "text" }, { id: "old" }].map((one) => ({
      name: "n",
      mimeType: "m",
      size: 1,
      ...one,
    }));
    await post({ body: { ...USER, files } as MessageBody, behalf: { person: "ann" as never } });
    const hold = ops().find(({ op }) => op === "file.hold");
    expect(hold).toEqual({ op: "file.hold", by: { sessionKey: KEY }, ifPosted: true, files: ["f1"], person: "ann" });
  });

  it("a thread holds the files of its parent from its first message on", async () => {
    const { post, ops } = world({ holds: ["f1"], known: ["agent:main:test:group:g"] });
    await post({ to: { descriptor: { ...ANN, channelId: "g", peerKind: "group", threadId: 7 } as never } });
    expect(ops().filter(({ op }) => op === "file.hold")).toEqual([
      {
        op: "file.hold",
        by: expect.objectContaining({ create: expect.anything() }),
        ifPosted: true,
        files: ["f1"],
        ifKept: true,
      },
    ]);
  });

  it("what the caller adds, before and after it, and the wait of a run", async () => {
    const { post, ops, commits } = world();
    const wait = { op: "wait.begin", id: "e", from: "x", to: { agentId: "y" }, runId: "r" };
    const owner = { agentId: "x", node: 1, epoch: 1, sessionId: "s" };
    await post({ first: [{ ...ALSO, key: "first" }], also: [ALSO] }, { begin: () => [wait], owner });
    expect(ops().map((one) => ("key" in one ? one.key : one.op))).toEqual(["first", "message.post", "k", "wait.begin"]);
    expect(commits[0]?.owner).toEqual(owner);
  });
});

describe("messages that are prepared at the same time", () => {
  const [A, B] = [{ agentId: "a1" as never }, { agentId: "b1" as never }];
  test.each<[string, PostRequest["to"], PostRequest["to"], number]>([
    ["for one agent keep their order", A, A, 0],
    ["for two agents do not wait for each other", A, B, 1],
    ["for one conversation keep their order", { descriptor: ANN }, { descriptor: { ...ANN } }, 0],
    ["for one conversation, by its key too", { descriptor: ANN }, { descriptor: ANN, sessionKey: KEY as never }, 0],
    [
      "for two keys do not",
      { descriptor: ANN, sessionKey: "k1" as never },
      { descriptor: ANN, sessionKey: "k2" as never },
      1,
    ],
    ["for two profiles do not", { descriptor: ANN, profile: "work" }, { descriptor: ANN }, 1],
  ])("%s", async (_title, first, second, before) => {
    const { post, commits, hooks } = world();
    // The person of the first is found late.
    const hold = gate();
    hooks.onPerson = () => {
      hooks.onPerson = undefined;
      return hold.promise;
    };
    const sender = { connector: "test", userId: "7" };
    const posts = [first, second].map((to) => post({ to, sender }));
    for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(commits).toHaveLength(before);
    hold.open();
    await Promise.all(posts);
    expect(commits).toHaveLength(2);
  });

  it("wait for the last one before them, also when the first is done", async () => {
    const { post, commits, hooks } = world();
    const gates = [gate(), gate()];
    const held = [...gates];
    hooks.onPerson = async () => held.shift()?.promise;
    const sender = { connector: "test", userId: "7" };
    const say = (text: string) => post({ body: { kind: "user", text }, sender });
    const [one, two] = [say("1"), say("2")];
    gates[0]?.open();
    await one;
    const three = say("3");
    for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(commits).toHaveLength(1);
    gates[1]?.open();
    await Promise.all([two, three]);
    const texts = commits.map(({ ops }) => ops.flatMap((op) => (op.op === "message.post" ? [op.message.body] : [])));
    expect(texts.flat()).toMatchObject([{ text: "1" }, { text: "2" }, { text: "3" }]);
  });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a text", "user"],
    ["no kind", {}],
    ["an unknown kind", { type: "other" }],
    ["no ids", { type: "user" }],
    ["a number as an id", { ...ANN, userId: 7 }],
    ["a number as an account", { ...ANN, accountId: 7 }],
    ["no tag", { type: "system" }],
  ])("with a descriptor that is none are refused with a typed error, with and without a key: %s", async (_t, wrong) => {
    for (const sessionKey of [undefined, KEY as never]) {
      const { post, commits } = world();
      const refused = post({ to: { descriptor: wrong as never, sessionKey } });
      await expect(refused).rejects.toThrow(InvalidInputError);
      await expect(refused).rejects.toThrow("Invalid agent descriptor");
      expect(commits).toEqual([]);
    }
  });

  it("are prepared although an earlier one was refused, and leave nothing behind", async () => {
    const { post, commits } = world();
    const wrong = post({ to: { descriptor: { type: "user" } as never, sessionKey: KEY as never } });
    await Promise.all([expect(wrong).rejects.toThrow("Invalid agent descriptor"), post()]);
    expect(commits).toHaveLength(1);
  });
});
