/**
 * How the minimal actor works through one agent's inbox: take, think, act, rest, each one commit; a run found open after
 * a crash continues from its last committed step (L1, L2, L4, L11).
 */
import type { AgentRecord } from "../../../src/core/agent/agent.ts";
import { deliveryId, type NewDelivery } from "../../../src/core/delivery/delivery.ts";
import type { Block, MessageEntry } from "../../../src/core/history/entry.ts";
import { type AgentId, type EntryId, entryId, type RunId } from "../../../src/core/ids.ts";
import type { Message } from "../../../src/core/message/message.ts";
import { sleep } from "../../../src/core/ports/clock.ts";
import type { ModelMessage } from "../../../src/core/ports/model.ts";
import type { ToolOutput } from "../../../src/core/ports/tool.ts";
import type { CallRecord, RunBody, RunRecord } from "../../../src/core/run/run.ts";
import type { CommitResult, Op, Owner } from "../../../src/core/store/change.ts";
import { type Actor, type Membership, said } from "./minimal-actor.ts";

const UNKNOWN = "outcome unknown, the process stopped before it was recorded";

/** Works until the inbox is empty and the agent is released, or the agent is lost. Never throws. */
export async function work(actor: Actor, mine: Membership, agentId: AgentId, epoch: number): Promise<void> {
  const { store, clock } = actor.ports;
  let begun: RunId | undefined;
  while (actor.holds(mine)) {
    try {
      const agent = await store.agent(agentId);
      if (!agent || agent.node !== mine.node || agent.epoch !== epoch) return;
      if (agent.runId !== undefined) {
        await goOn(actor, mine, agent, agent.runId, agent.runId === begun);
        begun = undefined;
        continue;
      }
      if (actor.draining()) return;
      const waiting = await store.waiting(agentId, { limit: actor.quirks.newestFirst ? 50 : 3 });
      if (actor.quirks.memoryQueue && !waiting.every(({ id }) => actor.remembered.has(id))) return;
      if (waiting.length > 0) {
        begun = await take(actor, mine, agent, actor.quirks.newestFirst ? waiting.slice(-1) : waiting);
        continue;
      }
      const result = await actor.commit("release", [{ op: "agent.release" }], ownerOf(mine, agent));
      if (!result.ok || said(result, "agent.release")?.released || actor.quirks.ignoreRefusedRelease) return;
      await sleep(clock, 50);
    } catch {
      await sleep(clock, 150);
    }
  }
}

const ownerOf = (mine: Membership, agent: AgentRecord, run?: { id: RunId; step: number }): Owner => ({
  agentId: agent.id,
  node: mine.node,
  epoch: agent.epoch,
  run,
});

/** Opens a run for these messages. Returns the run's id, or undefined if the agent was lost. */
async function take(
  actor: Actor,
  mine: Membership,
  agent: AgentRecord,
  messages: readonly Message[],
): Promise<RunId | undefined> {
  const runId = actor.ports.ids.uuid() as RunId;
  const seqs = messages.map(({ seq }) => seq);
  const delivery = messages.find((message) => message.delivery)?.delivery;
  const body: RunBody = {
    lane: "main",
    seqs,
    calls: [],
    iterations: 0,
    deliveries: 0,
    delivery,
  };
  const said = messages.map(({ body: { ...it } }) => ("text" in it ? (it.text ?? "") : ""));
  const entries = said.map((text): Said => ({ role: "user", content: [{ type: "text", text }], runId }));
  const ops: Op[] = [
    { op: "run.open", runId, body },
    { op: "message.take", runId, seqs },
    appending(actor, agent.nextPos, agent.leaf, entries),
  ];
  const result = await actor.commit("take", ops, ownerOf(mine, agent));
  return result.ok ? runId : undefined;
}

type Said = Pick<MessageEntry, "role" | "content"> & Partial<MessageEntry>;

function appending(actor: Actor, position: number, leaf: EntryId, entries: readonly Said[]): Op {
  const { ids, clock } = actor.ports;
  let parentId = leaf;
  const lines = entries.map((entry, index) => {
    const id = entryId(position + index, ids.uuid());
    const line = JSON.stringify({ type: "message", id, parentId, timestamp: clock.now(), ...entry });
    parentId = id;
    return line;
  });
  return { op: "entries.append", position, lines, leaf: parentId };
}

/** A run in progress: its last known record and the end of its agent's history. */
interface Progress {
  readonly agent: AgentRecord;
  readonly run: RunRecord;
  readonly messages: readonly ModelMessage[];
}

/** Continues an open run until it ends or is lost. `fresh`: this process opened it. */
async function goOn(actor: Actor, mine: Membership, found: AgentRecord, runId: RunId, fresh: boolean): Promise<void> {
  let recovered = !fresh;
  let failures = 0;
  for (let first = true; actor.holds(mine); first = false) {
    const progress = await read(actor, found.id, runId);
    if (!progress || progress.agent.epoch !== found.epoch) return;
    const { run } = progress;
    const open = run.body.calls.filter(({ state }) => state !== "done");
    let result: CommitResult | "again" | undefined;
    if (first && recovered) {
      result = await commitStep(actor, mine, progress, "recover", [
        { op: "run.step", runId, body: run.body, attempt: run.attempt + 1 },
      ]);
    } else if (open.length > 0) {
      result = await act(actor, mine, progress, open, recovered);
      recovered = false;
    } else {
      result = await think(actor, mine, progress, failures);
      recovered = false;
    }
    if (result === undefined || (result !== "again" && !result.ok)) return;
    failures = result === "again" ? failures + 1 : 0;
    actor.nudgeOutbox();
  }
}

async function read(actor: Actor, agentId: AgentId, runId: RunId): Promise<Progress | undefined> {
  const { store } = actor.ports;
  const agent = await store.agent(agentId);
  const run = await store.run(runId);
  if (!agent || run?.state !== "open") return undefined;
  const lines = (await store.linesBack(agentId, { before: agent.nextPos, limit: 10_000 })).toReversed();
  const entries = lines.map(({ line }) => JSON.parse(line) as MessageEntry).filter(({ type }) => type === "message");
  const messages = entries.map(({ role, content, toolCallId, toolName, isError }) => ({
    role,
    content,
    toolCallId,
    toolName,
    isError,
  }));
  return { agent, run, messages };
}

const commitStep = (
  actor: Actor,
  mine: Membership,
  { agent, run }: Progress,
  site: string,
  ops: readonly Op[],
): Promise<CommitResult> => actor.commit(site, ops, ownerOf(mine, agent, { id: run.id, step: run.step }));

async function think(
  actor: Actor,
  mine: Membership,
  progress: Progress,
  failures: number,
): Promise<CommitResult | "again" | undefined> {
  const { model, tools, clock } = actor.ports;
  const { agent, run, messages } = progress;
  const request = { model: "sim", system: "", messages, tools: [], sessionId: agent.sessionId };
  const result = await model.call(request, mine.ended.signal, () => {});
  if (result.error) {
    if (result.error.class === "aborted") return undefined;
    if (failures >= 4 || !["transient", "rate"].includes(result.error.class))
      return end(actor, mine, progress, result.error.message);
    await sleep(clock, result.error.retryAfterMs ?? 200);
    return "again";
  }
  const calls = result.content.filter((block) => block.type === "toolCall");
  const said: Said = { role: "assistant", content: [...result.content], runId: run.id };
  if (calls.length === 0) return end(actor, mine, progress, undefined, said);
  const intended = calls.map(
    (call): CallRecord => ({
      callId: call.id,
      name: call.name,
      arguments: call.arguments,
      replay: tools.find(agent, call.name)?.replay ?? "safe",
      state: "intended",
    }),
  );
  const body = { ...run.body, calls: intended, iterations: run.body.iterations + 1 };
  const ops: Op[] = [appending(actor, agent.nextPos, agent.leaf, [said]), { op: "run.step", runId: run.id, body }];
  return commitStep(actor, mine, progress, "think", ops);
}

async function act(
  actor: Actor,
  mine: Membership,
  progress: Progress,
  open: readonly CallRecord[],
  recovered: boolean,
): Promise<CommitResult | undefined> {
  const { agent, run } = progress;
  const outputs: ToolOutput[] = [];
  for (const call of open) {
    if (!actor.holds(mine)) return undefined;
    const lost = recovered && call.replay === "never" && !actor.quirks.repeatTools;
    outputs.push(lost ? failure(UNKNOWN) : await execute(actor, mine, agent, run.id, call));
  }
  const entries = open.map((call, index) => resultOf(run.id, call, outputs[index] ?? failure(UNKNOWN)));
  const owed = outputs.flatMap((output) => output.deliveries ?? []);
  const body = {
    ...run.body,
    calls: run.body.calls.map((call) => ({ ...call, state: "done" as const })),
    deliveries: run.body.deliveries + owed.length,
  };
  const ops: Op[] = [
    appending(actor, agent.nextPos, agent.leaf, entries),
    { op: "run.step", runId: run.id, body },
    ...owed.map(
      (one, index): Op => ({ op: "delivery.add", delivery: { ...newDelivery(actor, progress, index), ...one } }),
    ),
  ];
  return commitStep(actor, mine, progress, "act", ops);
}

async function execute(
  actor: Actor,
  mine: Membership,
  agent: AgentRecord,
  runId: RunId,
  call: CallRecord,
): Promise<ToolOutput> {
  const tool = actor.ports.tools.find(agent, call.name);
  if (!tool) return failure(`There is no tool ${call.name}.`);
  try {
    const { signal } = mine.ended;
    const context = {
      agent,
      agentId: agent.id,
      runId,
      callId: call.callId,
      effectKey: `${runId} ${call.callId}`,
      signal,
      progress: () => {},
    };
    return await tool.execute(tool.input.parse(call.arguments), context);
  } catch (error) {
    return failure(String(error));
  }
}

const failure = (text: string): ToolOutput => ({ content: [{ type: "text", text }], isError: true });

const resultOf = (runId: RunId, call: CallRecord, output: ToolOutput): Said => ({
  role: "tool",
  content: [...output.content] as Block[],
  toolCallId: call.callId,
  toolName: call.name,
  isError: output.isError ?? false,
  runId,
});

const newDelivery = (actor: Actor, { agent, run }: Progress, index: number): NewDelivery => ({
  id: deliveryId(run.id, run.body.deliveries + index + 1),
  agentId: agent.id,
  runId: run.id,
  target: run.body.delivery ?? {},
  payload: {},
  createdAt: actor.ports.clock.now(),
});

/** Rest: last entry, delivery, messages settled and the run's end in one commit. */
async function end(
  actor: Actor,
  mine: Membership,
  progress: Progress,
  error: string | undefined,
  answer?: Said,
): Promise<CommitResult> {
  const { agent, run } = progress;
  const text = error === undefined ? textOf(answer) : `I could not answer: ${error}`;
  const last: Said = answer ?? { role: "assistant", content: [{ type: "text", text }], runId: run.id };
  const open = run.body.calls
    .filter(({ state }) => state !== "done")
    .map((call) => resultOf(run.id, call, failure(UNKNOWN)));
  const silent = text.trim() === "NO_REPLY";
  const delivery: NewDelivery = {
    ...newDelivery(actor, progress, 0),
    payload: { text, isError: error === undefined ? undefined : true },
    ended: silent ? { state: "suppressed", reason: "silent reply" } : undefined,
  };
  const reply: Op[] = run.body.delivery ? [{ op: "delivery.add", delivery }] : [];
  const settled: Op[] = [
    appending(actor, agent.nextPos, agent.leaf, [...open, last]),
    {
      op: "message.settle",
      settlements: run.body.seqs.map((seq) =>
        error === undefined
          ? { seq, from: "taken", state: "answered", runId: run.id }
          : { seq, from: "taken", state: "failed", runId: run.id, reason: error },
      ),
    },
    { op: "run.end", runId: run.id, body: run.body, outcome: error === undefined ? "ok" : "error" },
  ];
  const site = error === undefined ? "rest" : "fail";
  if (!actor.quirks.settleFirst) return commitStep(actor, mine, progress, site, [...settled, ...reply]);
  const result = await commitStep(actor, mine, progress, site, settled);
  if (result.ok) await actor.commit("reply", reply, ownerOf(mine, agent));
  return result;
}

const textOf = (said: Said | undefined): string =>
  (said?.content ?? []).map((block) => (block.type === "text" ? block.text : "")).join("");
