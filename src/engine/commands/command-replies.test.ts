/** What the commands for settings answer and change, with everything around them made up. Whether the answer is one commit is tested elsewhere. */
import { describe, expect, test } from "vitest";
import type { PersonId } from "../../core/people/person.ts";
import { NOW, run, said } from "./command-context.test-kit.ts";

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
    expect(text).toMatch(/^Nothing was changed: "one", "two", "three", "four", "five" are not queue settings\./);
    expect(await said("queue", "w".repeat(65))).toContain(`"${"w".repeat(64)}"`);
    expect((await run("queue", "collect nonsense")).patch).toBeUndefined();
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
  test("counts what was cut, and marks what others wrote", async () => {
    const entered = async (more: object) => {
      const about = async () => ({ characters: 1, tokens: 1, absent: [], parts: [], lookups: [], ...more }) as never;
      return (await said("memory", "", { turn: about })).split("\n").slice(2);
    };
    expect(await entered({})).toEqual([]);
    expect(await entered({ lookups: [{ tool: "skill", characters: 1 }] })).toEqual([
      "Looked up:",
      "- skill: 1 characters",
    ]);
    const parts = [
      { part: "a", characters: 1_500, limit: 1_000, missing: 500, untrusted: true },
      { part: "b", characters: 10, limit: 1_000 },
    ];
    expect(await entered({ parts, lookups: [{ tool: "memory_search", characters: 2_000, untrusted: true }] })).toEqual([
      "- a: 1,000 of 1,000 characters; 500 MORE DO NOT FIT (with untrusted text)",
      "- b: 10 of 1,000 characters",
      "Looked up:",
      "- memory_search: 2,000 characters (with untrusted text)",
    ]);
  });
});
