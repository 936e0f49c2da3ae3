/** How a stopped agent empties its inbox: which messages it settles, and when it starts again (M20). */
import { describe, expect, it, test } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import type { StopMark } from "../../../core/agent/agent.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { MessageBody } from "../../../core/message/message.ts";
import type { Op } from "../../../core/store/change.ts";

const USER: MessageBody = { kind: "user", text: "hi" };
const NOTE: MessageBody = { kind: "system", text: "psst", silent: true };
const LOUD: MessageBody = { kind: "system", text: "tick" };
const REPORT: MessageBody = { kind: "report", text: "done", childId: "c1" as AgentId, childRunId: "r1" as RunId };
const STOP: MessageBody = { kind: "stop" };
const SETTING: MessageBody = { kind: "setting", patch: { verboseLevel: "on" } };
const COMPACT: MessageBody = { kind: "compact" };
const PERMISSION: MessageBody = { kind: "permission", runId: "r1" as RunId, callId: "c", approved: true };
const TRIGGER: MessageBody = { kind: "trigger", text: "job", trigger: { type: "cron", id: "j" } };

interface Given {
  /** Messages before and after the stop. */
  readonly before?: readonly MessageBody[];
  readonly after?: readonly MessageBody[];
  readonly mark?: Partial<StopMark>;
  /** The stopped agent. Default: the one that has the messages. */
  readonly stopped?: "parent";
  /** The agent that has the messages. Default: a person's. */
  readonly of?: "subagent";
}

/** Stops an agent while no process runs, and lets the next process drain its inbox. */
async function drained({ before = [], after = [], mark, stopped, of }: Given) {
  const engine = await TestEngine.open();
  await engine.tell("first");
  const parent = await engine.agentId();
  let agentId = parent;
  if (of === "subagent") {
    const descriptor = { type: "subagent", id: "kid", parentAgentId: parent, name: "kid" } as const;
    const posted = await engine.system.post({ to: { descriptor }, body: USER });
    if (posted.status !== "stale") agentId = posted.agentId;
    await engine.settle();
  }
  await engine.drain();
  const at = engine.clock.now();
  const post = (body: MessageBody): Op => ({ op: "message.post", to: { agentId }, message: { body, acceptedAt: at } });
  const stop: Op = {
    ...{ op: "agent.stop", agentId: stopped === "parent" ? parent : agentId },
    mark: { at, reason: "enough", ...mark },
  };
  await engine.put(...before.map(post), stop, ...after.map(post));
  const requests = engine.requests.length;
  await engine.restart();
  const messages = (await engine.store.messages(agentId, { limit: 99 })).toReversed().slice(1);
  return { engine, agentId, parent, messages, ran: engine.requests.length - requests };
}

test.each<[string, Given, readonly string[], number]>([
  ["aborts a message that came before the stop", { before: [USER] }, ["aborted"], 0],
  ["starts again with a person's message after it", { after: [USER] }, ["answered"], 1],
  ["aborts the earlier ones before it starts again", { before: [LOUD], after: [USER] }, ["aborted", "answered"], 1],
  ["does not start again for other messages", { before: [USER], after: [LOUD] }, ["aborted", "aborted"], 0],
  ["aborts whatever needs a run", { before: [COMPACT, TRIGGER, PERMISSION] }, Array(3).fill("aborted"), 0],
  [
    "keeps reports and silent notes in history",
    { before: [LOUD, REPORT, NOTE] },
    ["aborted", "recorded", "recorded"],
    0,
  ],
  ["carries out commands", { before: [SETTING, STOP] }, ["recorded", "recorded"], 0],
  ["never starts a subagent again", { of: "subagent", after: [USER] }, ["aborted"], 0],
  ["stops a child with its parent", { of: "subagent", stopped: "parent", after: [USER] }, ["aborted"], 0],
  [
    "only stops the child of a parent that is being removed",
    { of: "subagent", stopped: "parent", mark: { removing: true }, after: [USER, SETTING] },
    ...([["aborted", "recorded"], 0] as const),
  ],
  [
    "settles everything before a removal",
    { mark: { removing: true }, before: [USER], after: [STOP, SETTING, NOTE] },
    ...([["removed", "recorded", "removed", "removed"], 0] as const),
  ],
])("%s", async (_title, given, states, runs) => {
  const { engine, agentId, messages, ran } = await drained(given);
  expect([messages.map(({ state }) => state), ran]).toEqual([states, runs]);
  const { stopped } = await engine.agent(agentId);
  if (given.mark?.removing && !given.of) expect(stopped).toMatchObject({ removed: true });
  else expect(stopped === undefined).toBe(ran > 0 || given.stopped === "parent");
});

describe("the trace of a stop", () => {
  test.each<[string, Given, "own" | "parent", string]>([
    ["of its own", { before: [USER, REPORT] }, "own", "was stopped: enough"],
    ["of its parent", { of: "subagent", stopped: "parent", after: [USER] }, "parent", "was stopped: enough"],
    [
      "of a removal",
      { mark: { removing: true, reason: "removed by ann" }, before: [USER] },
      "own",
      "was removed by ann",
    ],
  ])("says which agent was stopped and the reason %s", async (_title, given, whose, text) => {
    const { messages } = await drained(given);
    const reason = `${whose === "own" ? "the agent" : "the agent that started it"} ${text}`;
    expect(messages.map((message) => message.reason)).toEqual(messages.map(() => reason));
  });
});

it("settles everything before the stop of a removal, if the agent is still in memory", async () => {
  const engine = await TestEngine.open({ system: { pollMs: 1_000 } });
  await engine.tell("first");
  const agentId = await engine.agentId();
  const at = engine.clock.now();
  const post = (body: MessageBody): Op => ({
    ...{ op: "message.post", to: { agentId } },
    message: { body, acceptedAt: at, delivery: { channel: "test", to: "ann" } },
  });
  const mark = { at, reason: "removed by ann", removing: true } as const;
  await engine.put(post(USER), { op: "agent.stop", agentId, mark }, post(STOP));
  await engine.advance(3_000);
  expect(await engine.states(agentId)).toEqual(["answered", "removed", "recorded"]);
  // The stop belongs to the removal: it gets no answer of its own.
  expect(engine.shown()).toEqual(["answer to first"]);
});

it("does not take back a stop that is newer than the one it has read", async () => {
  const engine = await TestEngine.open();
  await engine.tell("first");
  const agentId = await engine.agentId();
  const stop = (): Promise<unknown> => engine.system.lifecycle.stop(agentId, "enough");
  await stop();
  await engine.settle();
  engine.at("start-again", () => {
    const mark = { at: engine.clock.now(), reason: "really" };
    return engine.put({ op: "agent.stop", agentId, mark });
  });
  await engine.tell("back");
  await engine.advance(1_000);
  expect((await engine.agent()).stopped).toMatchObject({ reason: "really" });
  expect(engine.shown()).toEqual(["answer to first"]);
  expect((await engine.states()).at(-1)).toBe("aborted");
});
