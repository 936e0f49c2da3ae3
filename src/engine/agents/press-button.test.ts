import { describe, expect, test } from "vitest";
import { ConflictError, DeniedError } from "../../core/errors.ts";
import type { PressResult } from "../../core/ports/connector.ts";
import { type PressDeps, pressButton } from "./press-button.ts";

const GONE = { say: "This question is no longer open.", done: true };
const ID = "AAAA";

/** What the button did, with an approval that a test answers for. */
function world(approval: object = {}, answers: Record<string, unknown> = {}) {
  const decided: unknown[] = [];
  const asked: unknown[] = [];
  const deps = {
    store: { fact: async () => undefined, question: async () => undefined },
    directory: { now: async () => ({ sender: (connector: string, userId: string) => `${connector}:${userId}` }) },
    approvals: {
      decide: async (id: string, decision: { approve: boolean }, by: object) => {
        if (answers.error) throw answers.error;
        decided.push([id, decision, by]);
        return { tool: "exec", state: decision.approve ? "approved" : "denied" };
      },
      get: async (id: string, person: string) => {
        asked.push([id, person]);
        return { id, state: "pending", ...approval };
      },
      widths: async () => answers.widths,
    },
    post: async () => undefined,
    clock: { now: () => 0 },
  } as unknown as PressDeps;
  const press = (token: string) =>
    pressButton(deps, { token, connector: "telegram", userId: "7", channelId: "c" } as never);
  return { press, decided, asked };
}

describe("a button of no open question", () => {
  test.each(["", "x:1:y", "q:1:0", `q:${"a".repeat(24)}:0`, "a:not an id!:y", "a"])("%j says so", async (token) => {
    const { press, decided } = world();
    expect([await press(token), decided]).toEqual([GONE, []]);
  });
});

describe("a button of an approval", () => {
  const by = { person: "telegram:7", surface: "telegram" };
  test.each([
    ["y", { approve: true, always: undefined }, "exec is approved."],
    ["n", { approve: false, always: undefined }, "exec is denied."],
    ["call", { approve: true, always: "call" }, "exec is approved, always for this call."],
    ["other", { approve: false, always: undefined }, "exec is denied."],
  ])("%s decides for the person who pressed it", async (answer, decision, say) => {
    const { press, decided } = world();
    expect(await press(`a:${ID}:${answer}`)).toEqual({ say, done: true });
    expect(decided).toEqual([[ID.toLowerCase(), decision, by]]);
  });
});

describe("the buttons that show rules and go back", () => {
  const question = { tool: "exec", callId: "c", effects: [], arguments: {} };
  const none = { not: "no rule" };
  const tokens = ({ buttons = [] }: PressResult) => buttons.map(({ token }) => token.split(":").at(-1));
  test("decide nothing, and are for the person who may read the question", async () => {
    const { press, decided, asked } = world(question, {
      widths: { call: [{ allow: "exec" }], prefix: none, tool: none },
    });
    const open = await press(`a:${ID}:w`);
    expect([open.done, open.say]).toEqual([false, "Choose what to allow from now on."]);
    expect(tokens(open)).toEqual(["call", "b"]);
    const back = await press(`a:${ID}:b`);
    expect([back.done, back.say]).toEqual([false, ""]);
    expect(tokens(back)).toEqual(expect.arrayContaining(["y", "n"]));
    expect(decided).toEqual([]);
    expect(asked).toEqual([
      [ID.toLowerCase(), "telegram:7"],
      [ID.toLowerCase(), "telegram:7"],
    ]);
  });
  test("say that there is no rule to store", async () => {
    const { press } = world(question, { widths: { call: none, prefix: none, tool: none } });
    expect(await press(`a:${ID}:w`)).toEqual({
      say: "No rule can be stored for this call. Say yes once.",
      done: false,
    });
  });
  test.each(["w", "b"])("are gone with the question: %s", async (answer) => {
    const { press } = world({ ...question, state: "approved" });
    expect(await press(`a:${ID}:${answer}`)).toEqual(GONE);
  });
});

describe("an error of a decision", () => {
  const token = `a:${ID}:y`;
  const failing = (error: unknown): Promise<unknown> => world({}, { error }).press(token);
  test("that is a conflict ends the buttons, one of rights does not", async () => {
    const conflict = new ConflictError("It was decided.", { hint: "Look." });
    expect(await failing(conflict)).toEqual({ say: "It was decided. Look.", done: true });
    expect(await failing(new DeniedError("Not you."))).toEqual({ say: "Not you.", done: false });
  });
  test("that may pass is thrown, and so is one of the program", async () => {
    const busy = Object.assign(new DeniedError("busy"), { retryable: true });
    await expect(failing(busy)).rejects.toBe(busy);
    await expect(failing(new TypeError("broken"))).rejects.toThrow("broken");
  });
});

describe("a choice of a question", () => {
  const Q = "a".repeat(24);
  const NOW = 1_000_000_000_000;
  const TARGET = { channel: "telegram", to: "c" };
  const asked = (at: number) => Math.floor(at / 1_000).toString(36);

  /** A question with two choices, of which the second is long. */
  function question() {
    const posted: object[] = [];
    const stored = {
      agentId: "a7",
      question: "Which one?",
      choices: ["this", "x".repeat(200)],
      target: TARGET,
      askedAt: 1,
    };
    const keys: string[] = [];
    const deps = {
      store: {
        fact: async (key: string) => {
          keys.push(key);
          return key.endsWith(Q) ? JSON.stringify(stored) : undefined;
        },
      },
      clock: { now: () => NOW },
      post: async (request: object) => {
        await new Promise((resolve) => setImmediate(resolve));
        posted.push(request);
      },
    } as unknown as PressDeps;
    const press = (token: string, more: object = {}) =>
      pressButton(deps, {
        ...{ token, connector: "telegram", accountId: "acc", userId: "7", senderName: "Ann", channelId: "c" },
        ...{ delivery: { ...TARGET, threadId: 3 }, ...more },
      } as never);
    return { press, posted, keys };
  }

  test("is posted once to the agent that asked, by who pressed it, and takes the question away", async () => {
    const { press, posted } = question();
    expect(await press(`q:${Q}:0:${asked(NOW)}`)).toEqual({ say: "this", done: true });
    expect(posted).toMatchObject([
      {
        ...{ to: { agentId: "a7" }, delivery: TARGET, sender: { connector: "telegram", userId: "7" } },
        body: { kind: "user", text: '[Answer to your question "Which one?"] this', sender: { id: "7", name: "Ann" } },
        source: { connector: "telegram", accountId: "acc", channelId: "c", messageId: `answer-${Q}` },
        first: [{ op: "fact.put", value: null }],
      },
    ]);
  });

  test("that is long is shown by its beginning", async () => {
    expect(await question().press(`q:${Q}:1:${asked(NOW)}`)).toEqual({ say: "x".repeat(190), done: true });
  });

  test.each<[string, string, object]>([
    ["a choice that it does not have", `q:${Q}:2:${asked(NOW)}`, {}],
    ["no choice", `q:${Q}:x:${asked(NOW)}`, {}],
    ["another question", `q:${"b".repeat(24)}:0:${asked(NOW)}`, {}],
    ["another chat", `q:${Q}:0:${asked(NOW)}`, { delivery: { ...TARGET, to: "d" } }],
  ])("does nothing for %s", async (_title, token, more) => {
    const { press, posted } = question();
    expect([await press(token, more), posted]).toEqual([GONE, []]);
  });

  test("is not looked up by an id that is none", async () => {
    const { press, keys } = question();
    expect([await press(`q:../${Q}:0:${asked(NOW)}`), keys]).toEqual([GONE, []]);
  });

  test.each<[number, boolean]>([
    [180 * 24 * 3600_000, false],
    [180 * 24 * 3600_000 + 1_000, true],
  ])("of a question that is %d ms old is too old for its button: %s", async (age, isOld) => {
    const { press, posted } = question();
    const { say, done } = await press(`q:${Q}:0:${asked(NOW - age)}`);
    expect([say.includes("too old"), done, posted.length]).toEqual([isOld, true, isOld ? 0 : 1]);
    // Only such questions have an age.
    expect(await press(`x:${Q}:0:${asked(NOW - age)}`)).toEqual(GONE);
  });
});
