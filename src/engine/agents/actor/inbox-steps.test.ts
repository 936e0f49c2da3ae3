/** What an agent does with its inbox besides running: one commit each, with the answer, the trace and what others are told. */
import { describe, expect, it, test } from "vitest";
import { seededIds } from "../../../../test/kit/ids.ts";
import type { NewDelivery } from "../../../core/delivery/delivery.ts";
import type { Message, MessageBody } from "../../../core/message/message.ts";
import type { Op } from "../../../core/store/change.ts";
import type { Committing } from "../../runtime/agent-lease.ts";
import { answerQuestion, recordSilent, settle, settleStop, stoppedText } from "./inbox-steps.ts";

const DELIVERY = { channel: "test", to: "ann" };
const message = (body: MessageBody, more: Partial<Message> = {}): Message =>
  ({ agentId: "a1", seq: 4, id: "a1/4", acceptedAt: 100, body, delivery: DELIVERY, ...more }) as Message;
const POST: Op = {
  ...{ op: "message.post", to: { agentId: "p1" as never } },
  message: { body: { kind: "system", text: "done" }, acceptedAt: 1 },
} as never;

function world(more: object = {}) {
  const commits: Committing[] = [];
  const told: unknown[] = [];
  let fails = false;
  const record = { id: "a1", person: "ann", profile: "main", descriptor: { type: "user" }, state: {} };
  const lease = {
    ...{ agentId: "a1", node: 3, nextPos: 5, leaf: "e1", record, state: { verboseLevel: "off", updatedAt: 1 } },
    commit: async (committing: Committing) => {
      await new Promise((resolve) => setImmediate(resolve));
      commits.push(committing);
      if (fails) throw new TypeError("refused");
      const posted = committing.ops.map(({ op }) =>
        op === "message.post" ? { op, agentId: "p1", seq: 1 } : undefined,
      );
      return { ok: true, results: posted };
    },
  } as never;
  const ports = {
    ...{ ids: seededIds("steps"), clock: { now: () => 500 }, connectors: new Map([["test", { capabilities: {} }]]) },
    store: { runs: async () => [] },
    posted: (all: readonly unknown[]) => void told.push(...all.map(() => "posted")),
    onDeliveries: (all: readonly NewDelivery[]) => void told.push(...all.map(({ payload }) => payload.text)),
    onAddedOps: (ops: readonly Op[]) => void told.push(`added ${ops.length}`),
    onToolOps: (ops: readonly Op[]) => void told.push(`ops ${ops.length}`),
    ...more,
  } as never;
  const failing = (): void => {
    fails = true;
  };
  return { ports, lease, commits, told, failing };
}
const kinds = (commit: Committing | undefined): string[] => (commit?.ops ?? []).map(({ op }) => op);
const settled = (commit: Committing | undefined): unknown => {
  const op = commit?.ops.find((one) => one.op === "message.settle");
  return op?.op === "message.settle" ? op.settlements : undefined;
};

describe("messages that get no run", () => {
  const two = [message({ kind: "user", text: "a" }), message({ kind: "user", text: "b" }, { seq: 5 })];

  it("are settled in one commit with what is owed to a requester, claimed for this node", async () => {
    const { ports, lease, commits, told } = world({ opsOnSettle: async () => [POST] });
    await settle(ports, lease, "settle", two, "aborted", "because");
    expect(commits.map(({ site }) => site)).toEqual(["settle"]);
    expect(settled(commits[0])).toEqual(
      [4, 5].map((seq) => ({ seq, from: "waiting", state: "aborted", reason: "because" })),
    );
    expect(commits[0]?.ops[1]).toMatchObject({
      op: "message.post",
      claimFor: 3,
      message: { behalf: { person: "ann" } },
    });
    expect(told).toEqual(["posted", "added 1"]);
  });

  it("are told to no one if the commit was refused", async () => {
    const { ports, lease, told, failing } = world({ opsOnSettle: async () => [POST] });
    failing();
    await expect(settle(ports, lease, "settle", two, "aborted", "because")).rejects.toThrow("refused");
    expect(told).toEqual([]);
  });

  it("are written to history if they are silent, with who has spoken", async () => {
    const { ports, lease, commits } = world();
    const note = message({ kind: "system", text: "psst", silent: true }, { behalf: { person: "eve" as never } });
    await recordSilent(ports, lease, [note]);
    expect(settled(commits[0])).toEqual([{ seq: 4, from: "waiting", state: "recorded", reason: "silent" }]);
    expect(commits[0]?.append?.entries).toHaveLength(1);
    expect(commits[0]?.state).toMatchObject({ speakers: ["eve"], verboseLevel: "off" });
  });
});

describe("the answer to a stop", () => {
  const ended = (endedAt: number, outcome = "aborted") => ({ runs: async () => [{ id: "r9", outcome, endedAt }] });
  test.each<[string, object, number, string, string]>([
    ["that ended a run", ended(100), 0, stoppedText(0), "stopped run r9"],
    [
      "that ended a run and two children",
      ended(200),
      2,
      "⚙️ Agent was aborted. Stopped 2 sub-agents.",
      "stopped run r9",
    ],
    ["that ended only a child", ended(99), 1, "⚙️ Agent was aborted. Stopped 1 sub-agent.", "no run to stop"],
    ["after a run that was aborted before", ended(99), 0, "No active inference to stop.", "no run to stop"],
    ["after a run that ended well", ended(200, "ok"), 0, "No active inference to stop.", "no run to stop"],
    ["without any run", { runs: async () => [] }, 0, "No active inference to stop.", "no run to stop"],
  ])("%s says so", async (_title, store, stopped, text, reason) => {
    const stopChildren = async () => ({ ops: stopped > 0 ? [POST] : [], stopped });
    const { ports, lease, commits, told } = world({ store, stopChildren });
    await settleStop(ports, lease, message({ kind: "stop" }));
    const also = stopped > 0 ? ["message.post"] : [];
    expect(kinds(commits[0])).toEqual(["delivery.add", "message.settle", ...also]);
    expect(settled(commits[0])).toEqual([{ seq: 4, from: "waiting", state: "recorded", reason }]);
    expect(told).toEqual([text, ...also.map(() => "posted")]);
    if (stopped > 0) expect(commits[0]?.ops.at(-1)).toMatchObject({ claimFor: 3 });
  });
});

describe("a command", () => {
  const command = message({ kind: "command", name: "think", text: "high" });

  it("changes the state and answers in one commit, under the rights it was decided by", async () => {
    const answerCommand = async () => ({ text: "yes", patch: { verboseLevel: "on" }, ops: [POST], rights: 8 });
    const { ports, lease, commits, told } = world({ answerCommand });
    await answerQuestion(ports, lease, command);
    expect(kinds(commits[0])).toEqual(["delivery.add", "message.settle", "message.post"]);
    expect(commits[0]).toMatchObject({ site: "command", rights: 8, state: { verboseLevel: "on", updatedAt: 500 } });
    expect(settled(commits[0])).toMatchObject([{ reason: "answered /think" }]);
    expect(told).toEqual(["yes", "posted", "ops 1"]);
  });

  it("that only shows something changes no state", async () => {
    const { ports, lease, commits, told } = world({ answerCommand: async () => ({ text: "shown" }) });
    await answerQuestion(ports, lease, command);
    expect([kinds(commits[0]), commits[0]?.state, told]).toEqual([
      ["delivery.add", "message.settle"],
      undefined,
      ["shown"],
    ]);
  });

  it("of a sender without an address is answered by its trace", async () => {
    const { ports, lease, commits, told } = world({ answerCommand: async () => ({ text: "shown" }) });
    await answerQuestion(ports, lease, { ...command, delivery: undefined });
    expect([kinds(commits[0]), told]).toEqual([["message.settle"], []]);
    expect(settled(commits[0])).toMatchObject([{ reason: "shown" }]);
  });

  it("is answered also where there are no commands, and no children", async () => {
    const { ports, lease, told } = world();
    await answerQuestion(ports, lease, command);
    await answerQuestion(ports, lease, message({ kind: "subagents", command: "list" }));
    expect(told).toEqual(["⚙️ There are no commands here.", "No children."]);
  });

  it("about children has their answer and its changes", async () => {
    const aboutChildren = async (_agent: unknown, asked: string) => ({ text: `children: ${asked}`, ops: [POST] });
    const { ports, lease, commits, told } = world({ aboutChildren });
    await answerQuestion(ports, lease, message({ kind: "subagents", command: "kill all" }));
    expect(commits[0]).toMatchObject({ site: "subagents" });
    expect(settled(commits[0])).toMatchObject([{ reason: "answered about children" }]);
    expect([kinds(commits[0]).at(-1), told]).toEqual(["message.post", ["children: kill all", "posted"]]);
  });

  it("is nothing else: another message is left alone", async () => {
    const { ports, lease, commits } = world();
    await answerQuestion(ports, lease, message({ kind: "user", text: "hi" }));
    expect(commits).toEqual([]);
  });
});
