/** What each command answers and changes, with everything around it made up. Whether the answer is one commit is tested elsewhere. */
import { describe, expect, test } from "vitest";
import { ConflictError, NotFoundError } from "../../core/errors.ts";
import { OWNER, type PersonId } from "../../core/people/person.ts";
import type { Approval, ApprovalId } from "../../core/rights/approval.ts";
import type { Effect } from "../../core/rights/decide.ts";
import type { CommandReply } from "./chat-command.ts";
import { chatCommands, commandNamed } from "./chat-commands.ts";
import { ANN, approval, type Changes, contextOf, NOW, run, said } from "./command-context.test-kit.ts";
import { turnLines } from "./memory-command.ts";
import { denialOf, runChatCommand } from "./run-chat-command.ts";
import { anything, isResetWord, nothing, oneWord } from "./words.ts";

describe("levels", () => {
  test.each([
    ["think", "high", "thinkingLevel", "Thinking"],
    ["t", "XHIGH", "thinkingLevel", "Thinking"],
    ["verbose", "full", "verboseLevel", "Verbose"],
    ["v", "on", "verboseLevel", "Verbose"],
    ["reasoning", "on", "reasoningLevel", "Reasoning"],
    ["elevated", "ask", "elevatedLevel", "Elevated"],
    ["activation", "always", "groupActivation", "Group activation"],
    ["usage", "tokens", "responseUsage", "Usage lines"],
  ])("/%s %s sets %s", async (name, word, field, what) => {
    expect(await run(name, word)).toEqual({
      text: `⚙️ ${what}: ${word.toLowerCase()}.`,
      patch: { [field]: word.toLowerCase() },
    });
    expect(await run(name, "Default")).toEqual({ text: `⚙️ ${what}: back to the default.`, patch: { [field]: null } });
  });

  test("alone says what is and what can be", async () => {
    expect(await said("think", "")).toBe(
      "Thinking: the default. Choose: off, minimal, low, medium, high, xhigh, default.",
    );
    expect(await said("think", "", { agent: { state: { thinkingLevel: "low" } } })).toContain("Thinking: low.");
  });

  test("an unknown word changes nothing", async () => {
    expect(await run("verbose", "w".repeat(70))).toEqual({
      text: `⚙️ "${"w".repeat(64)}" is not one of off, on, full, default. Nothing was changed.`,
    });
    // What the state takes and the command does not offer.
    expect((await run("reasoning", "reasoning")).patch).toBeUndefined();
  });

  test("what the model cannot do changes nothing, and the model sees the change", async () => {
    let seen: unknown;
    const models = {
      describe: async () => ({ model: "m", choices: [] }),
      problem: async (agent: unknown, patch: unknown) => {
        seen = [agent, patch];
        return "It cannot think.";
      },
    };
    expect(await run("think", "high", { parts: { models }, agent: { profile: "p", state: { label: "x" } } })).toEqual({
      text: "⚙️ It cannot think. Nothing was changed.",
    });
    expect(seen).toEqual([
      expect.objectContaining({ profile: "p", state: { label: "x", thinkingLevel: "high" } }),
      { thinkingLevel: "high" },
    ]);
    const fine = { ...models, problem: async () => undefined };
    expect((await run("think", "high", { parts: { models: fine } })).patch).toEqual({ thinkingLevel: "high" });
  });

  test("/usage says what today and each model has used", async () => {
    const since: number[] = [];
    const stats = {
      o: { m: { input: 1, output: 2, cacheRead: 1, total: 4 } },
      p: { m: { input: 1, output: 2, cacheRead: 3, total: 6 }, n: { input: 4, output: 5, cacheRead: 0, total: 9 } },
    };
    const spentSince = async (at: number) => {
      since.push(at);
      return { tokens: 15, dollars: 0.25 };
    };
    expect((await said("usage", "", { agent: { state: { stats } }, spentSince })).split("\n").slice(1)).toEqual([
      "Today: 15 tokens, $0.2500.",
      "o/m: 4 tokens (1 in, 2 out, 1 from the cache)",
      "p/m: 6 tokens (1 in, 2 out, 3 from the cache)",
      "p/n: 9 tokens (4 in, 5 out)",
    ]);
    await said("usage", "", { spentSince, parts: { dayStart: (now) => now - 7 } });
    expect(since).toEqual([NOW - 24 * 3_600_000, NOW - 7]);
  });
});

describe("/send", () => {
  test.each([
    ["on", "allow", "on"],
    ["Allow", "allow", "on"],
    ["OFF", "deny", "off"],
    ["deny", "deny", "off"],
  ])("%s", async (word, sendPolicy, shown) => {
    expect(await run("send", word)).toEqual({ text: `⚙️ Send policy set to ${shown}.`, patch: { sendPolicy } });
  });
  test("inherit, alone, and a wrong word", async () => {
    expect(await run("send", "inherit")).toEqual({
      text: "⚙️ Send policy set to inherit.",
      patch: { sendPolicy: null },
    });
    expect(await said("send", "")).toBe("Send policy: by the rules of the configuration. Choose: on, off, inherit.");
    expect(await said("send", "", { agent: { state: { sendPolicy: "deny" } } })).toContain("Send policy: off.");
    expect(await run("send", "constructor")).toEqual({
      text: '⚙️ "constructor" is not one of on, off, inherit. Nothing was changed.',
    });
    expect(await said("send", "x".repeat(65))).toContain(`"${"x".repeat(64)}"`);
  });
});

describe("/model", () => {
  const models = (more: object = {}, problem?: string) => ({
    describe: async () => ({ model: "p/m", choices: ["p/m", "p/n"], ...more }),
    problem: async () => problem,
  });
  test("alone lists the choices, forty at most, and says why", async () => {
    expect(await said("model", "")).toBe("Model: n/a.\nSet one with /model NAME, take it back with /model default.");
    expect(await said("model", "", { parts: { models: models({ why: "you chose it" }) } })).toBe(
      "Model: p/m, because you chose it.\n- p/m\n- p/n\nSet one with /model NAME, take it back with /model default.",
    );
    const many = (count: number) => ({
      parts: { models: models({ choices: Array.from({ length: count }, (_, n) => `m${n}`) }) },
    });
    expect(await said("models", "", many(40))).not.toContain("more");
    const text = await said("models", "", many(42));
    expect(text).toContain("- m39\n… and 2 more");
    expect(text).not.toContain("- m40");
  });
  test("with a name sets it without a provider, and takes it back", async () => {
    expect(await run("model", "p/n", { parts: { models: models() } })).toEqual({
      text: "⚙️ Model: p/n.",
      patch: { modelOverride: "p/n", providerOverride: null },
    });
    expect((await run("model", "default")).patch).toEqual({ modelOverride: null, providerOverride: null });
  });
  test.each([
    ['There is no model "x".', ' There is no model "x". /model lists the choices. Nothing was changed.'],
    ['There is no model "x". Did you mean "y"?', ' There is no model "x". Did you mean "y"? Nothing was changed.'],
    ["It has no key.", " It has no key. Nothing was changed."],
  ])("that cannot be used: %s", async (problem, text) => {
    expect(await run("model", "x", { parts: { models: models({}, problem) } })).toEqual({ text: `⚙️${text}` });
  });
});

describe("/queue", () => {
  test("alone shows the settings", async () => {
    expect(await said("queue", "")).toContain(
      "Queue: mode collect, debounceMs 5, cap 3, dropPolicy old.\nModes: steer,",
    );
  });
  test("shows only what is set, and changes nothing if nothing is named", async () => {
    const queue = () => ({ mode: "steer", cap: undefined, dropPolicy: "new" }) as never;
    expect((await said("queue", "", { queue })).split("\n")[0]).toBe("Queue: mode steer, dropPolicy new.");
    expect(await said("queue", ":")).toBe("Queue: unchanged.");
  });
  test("sets what it names, and takes all back", async () => {
    expect(await run("queue", "collect debounce:2s cap:5 drop:new")).toEqual({
      text: "⚙️ Queue: mode collect, debounceMs 2000, cap 5, dropPolicy new.",
      patch: { queueMode: "collect", queueDebounceMs: 2000, queueCap: 5, queueDrop: "new" },
    });
    expect((await run("queue", "reset")).patch).toEqual({
      ...{ queueMode: null, queueDebounceMs: null, queueCap: null, queueDrop: null },
    });
  });
  test("names what it does not know, five words at most", async () => {
    const text = await said("queue", "one two three four five six");
    expect(text).toMatch(/^Nothing was changed: "one", "two", "three", "four", "five" is no queue setting\./);
    expect(await said("queue", "w".repeat(65))).toContain(`"${"w".repeat(64)}"`);
    expect((await run("queue", "collect nonsense")).patch).toBeUndefined();
  });
});

describe("/approve and /deny", () => {
  const pending = async () => [approval(), approval({ id: "abcd" as ApprovalId, prompt: "y".repeat(400) })];
  test("alone list what waits", async () => {
    expect(await said("approve", "")).toBe("No call waits for an answer.");
    const lines = (await said("no", "", { approvals: { pending } })).split("\n");
    expect(lines[0]).toBe("kfmz exec: rm x");
    expect(lines[1]?.length).toBe("abcd exec: ".length + 300);
    expect(await said("approve", "?".repeat(65))).toContain(`"${"?".repeat(64)}" is not the id`);
    expect(await said("approve", "what?", { approvals: { pending } })).toMatch(
      /^"what\?" is not the id of a question\. kfmz/,
    );
  });
  test("answer by the id in any case", async () => {
    const answers: unknown[] = [];
    const decide = async (id: ApprovalId, answer: { approve: boolean }) => {
      answers.push([id, answer]);
      return approval({ id, state: answer.approve ? "approved" : "denied" });
    };
    expect(await said("yes", "KFMZ", { approvals: { decide } })).toBe("kfmz (exec) is approved.");
    expect(await said("deny", "kfmz not  now ", { approvals: { decide } })).toBe("kfmz (exec) is denied.");
    await said("deny", "kfmz  ", { approvals: { decide } });
    await said("approve", "kfmz always prefix", { approvals: { decide } });
    await said("approve", "kfmz Always", { approvals: { decide } });
    await said("deny", "kfmz always tool", { approvals: { decide } });
    expect(answers).toEqual([
      ["kfmz", { approve: true, always: undefined, reason: undefined }],
      ["kfmz", { approve: false, always: undefined, reason: "not now" }],
      ["kfmz", { approve: false, always: undefined, reason: undefined }],
      ["kfmz", { approve: true, always: "prefix", reason: undefined }],
      ["kfmz", { approve: true, always: true, reason: undefined }],
      ["kfmz", { approve: false, always: undefined, reason: "always tool" }],
    ]);
  });
  test("for always ask for a width if there is a choice, and take one that is named", async () => {
    const choice = async () => ["call    a", "prefix  b"];
    expect(await said("approve", "kfmz always", { approvals: { choice } })).toBe(
      "Choose what to allow from now on:\ncall    a\nprefix  b\nAnswer /approve kfmz always prefix.",
    );
    expect(await said("approve", "kfmz always TOOL", { approvals: { choice } })).toContain("is approved");
    expect(await said("approve", "kfmz", { approvals: { choice } })).toContain("is approved");
    expect(await said("deny", "kfmz always", { approvals: { choice } })).toContain("is denied");
    const failing = { choice: async () => Promise.reject(new Error("no")) };
    expect(await said("approve", "kfmz always", { approvals: failing })).toContain("is approved");
  });
  test.each<[string, string, Partial<Approval> | undefined, Error, string | undefined]>([
    [
      "the same person said the same before",
      "approve",
      { state: "used", decidedBy: ANN },
      new ConflictError("x"),
      "kfmz (exec) is approved.",
    ],
    [
      "the same person said no before",
      "deny",
      { state: "denied", decidedBy: ANN },
      new ConflictError("x"),
      "kfmz (exec) is denied.",
    ],
    ["someone else said yes", "approve", { state: "approved", decidedBy: "bob" }, new NotFoundError("Gone."), "Gone."],
    [
      "the same person said the opposite",
      "approve",
      { state: "denied", decidedBy: ANN },
      new NotFoundError("Gone."),
      "Gone.",
    ],
    [
      "the same person said yes, now no",
      "deny",
      { state: "approved", decidedBy: ANN },
      new NotFoundError("Gone."),
      "Gone.",
    ],
    ["it has ended otherwise", "approve", { state: "expired", decidedBy: ANN }, new NotFoundError("Gone."), "Gone."],
    ["it is not there", "approve", undefined, new NotFoundError("Gone.", { hint: "Look." }), "Gone. Look."],
    ["it may be tried again", "approve", { state: "pending" }, new ConflictError("Busy."), undefined],
    ["something is broken", "approve", { state: "pending" }, new TypeError("bug"), undefined],
  ])("if %s", async (_title, name, now, error, text) => {
    const approvals = {
      decide: async () => Promise.reject(error),
      get: async () => (now ? approval(now) : Promise.reject(new Error("none"))),
    };
    const answer = said(name, "kfmz", { approvals });
    if (text === undefined) await expect(answer).rejects.toBe(error);
    else expect(await answer).toBe(text);
  });
  test.each([
    ["", true],
    ["kfmz", true],
    ["kfmz always", true],
    ["kfmz ALWAYS Prefix", true],
    ["kfmz please do", false],
    ["kfmz always everything", false],
  ])("/approve %j is the command: %s", (rest, is) => {
    expect(commandNamed("approve")?.reads(rest)).toBe(is);
  });
});

describe("/cron", () => {
  const job = (id: string, name: string, more: object = {}) =>
    ({ id, name, when: "daily", enabled: true, ...more }) as never;
  const jobs = (list: readonly never[] = [job("j1", "Morning"), job("j2", "Twice"), job("j3", "twice")]) => ({
    list: async () => list,
    get: async (_agent: unknown, id: string) => {
      const found = list.find((one: { id: string }) => one.id === id);
      if (!found) throw new NotFoundError(`No job ${id}.`);
      return found;
    },
    runOps: async (id: string) => [{ run: id }] as never,
    removeOps: async (id: string) => [{ remove: id }] as never,
    enableOps: async (id: string, enabled: boolean) => [{ enable: id, enabled }] as never,
  });
  test("says so where there are none", async () => {
    expect(await said("cron", "")).toBe("There are no schedules here.");
    expect(await said("cron", "list", { parts: { jobs: jobs([]) } })).toBe("This conversation has no jobs.");
  });
  test("lists them, fifty at most", async () => {
    const list = [job("a", "A", { next: "soon" }), job("b", "B", { enabled: false, next: "soon" }), job("c", "C")];
    expect(await said("cron", "LIST", { parts: { jobs: jobs(list) } })).toBe(
      "Jobs:\n- A (a): daily, next soon\n- B (b): daily, off\n- C (c): daily",
    );
    const many = (length: number) => ({
      parts: { jobs: jobs(Array.from({ length }, (_, n) => job(`j${n}`, `N${n}`))) },
    });
    expect(await said("jobs", "", many(50))).not.toContain("more");
    const text = await said("jobs", "", many(52));
    expect(text.split("\n")).toHaveLength(1 + 50 + 1);
    expect(text).toContain("… and 2 more");
  });
  test.each<[string, CommandReply]>([
    ["run j1", { text: "⚙️ Morning runs now.", ops: [{ run: "j1" }] as never }],
    ["RUN morning", { text: "⚙️ Morning runs now.", ops: [{ run: "j1" }] as never }],
    ["on j1", { text: "⚙️ Morning is on.", ops: [{ enable: "j1", enabled: true }] as never }],
    ["off j1", { text: "⚙️ Morning is off.", ops: [{ enable: "j1", enabled: false }] as never }],
    ["remove j1", { text: "⚙️ Morning is removed.", ops: [{ remove: "j1" }] as never }],
    // A name that two jobs have is none.
    ["run twice", { text: "⚙️ No job twice." }],
    ["run j9", { text: "⚙️ No job j9." }],
    ["dance j1", { text: "⚙️ Usage: /cron [list] | run ID | on ID | off ID | remove ID" }],
    ["run", { text: "⚙️ Usage: /cron [list] | run ID | on ID | off ID | remove ID" }],
    ["run j1 now", { text: "⚙️ Usage: /cron [list] | run ID | on ID | off ID | remove ID" }],
    ["list j1", { text: "⚙️ Usage: /cron [list] | run ID | on ID | off ID | remove ID" }],
  ])("%s", async (text, reply) => {
    expect(await run("cron", text, { parts: { jobs: jobs() } })).toEqual(reply);
  });
  test("asks for the right to the job of its person", async () => {
    const asked: Effect[] = [];
    const list = [job("j1", "A", { behalf: { person: "bob" } }), job("j2", "B")];
    const parts = { jobs: jobs(list) };
    await runChatCommand({ name: "cron", text: "run j1" }, contextOf({ parts }, asked));
    await runChatCommand({ name: "cron", text: "run j2" }, contextOf({ parts }, asked));
    const about = asked
      .filter(({ action }) => action === "chat_cron")
      .map(({ target, of, rights }) => [target, of, rights]);
    expect(about).toEqual([
      ["job:j1", "bob", ["schedule"]],
      ["job:j2", OWNER, ["schedule"]],
    ]);
    const cron = commandNamed("cron");
    expect(await cron?.run?.("run j1", contextOf({ parts, denied: "it is bob's" }))).toEqual({
      text: "⚙️ You may not change A: it is bob's.",
    });
  });
  test("fails with what may be tried again", async () => {
    const busy = { ...jobs(), list: async () => Promise.reject(new ConflictError("busy")) };
    await expect(run("cron", "", { parts: { jobs: busy } })).rejects.toThrow("busy");
  });
});

describe("/pair and /link", () => {
  const calls: unknown[] = [];
  const pairing = (more: object = {}) =>
    ({
      list: async () => [
        { code: "k7", account: "telegram:7", name: "Ann" },
        { code: "k8", account: "telegram:8" },
      ],
      approve: async (...args: unknown[]) => {
        calls.push(args);
        return { person: args[2] ?? "telegram-7", account: "telegram:7" };
      },
      deny: async () => ({ account: "telegram:7" }),
      block: async (code: string) => code,
      forget: async (code: string) => code,
      linkCode: async (person: string) => `code-of-${person}`,
      ...more,
    }) as never;
  test.each([
    ["", "k7  telegram:7  Ann\nk8  telegram:8"],
    ["k7", "telegram:7 is let in as telegram-7."],
    ["k7 as ann", "telegram:7 is let in as ann."],
    ["k7 AS ann", "telegram:7 is let in as ann."],
    ["k7 for ann", "Usage: /pair [CODE [as ID]] | no CODE | block CODE|ACCOUNT | forget CODE|ACCOUNT"],
    ["no k7", "telegram:7 was not let in."],
    ["Block k7", "k7 is blocked."],
    ["forget k7", "k7 is forgotten."],
  ])("/pair %s", async (text, answer) => {
    expect(await said("pair", text, { pairing: pairing(), person: OWNER })).toBe(answer);
  });
  test("say who did it, and what is missing", async () => {
    calls.length = 0;
    await said("pair", "k7", { pairing: pairing(), person: OWNER });
    expect(calls).toEqual([["k7", { person: OWNER, surface: "chat" }, undefined]]);
    expect(await said("pair", "", { pairing: pairing({ list: async () => [] }) })).toBe("No one waits to be let in.");
    expect(await said("pair", "")).toBe("No channel here asks for codes.");
    expect(await said("link", "")).toBe("No channel here asks for codes.");
    const missing = pairing({
      approve: async () => Promise.reject(new NotFoundError("No such code.", { hint: "Look." })),
    });
    expect(await said("pair", "k9", { pairing: missing })).toBe("No such code. Look.");
    const busy = pairing({ approve: async () => Promise.reject(new ConflictError("busy")) });
    await expect(run("pair", "k9", { pairing: busy })).rejects.toThrow("busy");
    const pair = commandNamed("pair");
    expect((await pair?.run?.("", contextOf({ pairing: pairing(), denied: "no" })))?.text).toContain(
      "You may not use /pair: no.",
    );
  });
  test.each<[string, object, string, string]>([
    ["ann", {}, "within 15 minutes:\n/link code-of-ann", "a person with a record"],
    ["owner", {}, "/link code-of-owner", "the owner"],
    ["telegram:7", {}, "Only people whom the owner let in", "an account without one"],
    ["ann", { chatType: "group" }, "Use /link in a direct message", "in a group"],
    ["ann", { chatType: "direct" }, "/link code-of-ann", "in a direct chat"],
  ])("/link of %s: %j", async (person, state, text) => {
    expect(await said("link", "", { pairing: pairing(), person: person as PersonId, agent: { state } })).toContain(
      text,
    );
  });
});

describe("/memory", () => {
  const memory = async (_agent: unknown, name: string | undefined) =>
    name === "none" ? undefined : { name: name ?? "MEMORY.md", text: " notes ", names: ["MEMORY.md", "a.md", "b.md"] };
  const turn = async () =>
    ({
      characters: 4_000,
      tokens: 1_000,
      parts: [{ part: "SOUL.md", characters: 10 }],
      lookups: [],
      absent: [],
    }) as never;
  test("shows the notes, the others, and what entered the last answer", async () => {
    expect(await said("memory", "", { parts: { memory }, turn })).toBe(
      "In the last answer (4,000 characters, about 1,000 tokens of prompt):\n- SOUL.md: 10 characters\n⚙️ MEMORY.md:\nnotes\nAlso: a.md, b.md. /memory FILE shows one.",
    );
    expect(await said("memory", "a.md", { parts: { memory }, turn })).toBe(
      "a.md:\nnotes\nAlso: MEMORY.md, b.md. /memory FILE shows one.",
    );
  });
  test("says what is not there", async () => {
    expect(await said("memory", "", {})).toBe("Nothing is written down yet.");
    expect(await said("memory", "none", { parts: { memory } })).toBe('There is no memory file "none".');
    const one = async () => ({ name: "MEMORY.md", text: "  ", names: ["MEMORY.md"] });
    expect(await said("memory", "", { parts: { memory: one } })).toBe("MEMORY.md:\n(empty)");
  });
  test("is only for the person of the conversation", async () => {
    const other = { agent: { person: "bob" as PersonId }, parts: { memory }, turn };
    expect(await said("memory", "", other)).toBe("Nothing is written down yet.");
    expect(await said("memory", "", { ...other, agent: { person: undefined } })).toContain("notes");
  });
  test("shows at most 4,000 characters and fifty names", async () => {
    const long = async () => ({
      ...{ name: "M", text: "x".repeat(4_001), names: ["M", ...Array.from({ length: 51 }, (_, n) => `n${n}`)] },
    });
    const text = await said("memory", "", { parts: { memory: long } });
    expect(text).toContain("[1 more characters are not shown here]");
    expect(text).toContain("n49. /memory");
    const fits = async () => ({ name: "M", text: "x".repeat(4_000), names: ["M"] });
    expect(await said("memory", "", { parts: { memory: fits } })).toBe(`M:\n${"x".repeat(4_000)}`);
  });
  test("counts what was cut, and marks what others wrote", () => {
    expect(turnLines(undefined)).toEqual([]);
    const one = { characters: 1, tokens: 1, absent: [], parts: [], lookups: [{ tool: "skill", characters: 1 }] };
    expect(turnLines(one as never).slice(1)).toEqual(["Looked up:", "- skill: 1 characters"]);
    expect(turnLines({ ...one, lookups: [] } as never)).toHaveLength(1);
    const lines = turnLines({
      ...{ characters: 1, tokens: 1, absent: [] },
      parts: [
        { part: "a", characters: 1_500, limit: 1_000, missing: 500, untrusted: true },
        { part: "b", characters: 10, limit: 1_000 },
      ],
      lookups: [
        { tool: "memory_search", characters: 2_000, untrusted: true },
        { tool: "skill", characters: 1 },
      ],
    } as never);
    expect(lines.slice(1)).toEqual([
      "- a: 1,000 of 1,000 characters; 500 MORE DO NOT FIT (with untrusted text)",
      "- b: 10 of 1,000 characters",
      "Looked up:",
      "- memory_search: 2,000 characters (with untrusted text)",
      "- skill: 1 characters",
    ]);
  });
});

describe("/status", () => {
  const size = { input: 10, cacheRead: 20, cacheWrite: 30, output: 40 };
  test("says what is known", async () => {
    expect(await said("status", "")).toBe(
      "Model: n/a, thinking default\nContext: n/a\nToday: 0 tokens, $0.0000\nRun: none\nWaiting: nothing",
    );
    const models = {
      describe: async () => ({ model: "p/m", thinking: "low", choices: [] }),
      problem: async () => undefined,
    };
    const text = await said("status", "", {
      parts: { models },
      agent: { state: { tokens: { model: "old", size }, thinkingLevel: "high" } },
      contextWindow: async () => 200,
      waits: async () => ({ run: "active", waiting: [{ what: "a message", why: "the run" }] }),
      approvals: { pending: async () => [approval()] },
    });
    expect(text).toBe(
      "Model: p/m, thinking low\nContext: 100 of 200 tokens (50 %)\nToday: 0 tokens, $0.0000\nRun: active\nWaiting:\n- a message: the run\n- exec waits for a yes: /approve kfmz or /deny kfmz",
    );
  });
  test.each<[object | undefined, number | undefined, string]>([
    [undefined, 200, "n/a of 200 tokens"],
    [size, undefined, "100 tokens"],
    [size, 0, "100 tokens"],
    [size, 1, "100 of 1 tokens (10000 %)"],
    [size, 3, "100 of 3 tokens (3333 %)"],
  ])("of a context of %j in %s", async (used, window, text) => {
    const state = { tokens: { model: "old", size: used }, thinkingLevel: "high" };
    const shown = await said("status", "", { agent: { state }, contextWindow: async () => window });
    expect(shown).toContain("Model: old, thinking high");
    expect(shown).toContain(`Context: ${text}\n`);
  });
  test("lists ten things that wait", async () => {
    const waits = (count: number) => async () => ({
      waiting: Array.from({ length: count }, (_, n) => ({ what: `m${n}`, why: "y" })),
    });
    expect(await said("status", "", { waits: waits(10) })).not.toContain("more");
    const text = await said("status", "", { waits: waits(12) });
    expect(text).toContain("- m9: y\n- … and 2 more");
  });
  test("counts since the day began", async () => {
    const since: number[] = [];
    const spentSince = async (at: number) =>
      since.push(at) > 1 ? { tokens: 5, dollars: 0 } : { tokens: 1, dollars: 1.5 };
    expect(await said("status", "", { spentSince })).toContain("Today: 1 tokens, $1.5000");
    expect(await said("status", "", { spentSince, parts: { dayStart: () => 7 } })).toContain(
      "Today: 5 tokens, cost n/a",
    );
    expect(since).toEqual([NOW - 86_400_000, 7]);
  });
});

test("commands that change settings wait their turn, and no others do", () => {
  const waiting = chatCommands.filter(({ inTurn }) => inTurn).map(({ name }) => name);
  expect(waiting.toSorted()).toEqual([
    "activation",
    "elevated",
    "model",
    "queue",
    "reasoning",
    "send",
    "think",
    "usage",
    "verbose",
  ]);
});

describe("/help", () => {
  test("lists every command, or shows one by any of its names", async () => {
    expect((await said("help", "")).split("\n")).toHaveLength(chatCommands.length);
    expect(await said("help", "/YES")).toBe(
      "/approve [ID] [always [call|prefix|tool]] – say yes to a call that waits; alone it lists them\nAlso: /yes, /allow\nExample: /approve kfmz\nYou may use it in your own conversations.",
    );
    expect(await said("commands", "status")).toBe(
      "/status – the model, the context, today's cost, and what waits and why\nYou may use it in your own conversations.",
    );
    expect((await said("help", "deny")).split("\n")[1]).toBe("Also: /no");
    expect(await said("help", "x".repeat(65))).toBe(`There is no /${"x".repeat(64)}. /help lists the commands.`);
  });
});

describe("who may use a command", () => {
  const denial = (name: string, text: string, changes: Changes = {}) => {
    const asked: Effect[] = [];
    const command = commandNamed(name);
    if (!command) throw new TypeError(name);
    const found = denialOf(command, text, contextOf(changes, asked));
    return { denial: found, asked: asked.map(({ action, target, of }) => [action, target, of]) };
  };
  test.each<[string, string, unknown[][]]>([
    ["help", "x", []],
    ["status", "", [["chat_read", undefined, undefined]]],
    ["think", "", [["chat_read", undefined, undefined]]],
    ["think", "high", [["chat_think", "agent:a1", ANN]]],
    ["model", "", [["chat_read", undefined, undefined]]],
    ["model", "a/b", [["chat_model", "agent:a1", ANN]]],
    ["approve", "kfmz", [["chat_read", undefined, undefined]]],
    ["send", "off", [["chat_send", "agent:a1", ANN]]],
  ])("/%s %s", (name, text, asked) => {
    expect(denial(name, text).asked).toEqual(asked);
    expect(denial(name, text).denial).toBeUndefined();
  });
  test("of a conversation without a person, and who may not", () => {
    expect(denial("think", "high", { agent: { person: undefined } }).asked).toEqual([
      ["chat_think", undefined, undefined],
    ]);
    expect(denial("think", "high", { denied: "why" }).denial).toBe("⚙️ You may not use /think here: why.");
    expect(denial("help", "", { denied: "why" }).denial).toBeUndefined();
  });
  test("a command that may not be used does nothing", async () => {
    expect(await run("think", "high", { denied: "why" })).toEqual({ text: "⚙️ You may not use /think here: why." });
  });
});

describe("words", () => {
  test("that are nearly a command get the closest one", async () => {
    expect(await said("unknown", "/stats")).toBe("There is no /stats. Did you mean /status? /help lists the commands.");
    expect(await said("unknown", "/zzzzzzzz")).toBe("There is no /zzzzzzzz. /help lists the commands.");
    expect(await said("stop", "")).toContain("There is no /stop.");
    expect(await said("nope-at-all", "")).toContain("There is no /nope-at-all.");
    expect(await said("unknown", "z".repeat(65))).toContain(`There is no /${"z".repeat(64)}.`);
  });
  test.each([
    ["", true, true],
    ["one", true, false],
    ["one two", false, false],
  ])("%j is at most one word: %s, nothing: %s", (rest, one, none) => {
    expect([oneWord(rest), nothing(rest), anything()]).toEqual([one, none, true]);
  });
  test("take a setting back", () => {
    for (const word of ["default", "Reset", "INHERIT", "clear"]) expect(isResetWord(word)).toBe(true);
    for (const word of ["off", "", "default ".repeat(3)]) expect(isResetWord(word)).toBe(false);
  });
});
