/** What an actor reads of its inbox: as little as the mode allows, each arrival once, and what arrivals do to the active run. No engine. */
import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { gate } from "../../../../test/kit/gate.ts";
import { type LogLine, recordingLog } from "../../../../test/kit/log.ts";
import type { AgentId, RunId, SessionId } from "../../../core/ids.ts";
import type { Message, MessageBody } from "../../../core/message/message.ts";
import { isUrgent } from "../../../core/message/message-order.ts";
import type { QueueMode } from "../../../core/message/queue.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import { LiveRun } from "../../runtime/live-run.ts";
import { InboxView } from "./inbox-view.ts";

const AGENT = "a".repeat(24) as AgentId;
const said = (text: string, more: object = {}): MessageBody => ({ kind: "user", text, ...more }) as MessageBody;
const message = (seq: number, body: MessageBody = said(`m${seq}`)): Message =>
  ({ seq, id: `${AGENT}/${seq}`, agentId: AGENT, state: "waiting", acceptedAt: 1, body }) as unknown as Message;
const upTo = (count: number) => Array.from({ length: count }, (_, n) => message(n + 1));

interface Read {
  readonly limit: number;
  readonly afterSeq?: number;
  readonly urgent?: boolean;
}

function world({ mode = "queue", cap = 20 }: { mode?: QueueMode; cap?: number } = {}) {
  const inbox: Message[] = [];
  const reads: Read[] = [];
  const log: LogLine[] = [];
  const hooks: { onRead?: () => Promise<void> | undefined } = {};
  const store = {
    agent: async () => ({ waiting: inbox.length }),
    waiting: async (_id: AgentId, read: Read) => {
      reads.push(read);
      const { limit, afterSeq = 0, urgent = false } = read;
      const found = inbox.filter(({ seq, body }) => seq > afterSeq && (!urgent || isUrgent(body))).slice(0, limit);
      await hooks.onRead?.();
      return found;
    },
  };
  const queue = {
    settingsFor: (one: Message) => ({
      ...{ mode: (one.body.kind === "user" && one.body.queue?.mode) || mode },
      ...{ debounceMs: 0, cap, dropPolicy: "old" as const },
    }),
    dedupe: "none",
  };
  const ports = { store, clock: virtualClock(), log: recordingLog(log) };
  const view = new InboxView({ ports, queue } as never, AGENT);
  const lease = { record: {}, state: {} } as unknown as AgentLease;
  const body = { lane: "main", seqs: [3], calls: [], iterations: 0, deliveries: 0 } as const;
  const identity = { id: "r" as RunId, agentId: AGENT, sessionId: "s" as SessionId, startedAt: 1 };
  const run = new LiveRun({ ...identity, step: 1, attempt: 1, body: { ...body, seqs: [3], calls: [] } } as never, {
    ...{ timeoutMs: 1_000, maxIterations: 5 },
  });
  const look = () => view.lookAtArrivals(run, lease);
  return { inbox, reads, log, hooks, view, lease, run, look };
}
const seqsOf = (messages: readonly Message[]) => messages.map(({ seq }) => seq);

describe("at rest", () => {
  it("reads one page if that is all, and none for a message that it knows to be the only one", async () => {
    const { inbox, reads, view, lease } = world();
    inbox.push(...upTo(7));
    expect(await view.choose(lease, undefined)).toMatchObject({ seen: 7, choice: { act: "run" } });
    expect(reads).toEqual([{ limit: 8 }]);
    view.known(message(9));
    const known = await view.choose(lease, undefined);
    expect([known.seen, seqsOf(known.messages), reads.length]).toEqual([9, [9], 1]);
    // What was known is known once.
    expect((await view.choose(lease, undefined)).seen).toBe(7);
    view.known(message(9));
    view.known(undefined);
    expect((await view.choose(lease, undefined)).seen).toBe(7);
  });

  it("rests with an empty inbox", async () => {
    const { view, lease } = world();
    expect(await view.choose(lease, undefined)).toMatchObject({ choice: { act: "rest" }, seen: 0, messages: [] });
  });

  test.each<[string, { mode?: QueueMode; cap?: number }, number]>([
    ["queue, exactly at the cap", { cap: 300 }, 8],
    ["steer, within the cap", { mode: "steer", cap: 300 }, 8],
    ["queue, above the cap", { cap: 299 }, 300],
    ["collect", { mode: "collect", cap: 300 }, 300],
    ["followup", { mode: "followup", cap: 300 }, 300],
    ["interrupt", { mode: "interrupt", cap: 300 }, 300],
  ])("reads all of 300 only if the mode needs them: %s", async (_name, settings, read) => {
    const { inbox, view, lease } = world(settings);
    inbox.push(...upTo(300));
    const { messages } = await view.choose(lease, undefined);
    expect(seqsOf(messages)).toEqual(seqsOf(inbox.slice(0, read)));
  });

  it("goes by the mode of the first message", async () => {
    const { inbox, view, lease } = world({ cap: 300 });
    const collect = (seq: number) => message(seq, said("x", { queue: { mode: "collect" } }));
    inbox.push(...upTo(20));
    inbox.splice(1, 1, collect(2));
    expect((await view.choose(lease, undefined)).messages).toHaveLength(8);
    inbox.splice(0, 2, collect(1), message(2));
    expect((await view.choose(lease, undefined)).messages).toHaveLength(20);
  });

  it("reads all if an urgent message of a person waits behind many, not for a stop, which it reads apart", async () => {
    const { inbox, view, lease } = world({ cap: 300 });
    inbox.push(...upTo(20), message(21, { kind: "stop" }));
    const stopped = await view.choose(lease, undefined);
    expect([stopped.messages.length, stopped.choice]).toMatchObject([8, { act: "stop", message: { seq: 21 } }]);
    inbox.splice(20, 1, message(21, said("now", { queue: { mode: "interrupt" } })));
    expect((await view.choose(lease, undefined)).messages).toHaveLength(21);
  });

  it("says whether an urgent message waits", async () => {
    const { inbox, view, reads } = world();
    inbox.push(...upTo(3));
    expect(await view.overtaken()).toBe(false);
    expect(reads).toEqual([{ limit: 1, urgent: true }]);
    inbox.push(message(4, { kind: "reset", by: "person" }));
    expect(await view.overtaken()).toBe(true);
  });
});

describe("while a run is active", () => {
  test.each<[string, MessageBody, QueueMode, string | undefined]>([
    ["a stop after its messages", { kind: "stop" }, "queue", "person"],
    ["a reset of a person", { kind: "reset", by: "person" }, "queue", "reset"],
    ["a daily reset", { kind: "reset", by: "daily" }, "queue", undefined],
    ["a message that interrupts", said("now"), "interrupt", "interrupt"],
    ["a message that waits", said("later"), "queue", undefined],
    ["a message that steers", said("beside"), "steer", undefined],
  ])("%s ends it accordingly", async (_name, body, mode, reason) => {
    const { inbox, run, look } = world({ mode });
    inbox.push(message(4, body));
    await look();
    expect([run.endReason, run.signal.aborted]).toEqual([reason, reason !== undefined]);
  });

  it("a stop before the last of its messages does not end it", async () => {
    const { inbox, run, look } = world();
    run.body = { ...run.body, seqs: [3, 6] };
    inbox.push(message(2, { kind: "stop" }), message(5, { kind: "stop" }));
    await look();
    expect(run.endReason).toBeUndefined();
    inbox.push(message(7, { kind: "stop" }));
    await look();
    expect(run.endReason).toBe("person");
  });

  it("a message that comes after nothing was found is found", async () => {
    const { inbox, view, run, look } = world({ mode: "steer" });
    await look();
    await look();
    inbox.push(message(4));
    await look();
    expect(seqsOf(await view.steerable(run))).toEqual([4]);
  });

  it("a message that interrupts makes the next choice read everything, until it is taken", async () => {
    const { inbox, view, lease, look } = world({ cap: 300 });
    inbox.push(...upTo(20).slice(3));
    inbox.push(message(30, said("now", { queue: { mode: "interrupt" } })));
    await look();
    inbox.pop();
    expect((await view.choose(lease, undefined)).messages).toHaveLength(17);
    view.taken();
    expect((await view.choose(lease, undefined)).messages).toHaveLength(8);
  });

  it("each arrival is read once in a run, urgent ones always, and all again in the next run", async () => {
    const { inbox, reads, view, look } = world({ mode: "steer" });
    inbox.push(message(4), message(5));
    await look();
    inbox.push(message(6));
    await look();
    expect(reads.filter(({ urgent }) => !urgent).map(({ afterSeq }) => afterSeq)).toEqual([0, 5]);
    expect(reads.filter(({ urgent }) => urgent)).toHaveLength(2);
    await look();
    view.runBegins();
    await look();
    expect(reads.filter(({ urgent }) => !urgent).map(({ afterSeq }) => afterSeq)).toEqual([0, 5, 6, 0]);
  });

  it("arrivals during a read are read together afterwards, and the reads never overlap", async () => {
    const { inbox, reads, hooks, look } = world();
    const hold = gate();
    hooks.onRead = () => hold.promise;
    const looks = [look(), look(), look()];
    inbox.push(message(4));
    expect(reads).toHaveLength(1);
    hooks.onRead = undefined;
    hold.open();
    await Promise.all(looks);
    expect(reads.filter(({ urgent }) => !urgent)).toHaveLength(2);
    await look();
    expect(reads.filter(({ urgent }) => !urgent)).toHaveLength(3);
  });

  it("a read that fails is logged, ends nothing, and the next one reads again", async () => {
    const { inbox, hooks, log, run, look } = world();
    inbox.push(message(4, { kind: "stop" }));
    hooks.onRead = () => Promise.reject(new TypeError("no store"));
    await look();
    expect(log.map(({ level, message: text }) => [level, text])).toEqual([
      ["warn", "could not read the messages that arrived"],
    ]);
    expect(run.endReason).toBeUndefined();
    hooks.onRead = undefined;
    await look();
    expect(run.endReason).toBe("person");
  });

  it("messages that steer enter in order up to the first that does not, and none of them in the next run", async () => {
    const { inbox, reads, view, run, look } = world({ mode: "steer" });
    expect(await view.steerable(run)).toEqual([]);
    expect(reads).toEqual([]);
    inbox.push(message(4), message(5));
    await look();
    inbox.push(message(6));
    expect(seqsOf(await view.steerable(run))).toEqual([4, 5]);
    await look();
    expect(seqsOf(await view.steerable(run))).toEqual([4, 5, 6]);
    view.runEnded();
    expect(await view.steerable(run)).toEqual([]);
  });

  it.each<[QueueMode, LiveRun["state"], number]>([
    ["steer-backlog", "streaming", 1],
    ["steer-backlog", "active", 0],
    ["steer-backlog", "compacting", 0],
    ["steer", "active", 1],
    ["steer", "compacting", 1],
  ])("in mode %s a message steers a run that is %s: %d", async (mode, state, count) => {
    const { inbox, view, run, look } = world({ mode });
    run.state = state;
    inbox.push(message(4));
    await look();
    expect(await view.steerable(run)).toHaveLength(count);
  });

  it("questions are answered once each, and not in the next run", async () => {
    const { inbox, reads, view, look } = world();
    expect([await view.questions(), reads]).toEqual([[], []]);
    const asks = (seq: number) => message(seq, { kind: "command", name: "status", text: "" });
    inbox.push(message(4), asks(5), message(6, { kind: "subagents", command: "list" }));
    await look();
    expect(seqsOf(await view.questions())).toEqual([5, 6]);
    expect(await view.questions()).toEqual([]);
    inbox.push(asks(7));
    await look();
    view.runEnded();
    expect(await view.questions()).toEqual([]);
  });
});
