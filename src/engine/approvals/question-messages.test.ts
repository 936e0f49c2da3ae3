/** How questions reach people: one message per chat, after answers, again if they may not have arrived, and capped (M44). */
import { describe, expect, it } from "vitest";
import { channel } from "../../../test/kit/channel.ts";
import { TestEngine } from "../../../test/kit/engine.ts";
import type { ChangeId } from "../../core/ids.ts";
import { OWNER } from "../../core/people/person.ts";
import { MAX_OPEN_QUESTIONS } from "../../core/rights/approval.ts";

/** The owner's other conversations. */
const SIDES = Array.from({ length: 100 }, (_, n) => `side${n}`);

const ASKS = /^<system_message>go (\d+)<\/system_message>$/;

/** Everyone is the owner, who is asked before `exec`. "go N" leads to the N-th call; anything else is repeated. */
async function open(sendingClass: "idempotent" | "ambiguous" = "idempotent") {
  const chat = channel("test", sendingClass);
  const engine = await TestEngine.open({
    channels: [chat],
    script: ({ request }) => {
      const last = request.messages.at(-1);
      const text = last?.content.map((block) => (block.type === "text" ? block.text : "")).join("") ?? "";
      const n = last?.role === "user" ? ASKS.exec(text)?.[1] : undefined;
      return n === undefined ? `saw ${text.slice(0, 40)}` : { call: [{ name: "exec", arguments: { n } }] };
    },
    tools: { exec: { rights: ["exec"], replay: "never" } },
    system: { rights: {} },
    settings: { owner: { accounts: ["test:owner", ...SIDES.map((side) => `test:${side}`)] } },
  });
  await engine.store.commit({
    id: "ask-owner" as ChangeId,
    site: "test",
    at: engine.clock.now(),
    ops: [
      {
        op: "person.put",
        person: { id: OWNER, role: "owner", accounts: [], grants: [{ ask: "exec" }], createdAt: 1, createdBy: "owner" },
      },
    ],
  });
  return { engine, chat };
}

/** Another conversation of the owner asks, in the chat of the owner. */
const ask = async (engine: TestEngine, n: number) => {
  await engine.send(
    { kind: "system", text: `go ${n}` },
    { name: `side${n}`, delivery: { channel: "test", to: "owner" } },
  );
  await engine.settle();
};
const questions = (engine: TestEngine): string[] => engine.shown().filter((text) => text.includes("Approval "));
const pending = async (engine: TestEngine) => engine.store.approvals({ states: ["pending"], limit: 100 });
const answer = async (engine: TestEngine, text: string): Promise<void> => {
  const id = /Approval (\w{4})/.exec(text)?.[1];
  const row = (await pending(engine)).find((one) => one.id === id);
  if (row) await engine.system.approvals.decide(row.id, { approve: false }, { person: OWNER, surface: "test" });
  await engine.settle();
};
const say = (engine: TestEngine, text: string) =>
  engine.send({ kind: "user", text }, { name: "owner", delivery: { channel: "test", to: "owner" } });

describe("questions to one chat", () => {
  it("show one message for fifty questions, and delay no answer", async () => {
    const { engine, chat } = await open();
    for (let n = 0; n < MAX_OPEN_QUESTIONS; n++) {
      await ask(engine, n);
      if (n === 25) {
        const before = chat.calls.length;
        await say(engine, "hello");
        await engine.settle();
        expect(chat.calls[before]?.payload.text).toBe("saw hello");
      }
    }
    expect(await pending(engine)).toHaveLength(MAX_OPEN_QUESTIONS);
    // The person wrote once, so a second message took the place of the first.
    expect(questions(engine)).toHaveLength(2);
    expect(questions(engine).at(-1)).toMatch(/^\d+ questions wait\./);
  });

  it("show the next question when one is answered", async () => {
    const { engine } = await open();
    for (const n of [1, 2, 3]) await ask(engine, n);
    expect(questions(engine)).toHaveLength(1);
    await answer(engine, questions(engine)[0] ?? "");
    expect(questions(engine)).toHaveLength(2);
    expect(questions(engine)[1]).toMatch(/^2 questions wait\./);
    await answer(engine, questions(engine)[1] ?? "");
    expect(questions(engine)).toHaveLength(3);
    expect(questions(engine)[2]).toMatch(/^Approval /);
  });

  it("are sent three times if they may not have arrived, and once more when the person writes", async () => {
    const { engine, chat } = await open("ambiguous");
    chat.sending = ({ payload }) =>
      payload.text?.includes("Approval ") ? { status: "unknown", reason: "cut off" } : { status: "sent" };
    await ask(engine, 1);
    await engine.advance(3600_000);
    expect(questions(engine)).toHaveLength(3);
    expect((await engine.deliveries()).map(({ state }) => state)).toContain("unconfirmed");
    await say(engine, "hello");
    await engine.advance(3600_000);
    expect(questions(engine)).toHaveLength(4);
    await say(engine, "hello again");
    await engine.advance(3600_000);
    expect(questions(engine)).toHaveLength(4);
  });

  it("are not sent after they were answered elsewhere", async () => {
    const { engine } = await open();
    await ask(engine, 1);
    await ask(engine, 2);
    await engine.settle();
    for (const { id } of await pending(engine)) {
      await engine.system.approvals.decide(id, { approve: false }, { person: OWNER, surface: "test" });
    }
    const tries = questions(engine).length;
    await engine.advance(3600_000);
    expect(questions(engine)).toHaveLength(tries);
    expect(
      (await engine.deliveries())
        .filter(({ payload }) => payload.asks)
        .map(({ state }) => state)
        .sort(),
    ).toEqual(["sent", "suppressed"]);
  });

  it("are refused beyond the cap, and the run continues", async () => {
    const { engine } = await open();
    for (let n = 0; n <= MAX_OPEN_QUESTIONS; n++) await ask(engine, n);
    expect(await pending(engine)).toHaveLength(MAX_OPEN_QUESTIONS);
    expect(engine.shown()).toContain("saw Not executed: too many open questions. W");
  });
});
