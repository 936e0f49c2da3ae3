/** Who a run acts for and what it may not forget: people on its way, marks of untrusted text, questions that wait. One table each. */
import { describe, expect, test } from "vitest";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { MessageBody } from "../../core/message/message.ts";
import type { Behalf } from "../../core/people/behalf.ts";
import { OWNER, type PersonId } from "../../core/people/person.ts";
import type { RunBody } from "../../core/run/run.ts";
import type { Op } from "../../core/store/change.ts";
import { onBehalf } from "./on-behalf.ts";
import {
  answerText,
  askOp,
  choiceButtons,
  isAskedAt,
  isTooOld,
  openQuestion,
  QUESTION_MS,
  questionIdOf,
} from "./open-question.ts";
import { noOne, runBehalf, sessionBehalf, withHeard, withSpeakers } from "./run-behalf.ts";
import { isMarkedPrompt, isUntrustedMessage, markedBody, markedState, untrustedSource } from "./untrusted.ts";

const [ANN, BOB, EVE] = ["ann", "bob", "eve"] as unknown as [PersonId, PersonId, PersonId];
const GROUP = "telegram:group:-1" as PersonId;
const marked: Behalf = { person: ANN, untrusted: true };
const childId = "c".repeat(24) as AgentId;

describe("who a run acts for", () => {
  const own = { own: ANN, state: {} };
  test.each<[string, Parameters<typeof runBehalf>, Behalf]>([
    ["the agent's own person, if it begins by itself", [own, []], { person: ANN }],
    ["the person of its messages", [own, [{ behalf: { person: BOB } }]], { person: BOB, through: [ANN] }],
    ["the agent's own, for a message that names no one", [own, [{}]], { person: ANN }],
    [
      "the person of the last one",
      [own, [{ behalf: { person: EVE } }, { behalf: { person: BOB } }]],
      { person: BOB, through: [ANN, EVE] },
    ],
    [
      "the one it acted for before it took more, with everyone of then on its way",
      [own, [{ behalf: { person: BOB } }], { person: EVE, through: [OWNER], untrusted: true }],
      { person: EVE, through: [ANN, BOB, OWNER], untrusted: true },
    ],
    [
      "one member of a group, and not the group",
      [{ own: GROUP, state: {} }, [{ behalf: { person: BOB } }]],
      { person: BOB },
    ],
    ["with everyone who has spoken", [{ own: ANN, state: { speakers: ["eve"] } }, []], { person: ANN, through: [EVE] }],
    ["with the mark of its session", [{ own: ANN, state: { untrusted: true } }, []], { person: ANN, untrusted: true }],
    [
      "with the mark it was made with",
      [{ own: ANN, state: { madeUntrusted: true } }, []],
      { person: ANN, untrusted: true },
    ],
    [
      "with the mark of one of its messages",
      [own, [{ behalf: marked }, { behalf: { person: ANN } }]],
      { person: ANN, untrusted: true },
    ],
  ])("%s", (_title, given, behalf) => {
    expect(runBehalf(...given)).toEqual(behalf);
  });

  test("those whose words it has read are on its way from then on", () => {
    expect(withHeard({ person: ANN }, [{ person: BOB }])).toEqual({ person: ANN, through: [BOB] });
    const before = { person: ANN };
    expect(withHeard(before, [])).toBe(before);
    expect(withHeard(undefined, [{ person: BOB }])).toBeUndefined();
  });

  test("an agent without a person belongs to no one", () => {
    const agent = { id: childId, state: { speakers: ["bob"] } } as unknown as AgentRecord;
    expect(sessionBehalf(agent)).toEqual({ person: noOne(agent), through: [BOB] });
    expect(sessionBehalf({ ...agent, person: ANN })).toEqual({ person: ANN, through: [BOB] });
  });
});

describe("a session remembers who has spoken", () => {
  const kept = { label: "x", speakers: ["bob"] };
  test.each<[string, object, Behalf[], object | undefined]>([
    ["someone new", kept, [{ person: EVE }], { label: "x", speakers: ["bob", "eve"] }],
    [
      "everyone on the way",
      kept,
      [{ person: ANN, through: [EVE] }],
      { label: "x", speakers: ["bob", "eve"], untrusted: true },
    ],
    ["no one who is known", kept, [{ person: BOB }], undefined],
    ["not its own person", kept, [{ person: ANN }], undefined],
    ["no one, and no change", { label: "x" }, [], undefined],
    ["the mark alone", kept, [marked], { label: "x", speakers: ["bob"], untrusted: true }],
    ["the mark only once", { ...kept, untrusted: true }, [marked], undefined],
  ])("%s", (_title, state, behalfs, after) => {
    expect(
      withSpeakers(
        ANN,
        state as never,
        behalfs.map((behalf) => ({ behalf })),
      ),
    ).toEqual(after);
  });

  test("in order, also if one replaces another", () => {
    const many = Array.from({ length: 32 }, (_, n) => `p${String(n + 10)}`);
    const after = withSpeakers(ANN, { speakers: many } as never, [{ behalf: { person: "a0" as PersonId } }]);
    expect(after).toMatchObject({ speakers: expect.arrayContaining(["crowd:*", "a0"]) });
  });
});

describe("text that the run's person did not write", () => {
  const hook: MessageBody = { kind: "trigger", text: "x", trigger: { type: "webhook", id: "h" } };
  const cron: MessageBody = { kind: "trigger", text: "x", trigger: { type: "cron", id: "j" } };
  test.each<[string, MessageBody, string | undefined]>([
    ["of a person", { kind: "user", text: "x", sender: { id: "7" } }, "sender:7"],
    ["of no one by name", { kind: "user", text: "x" }, "message"],
    ["of an agent", { kind: "system", text: "x", origin: "a1" }, "agent:a1"],
    ["of the system", { kind: "system", text: "x" }, "system"],
    ["of a child", { kind: "report", text: "x", childId, childRunId: "r" as RunId }, `agent:${childId}`],
    ["of a hook", hook, "webhook:h"],
    ["of a schedule", cron, "cron:j"],
    ["of a reset", { kind: "reset", by: "person" }, "message"],
    ["of a branch", { kind: "branch", entryId: "e" }, "message"],
    ["of a description", { kind: "describe", by: "x", description: "d", systemPrompt: "s" }, "message"],
    ["of a setting", { kind: "setting" }, undefined],
    ["of a stop", { kind: "stop" }, undefined],
    ["about children", { kind: "subagents", command: "list" }, undefined],
    ["of a command", { kind: "command", name: "status", text: "" }, undefined],
    ["of a restoration", { kind: "restore" }, undefined],
    ["of a compaction", { kind: "compact" }, undefined],
    ["of an answer", { kind: "permission", runId: "r" as RunId, callId: "c", approved: true }, undefined],
  ])("%s", (_title, body, from) => {
    expect(untrustedSource({ body, behalf: marked })).toEqual(from && { from });
    if (body !== hook) expect(untrustedSource({ body, behalf: { person: ANN } })).toBeUndefined();
  });

  test("is that of a hook in any case, and not that of a schedule", () => {
    expect(isUntrustedMessage({ body: hook })).toBe(true);
    expect(isUntrustedMessage({ body: cron })).toBe(false);
    expect(isUntrustedMessage({})).toBe(false);
    expect(isUntrustedMessage({ behalf: { person: ANN, through: [BOB] } })).toBe(true);
  });

  test("marks a state and a run once", () => {
    const state = { untrusted: undefined, label: "x" };
    expect(markedState(state, true)).toEqual({ untrusted: true, label: "x" });
    expect(markedState(state, false)).toBeUndefined();
    expect(markedState({ untrusted: true }, true)).toBeUndefined();
    const body = { behalf: { person: ANN, through: [BOB] }, seqs: [1] } as unknown as RunBody;
    expect(markedBody(body)).toEqual({ behalf: { person: ANN, through: [BOB], untrusted: true }, seqs: [1] });
    expect(markedBody(body, false)).toBe(body);
    const already = { behalf: marked } as unknown as RunBody;
    expect(markedBody(already)).toBe(already);
    const none = {} as RunBody;
    expect(markedBody(none)).toBe(none);
  });

  test("may be in one part of a prompt", () => {
    const report = (...marks: (boolean | undefined)[]) =>
      ({ parts: marks.map((untrusted) => ({ untrusted })) }) as never;
    expect(isMarkedPrompt(report(undefined, true))).toBe(true);
    expect(isMarkedPrompt(report(undefined, false))).toBe(false);
    expect(isMarkedPrompt(undefined)).toBe(false);
  });
});

describe("what a run commits carries its people", () => {
  const acting = { agent: { id: childId, person: ANN }, behalf: { person: BOB, untrusted: true } as Behalf };
  const on = (op: object, by: object = acting): Op => onBehalf(by as never, [op as Op])[0] as Op;
  test("a delivery is for the person of the run, unless it names another", () => {
    const delivery = { id: "d", agentId: childId, target: { to: "7" }, payload: { text: "hi" }, createdAt: 1 };
    const op = { op: "delivery.add", delivery, more: 1 };
    expect(on(op)).toEqual({ ...op, delivery: { ...delivery, payload: { text: "hi", person: BOB } } });
    const named = { ...op, delivery: { ...delivery, payload: { text: "hi", person: EVE } } };
    expect(on(named)).toEqual(named);
  });
  test("a new child's record has its people, a changed one keeps its own", () => {
    const op = { op: "subagent.put", record: { id: "s" } };
    expect(on(op)).toEqual({ ...op, record: { id: "s", behalf: acting.behalf } });
    expect(on({ ...op, expect: 1 })).toEqual({ ...op, expect: 1 });
  });
  test("an agent is marked, keeps its state, and belongs to the person it names", () => {
    const seed = { descriptor: { type: "cron", id: "c" }, state: { label: "x" }, person: EVE };
    expect(on({ op: "agent.create", seed })).toEqual({
      op: "agent.create",
      seed: { ...seed, state: { label: "x", madeUntrusted: true } },
    });
    const plain = { ...acting, behalf: { person: BOB } };
    expect(on({ op: "agent.create", seed }, plain)).toEqual({ op: "agent.create", seed });
    const child = { descriptor: { type: "subagent", id: "s", parentAgentId: childId, name: "n" }, state: {} };
    expect(on({ op: "agent.create", seed: child }, { ...plain, agent: { id: childId } })).toMatchObject({
      seed: { person: BOB },
    });
  });
  test("a message to an agent that exists stays as it is addressed", () => {
    const op = { op: "message.post", to: { agentId: childId }, message: { body: { kind: "stop" }, acceptedAt: 1 } };
    expect(on(op)).toEqual({ ...op, message: { ...op.message, behalf: acting.behalf } });
    const found = { ...op, to: { sessionKey: "k", create: undefined } };
    expect(on(found)).toMatchObject({ to: { sessionKey: "k", create: undefined } });
  });
  test("anything else is as it was", () => {
    const op = { op: "fact.put", key: "k", value: "v" };
    expect(on(op)).toBe(op);
  });
});

describe("a question that waits for half a year", () => {
  const question = {
    ...{ agentId: childId, question: "Tea\nor coffee?", choices: ["Tea", "x".repeat(65)] },
    ...{ target: { channel: "telegram", to: "7", threadId: 3 }, askedAt: 1_999 },
  };
  test("has the same id for a repeated call", () => {
    expect(questionIdOf("r", "c")).toMatch(/^[0-9a-f]{24}$/);
    expect(questionIdOf("r", "c")).toBe(questionIdOf("r", "c"));
    expect(questionIdOf("r", "c")).not.toBe(questionIdOf("rc", ""));
  });
  test("has a button for each choice, which says when it was asked", () => {
    expect(choiceButtons("q1", question)).toEqual([
      { label: "Tea", token: "q:q1:0:1" },
      { label: "x".repeat(64), token: "q:q1:1:1" },
    ]);
    expect(choiceButtons("q1", { ...question, askedAt: 36_000_000 })[0]?.token).toBe(`q:q1:0:${(36_000).toString(36)}`);
  });
  test("is too old afterwards", () => {
    const asked = 1_700_000_000;
    const token = asked.toString(36);
    expect(QUESTION_MS).toBe(180 * 86_400_000);
    expect(isTooOld(token, asked * 1000 + QUESTION_MS)).toBe(false);
    expect(isTooOld(token, asked * 1000 + QUESTION_MS + 1)).toBe(true);
    // What is no time says nothing.
    for (const text of ["", "!", "z".repeat(9), "Z"]) expect(isTooOld(text, 1e15)).toBe(false);
  });
  test("is read until it is answered, and the answer expects it unchanged", async () => {
    const op = askOp("q1", question);
    if (op.op !== "fact.put" || op.value === null) throw new TypeError("no fact");
    const fact = async (key: string) => (key === op.key ? (op.value ?? undefined) : undefined);
    expect(await openQuestion({ fact }, "q1")).toEqual({
      question,
      answered: { op: "fact.put", key: op.key, value: null, expect: op.value },
    });
    expect(await openQuestion({ fact }, "q2")).toBeUndefined();
    expect(await openQuestion({ fact: async () => "{}" }, "q1")).toBeUndefined();
  });
  test("is answered where it was asked, in any thread of it", () => {
    expect(isAskedAt(question, { channel: "telegram", to: "7" })).toBe(true);
    expect(isAskedAt(question, { channel: "telegram", to: "7", threadId: 9 })).toBe(true);
    expect(isAskedAt(question, { channel: "telegram", to: "8", threadId: 3 })).toBe(false);
    expect(isAskedAt(question, { channel: "irc", to: "7" })).toBe(false);
    expect(answerText(question, "Tea")).toBe('[Answer to your question "Tea or coffee?"] Tea');
    expect(answerText({ ...question, question: "y".repeat(301) }, "x")).toBe(
      `[Answer to your question "${"y".repeat(300)}"] x`,
    );
  });
});
