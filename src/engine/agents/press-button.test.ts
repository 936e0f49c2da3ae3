/** Buttons of deliveries: answers to questions about calls, and choices of a question to a person. */
import { describe, expect, it, test } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { inTurn } from "../../../test/kit/model.ts";
import type { PressedButton } from "../../core/ports/connector.ts";
import { askOp, questionIdOf } from "../people/open-question.ts";
import { accepted, commit, from, hostOf, putPerson } from "./agent-system.test-kit.ts";

const GONE = { say: "This question is no longer open.", done: true };
const press = (engine: TestEngine, token: string, by = "olga", more: Partial<PressedButton> = {}) =>
  hostOf(engine).press({ ...from(by), token, ...more });

test.each(["", "x:1:y", "q:1:0", `q:${"a".repeat(24)}:0`, "a:not an id!:y", "a"])(
  "says that no question is open for the button %j",
  async (token) => {
    expect(await press(await TestEngine.open(), token)).toEqual(GONE);
  },
);

describe("a question about a call", () => {
  /** Ann's agent wants to run a command and needs a yes. Olga is the owner. */
  async function asked() {
    const engine = await TestEngine.open({
      tools: {
        exec: {
          ...{ rights: ["exec"], replay: "never" },
          effects: () => [
            { action: "exec", rights: ["exec"], detail: { kind: "command", argv: ["git", "push"], cwd: "/" } },
          ],
        },
      },
      script: inTurn({ call: [{ name: "exec" }] }, "done"),
      system: { rights: {} },
      settings: { owner: { accounts: ["test:olga"] } },
    });
    await putPerson(engine, "ann", [{ ask: "exec" }]);
    await engine.tell("go", { sender: { connector: "test", userId: "ann" } });
    const [question] = await engine.store.approvals({ limit: 1 });
    if (!question) throw new TypeError("nothing was asked");
    const state = async () => (await engine.store.approvals({ limit: 1 }))[0];
    return {
      engine,
      token: (answer: string, digest = question.digest.slice(0, 16)) =>
        `a:${question.id.toUpperCase()}:${answer}:${digest}`,
      state,
    };
  }

  test.each<[string, string, string, number]>([
    ["y", "approved", "exec is approved.", 1],
    ["n", "denied", "exec is denied.", 0],
    ["call", "approved", "exec is approved, and allowed from now on.", 1],
    ["other", "denied", "exec is denied.", 0],
  ])("is decided by %s for the person who pressed it", async (answer, _state, say, executions) => {
    const { engine, token, state } = await asked();
    expect(await press(engine, token(answer))).toEqual({ say, done: true });
    await engine.settle();
    expect(await state()).toMatchObject({ decidedBy: "owner", surface: "test" });
    expect(engine.executions).toHaveLength(executions);
    expect(await press(engine, token("y"))).toMatchObject({ done: true, say: expect.stringContaining("already") });
  });

  it.each(["", "0".repeat(16)])("stays open for a button about another call: %j", async (digest) => {
    const { engine, token, state } = await asked();
    for (const answer of ["y", "call"]) expect(await press(engine, token(answer, digest))).toEqual(GONE);
    expect(await state()).toMatchObject({ state: "pending" });
  });

  it("stays open if the person may not decide it", async () => {
    const { engine, token, state } = await asked();
    for (const answer of ["y", "w"])
      expect(await press(engine, token(answer), "mallory")).toMatchObject({ done: false });
    expect(await state()).toMatchObject({ state: "pending" });
  });

  it("shows the rules to choose from and goes back, without deciding", async () => {
    const { engine, token, state } = await asked();
    const answers = (buttons: readonly { token: string }[] = []) => buttons.map((one) => one.token.split(":")[2]);
    const open = await press(engine, token("w"));
    expect([open.done, open.say]).toEqual([false, "Choose what to allow from now on."]);
    expect(answers(open.buttons)).toEqual(["call", "b"]);
    const back = await press(engine, token("b"));
    expect([back.done, back.say, answers(back.buttons)]).toEqual([false, "", expect.arrayContaining(["y", "n"])]);
    expect(await state()).toMatchObject({ state: "pending" });
    await press(engine, token("n"));
    for (const late of ["w", "b"]) expect(await press(engine, token(late))).toEqual(GONE);
  });

  it("passes on an error of the store, so that the channel sends the press again", async () => {
    const { engine, token } = await asked();
    engine.onCommit = () => "full";
    await expect(press(engine, token("y"))).rejects.toMatchObject({ code: "store_full" });
    engine.onCommit = () => "throw";
    await expect(press(engine, token("y"))).rejects.toThrow("the store is confused");
  });
});

describe("a choice of a question", () => {
  const id = questionIdOf("r", "c");
  const target = { channel: "test", to: "ann" };
  const DAYS = 24 * 3600_000;

  /** Ann's agent has asked her something. */
  async function asked() {
    const engine = await TestEngine.open();
    const { agentId } = accepted(await engine.tell("hello"));
    const askedAt = engine.clock.now();
    const question = { agentId, question: "Tea?", choices: ["Yes", "x".repeat(200)], target, askedAt };
    await commit(engine, askOp(id, question));
    const token = (n: number | string, at = askedAt) => `q:${id}:${n}:${Math.floor(at / 1_000).toString(36)}`;
    return { engine, token, askedAt };
  }

  it("is posted once as the person's answer to the agent that asked", async () => {
    const { engine, token } = await asked();
    const more = { senderName: "Ann", delivery: { ...target, threadId: 3 } };
    expect(await press(engine, token(0), "ann", more)).toEqual({ say: "Yes", done: true });
    await engine.settle();
    expect(engine.shown().at(-1)).toBe('answer to [Answer to your question "Tea?"] Yes');
    const [answer] = await engine.store.messages(await engine.agentId(), { limit: 1 });
    expect(answer).toMatchObject({
      ...{ delivery: target, behalf: { person: "test:ann" }, body: { sender: { id: "ann", name: "Ann" } } },
      source: { connector: "test", channelId: "ann", messageId: `answer-${id}` },
    });
    expect(await press(engine, token(0), "ann")).toEqual(GONE);
    expect(await engine.states()).toHaveLength(2);
  });

  it("shows the beginning of a long choice", async () => {
    const { engine, token } = await asked();
    expect(await press(engine, token(1), "ann")).toEqual({ say: "x".repeat(190), done: true });
  });

  test.each<[string, (token: (n: number | string) => string) => string, Partial<PressedButton>]>([
    ["an unknown choice", (token) => token(2), {}],
    ["a malformed choice", (token) => token("x"), {}],
    ["another question", () => `q:${"b".repeat(24)}:0:${(1e9).toString(36)}`, {}],
    ["a malformed id", (token) => token(0).replace("q:", "q:../"), {}],
    ["another chat", (token) => token(0), { delivery: { channel: "test", to: "bob" } }],
  ])("does nothing for %s", async (_title, token, more) => {
    const { engine, token: of } = await asked();
    expect(await press(engine, token(of), "ann", more)).toMatchObject({ done: true });
    await engine.settle();
    expect(await engine.states()).toHaveLength(1);
  });

  it("expires after 180 days", async () => {
    const { engine, token, askedAt } = await asked();
    engine.clock.jump(180 * DAYS + 1_000);
    const old = await press(engine, token(0), "ann");
    expect([old.say.includes("too old"), old.done]).toEqual([true, true]);
    expect(await press(engine, `x:${id}:0:${askedAt}`, "ann")).toEqual(GONE);
    engine.clock.jump(-1_000);
    expect(await press(engine, token(0), "ann")).toEqual({ say: "Yes", done: true });
  });
});
