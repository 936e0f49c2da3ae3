/** Questions that end without an answer: who withdraws them, and which notice their person gets (M31, M44). */
import { describe, expect, it, test } from "vitest";
import { channel } from "../../../test/kit/channel.ts";
import { TestEngine } from "../../../test/kit/engine.ts";
import { toolHost } from "../../../test/kit/tools.ts";
import { withdrawApprovalTool } from "../../adapters/tools/agents/withdraw-approval.ts";
import type { SendingClass } from "../../core/delivery/delivery.ts";
import { OWNER } from "../../core/people/person.ts";
import type { SendResult } from "../../core/ports/connector.ts";
import type { Tool } from "../../core/ports/tool.ts";

/** "go N" leads to a call that the owner is asked about in one chat, "withdraw N" to the tool; anything else is repeated. */
async function open(sendingClass: SendingClass = "idempotent") {
  const chat = channel("test", sendingClass);
  const engine: TestEngine = await TestEngine.open({
    channels: [chat],
    script: ({ request }) => {
      const last = request.messages.at(-1);
      const text = last?.content.map((block) => (block.type === "text" ? block.text : "")).join("") ?? "";
      const [, word, n] = (last?.role === "user" && /^(?:<system_message>)?(go|withdraw) (\w+)/.exec(text)) || [];
      if (word === "go") return { call: [{ name: "exec", with: { n } }] };
      if (word === "withdraw") return { call: [{ name: "withdraw_approval", with: { approval: n } }] };
      return `saw ${text}`;
    },
    tools: { exec: { rights: ["exec"], replay: "never" } },
    host: (tools) =>
      toolHost([...tools, withdrawApprovalTool({ store: { approval: (id) => engine.store.approval(id) } }) as Tool]),
    system: { rights: {} },
    settings: { owner: { accounts: ["ann", "owner", "side", "other", "one", "two"].map((name) => `test:${name}`) } },
  });
  await engine.put({
    op: "person.put",
    person: { id: OWNER, role: "owner", accounts: [], grants: [{ ask: "exec" }], createdAt: 1, createdBy: "owner" },
  });
  return { engine, chat };
}

const tell = async (engine: TestEngine, text: string, name = "side"): Promise<void> => {
  await engine.send({ kind: "user", text }, { name, delivery: { channel: "test", to: "owner" } });
  await engine.settle();
};
const rows = async (engine: TestEngine) => engine.store.approvals({ limit: 100 });
const states = async (engine: TestEngine): Promise<string[]> => (await rows(engine)).map(({ state }) => state);
const notices = (engine: TestEngine): string[] => engine.shown().filter((text) => text.includes("no longer needed"));
const questions = (engine: TestEngine): string[] => engine.shown().filter((text) => text.includes("is needed."));
async function answer(engine: TestEngine, approve: boolean): Promise<void> {
  const [asked] = await rows(engine);
  if (asked) await engine.system.approvals.decide(asked.id, { approve }, { person: OWNER, surface: "test" });
}
async function remove(engine: TestEngine): Promise<void> {
  const removed = engine.system.lifecycle.remove(await engine.agentId("side"), "gone");
  await engine.advance(1_000);
  await removed;
}
async function abort(engine: TestEngine): Promise<void> {
  const [asked] = await rows(engine);
  if (asked) await engine.system.runs.abort(asked.runId);
}

describe("a question that may have arrived", () => {
  test.each<[string, (engine: TestEngine) => Promise<unknown>, string]>([
    ["a stop", async (engine) => engine.system.lifecycle.stop(await engine.agentId("side")), "stopped by a person"],
    ["a reset", (engine) => engine.send({ kind: "reset", by: "person" }, { name: "side" }), "the session was reset"],
    ["an abort", abort, "the run was aborted"],
    ["a removal", remove, "gone"],
  ])("is withdrawn by %s, and its person gets one notice", async (_, act, reason) => {
    const { engine } = await open();
    await tell(engine, "go 1");
    const [asked] = await rows(engine);
    expect(asked).toMatchObject({ state: "pending", shown: 1 });
    await act(engine);
    await engine.settle();
    expect(await states(engine)).toEqual(["withdrawn"]);
    expect(notices(engine)).toEqual([`Approval ${asked?.id} for exec is no longer needed: ${reason}.`]);
    await engine.reboot();
    await engine.advance(3600_000);
    expect(notices(engine)).toHaveLength(1);
  });

  it("is withdrawn with an idle agent whose conversation has moved on", async () => {
    const { engine } = await open();
    await tell(engine, "go 1");
    await tell(engine, "hello");
    expect(await states(engine)).toEqual(["pending"]);
    await engine.system.lifecycle.removeIdle(await engine.agentId("side"));
    await engine.settle();
    expect(await states(engine)).toEqual(["withdrawn"]);
    expect(notices(engine)).toHaveLength(1);
  });

  it("has its notice after a crash between the withdrawal and the notice", async () => {
    const { engine } = await open();
    await tell(engine, "go 1");
    engine.at("approval.told", () => engine.crash());
    await engine.system.lifecycle.stop(await engine.agentId("side")).catch(() => {});
    await engine.settle();
    expect(notices(engine)).toEqual([]);
    await engine.reboot();
    await engine.settle();
    expect(notices(engine)).toHaveLength(1);
  });

  it("gets its notice when it arrives after it was withdrawn", async () => {
    const { engine, chat } = await open("ambiguous");
    let arrive: (result: SendResult) => void = () => {};
    chat.sending = ({ payload }) =>
      payload.text?.includes("is needed.") ? new Promise((resolve) => (arrive = resolve)) : { status: "sent" };
    await tell(engine, "go 1");
    await engine.system.lifecycle.stop(await engine.agentId("side"));
    await engine.settle();
    expect([await states(engine), notices(engine)]).toEqual([["withdrawn"], []]);
    arrive({ status: "sent" });
    await engine.settle();
    expect(notices(engine)).toHaveLength(1);
  });

  it("shares its notice with others that were withdrawn with it", async () => {
    const { engine } = await open();
    for (const n of [1, 2, 3]) {
      await tell(engine, `go ${n}`);
      await engine.advance(3600_000);
    }
    expect((await rows(engine)).filter(({ shown }) => shown)).toHaveLength(3);
    await engine.send({ kind: "reset", by: "person" }, { name: "side" });
    await engine.settle();
    expect(notices(engine)).toHaveLength(1);
    for (const { id } of await rows(engine)) expect(notices(engine)[0]).toContain(id);
  });
});

describe("no notice", () => {
  it("follows a question that was not shown", async () => {
    const { engine } = await open();
    await tell(engine, "go 1", "one");
    await engine.send({ kind: "system", text: "go 2" }, { name: "two", delivery: { channel: "test", to: "owner" } });
    await engine.settle();
    const [second] = await rows(engine);
    expect(second).toMatchObject({ shown: undefined });
    await engine.system.lifecycle.stop(await engine.agentId("two"));
    await engine.settle();
    expect([await states(engine), notices(engine)]).toEqual([["withdrawn", "pending"], []]);
  });

  it("follows a question that was answered", async () => {
    const { engine } = await open();
    await tell(engine, "go 1");
    await tell(engine, "hello");
    await answer(engine, false);
    await engine.settle();
    await engine.system.lifecycle.stop(await engine.agentId("side"));
    await engine.settle();
    expect([await states(engine), notices(engine)]).toEqual([["denied"], []]);
  });
});

describe("withdraw_approval", () => {
  it("takes back an agent's own question, and no one can answer it", async () => {
    const { engine } = await open();
    await tell(engine, "go 1");
    const [asked] = await rows(engine);
    await tell(engine, `withdraw ${asked?.id}`);
    expect(await rows(engine)).toMatchObject([{ state: "withdrawn", reason: "the agent withdrew it" }]);
    expect(engine.shown()).toContain(`saw Approval ${asked?.id} is withdrawn.`);
    expect(notices(engine)).toEqual([`Approval ${asked?.id} for exec is no longer needed: the agent withdrew it.`]);
    await expect(answer(engine, true)).rejects.toThrow(/already withdrawn/);
    await tell(engine, `withdraw ${asked?.id}`);
    expect(engine.shown().at(-1)).toContain(`Approval ${asked?.id} is already withdrawn.`);
    expect(engine.executions.filter(({ name }) => name === "exec")).toEqual([]);
  });

  it("leaves the questions of other agents alone", async () => {
    const { engine } = await open();
    await tell(engine, "go 1");
    const [asked] = await rows(engine);
    await tell(engine, `withdraw ${asked?.id}`, "other");
    expect(engine.shown().at(-1)).toContain(`You have no approval ${asked?.id}.`);
    expect(await states(engine)).toEqual(["pending"]);
  });
});

it("does not count a send that the channel postponed", async () => {
  const { engine, chat } = await open("ambiguous");
  let left = 5;
  chat.sending = ({ payload }) => {
    if (!payload.text?.includes("is needed.")) return { status: "sent" };
    if (left-- > 0) return { status: "retry", reason: "429: too many requests", afterMs: 1_000 };
    return { status: "unknown", reason: "cut off" };
  };
  await tell(engine, "go 1");
  await engine.advance(12 * 3600_000);
  expect(questions(engine)).toHaveLength(5 + 3);
  expect(await rows(engine)).toMatchObject([{ shown: 3 }]);
});
