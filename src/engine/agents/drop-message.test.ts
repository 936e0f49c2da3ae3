/** Drops a waiting message for a person, reports its end, and refuses other messages. */
import { expect, it, test } from "vitest";
import { TestEngine, type TestEngineOptions } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { type Reply, stall } from "../../../test/kit/model.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import { type Message, type MessageBody, messageText } from "../../core/message/message.ts";
import type { Op } from "../../core/store/change.ts";
import { accepted, commit } from "./agent-system.test-kit.ts";

const BY = { person: "olga", surface: "cli" };

/** An agent at work, with messages that wait. */
async function busy(bodies: readonly MessageBody[], options: TestEngineOptions = {}) {
  const hold = gate<Reply>();
  const engine = await TestEngine.open({ script: (call) => stall(call, hold.promise), ...options });
  const { agentId } = accepted(await engine.tell("one"));
  for (const body of bodies) await engine.send(body);
  await engine.settle();
  return { engine, hold, agentId };
}

test.each<MessageBody>([
  { kind: "user", text: "two" },
  { kind: "system", text: "two" },
  { kind: "trigger", text: "two", trigger: { type: "webhook", id: "h" } },
  { kind: "report", text: "two", childId: "c".repeat(24) as AgentId, childRunId: "r" as RunId },
  { kind: "setting", patch: { label: "x" } },
  { kind: "branch", entryId: "none" },
  { kind: "compact" },
  { kind: "command", name: "think", text: "low", inTurn: true },
])("settles a waiting message of kind $kind and writes it to the audit log", async (body) => {
  const { engine, hold, agentId } = await busy([body, { kind: "user", text: "three" }]);
  const wait = engine.system.waitForMessage({ agentId, seq: 2 }, 60_000);
  let made: Message | undefined;
  const also = (message: Message): readonly Op[] => {
    made = message;
    return [{ op: "fact.put", key: "dropped", value: "1" }];
  };
  const dropped = await engine.system.dropMessage({ agentId, seq: 2, by: BY, also });
  const settledAt = engine.clock.now();
  expect(dropped).toMatchObject({ seq: 2, state: "dropped", reason: "dropped by olga", settledAt });
  expect([made, await engine.store.fact("dropped")]).toEqual([dropped, "1"]);
  const [entry] = await engine.store.audit({ limit: 1 });
  expect(entry).toMatchObject({ action: "message.drop", target: dropped.id, agentId });
  expect(await wait).toMatchObject({ result: undefined });
  hold.open("done");
  await engine.settle();
  expect(await engine.states()).toEqual(["answered", "dropped", "answered"]);
});

it("posts the end for the message's person to the agent that waits for it, and wakes that agent", async () => {
  const requester: { id?: AgentId } = {};
  const { engine, agentId } = await busy([{ kind: "user", text: "two" }], {
    system: {
      hooks: {
        opsOnSettle: async (_agent, messages, { reason }) => {
          const text = `${messages.map(({ body }) => messageText(body)).join()} ${reason}`;
          const message = { body: { kind: "system", text }, acceptedAt: 1 } as const;
          return requester.id ? [{ op: "message.post", to: { agentId: requester.id }, message }] : [];
        },
      },
    },
  });
  engine.script = () => "noted";
  requester.id = accepted(await engine.tell("hi", { name: "bob" })).agentId;
  await engine.system.dropMessage({ agentId, seq: 2, by: BY });
  await engine.settle();
  const [report] = await engine.store.messages(requester.id, { limit: 1 });
  expect(report).toMatchObject({ state: "answered", behalf: { person: "test:ann" } });
  expect((await engine.transcript(requester.id)).join()).toContain("two dropped by olga");
});

it("refuses a message that does not wait, and changes nothing", async () => {
  const { engine, hold, agentId } = await busy([
    { kind: "user", text: "two" },
    { kind: "user", text: "three" },
  ]);
  const drop = (seq: number, id = agentId) => engine.system.dropMessage({ agentId: id, seq, by: BY });
  await expect(drop(1)).rejects.toMatchObject({ code: "conflict", hint: "A run works on it. You can stop the run." });
  await expect(drop(9)).rejects.toMatchObject({ code: "not_found" });
  await expect(drop(1, "x".repeat(24) as AgentId)).rejects.toMatchObject({ code: "not_found" });
  await drop(3);
  await expect(drop(3)).rejects.toThrow("Message 3 is dropped: dropped by olga.");
  hold.open("done");
  await engine.settle();
  const late = { code: "conflict", message: "Message 1 is answered.", hint: "Nothing was changed." };
  await expect(drop(1)).rejects.toMatchObject(late);
  expect(await engine.store.audit({ limit: 9 })).toHaveLength(1);
});

it("refuses a message that another drop settles in the meantime", async () => {
  const { engine, agentId } = await busy([{ kind: "user", text: "two" }]);
  engine.onCommit = ({ site }) => {
    if (site === "inbox.drop") {
      void commit(engine, { op: "message.drop", agentId, seq: 2, reason: "cap" });
    }
    return "go";
  };
  const dropped = engine.system.dropMessage({ agentId, seq: 2, by: BY });
  await expect(dropped).rejects.toMatchObject({ code: "conflict", message: "Message 2 is dropped: cap." });
});

it("needs a node that has joined the store", async () => {
  const { system } = TestEngine.unloaded();
  const dropped = system.dropMessage({ agentId: "a" as AgentId, seq: 1, by: BY });
  await expect(dropped).rejects.toThrow("must load before");
});
