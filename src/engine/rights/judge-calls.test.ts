/** What the gate reads before it decides: the effects of a call, the people, the place, the agents above. No engine. */

import { describe, expect, test } from "vitest";
import { z } from "zod";
import { testSettings } from "../../../test/kit/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Behalf } from "../../core/people/behalf.ts";
import { OWNER, type PersonId } from "../../core/people/person.ts";
import type { EffectContext, Tool } from "../../core/ports/tool.ts";
import type { Effect, Standing } from "../../core/rights/decide.ts";
import type { CallRecord, RunBody } from "../../core/run/run.ts";
import { auditOf } from "./audit-entry.ts";
import type { Around } from "./configured-rules.ts";
import { deniedText } from "./denied-text.ts";
import { gateOf, NO_ONE, rightsOf, situationOf } from "./gate.ts";
import { tryCall } from "./try-call.ts";

const ANN = "ann" as PersonId;
const BOB = "bob" as PersonId;
const agent = (more: object = {}): AgentRecord =>
  ({
    id: "a".repeat(24) as AgentId,
    profile: "main",
    descriptor: { type: "user", connector: "test", userId: "ann", channelId: "c" },
    state: {},
    ...more,
  }) as unknown as AgentRecord;
const run = (body: object = {}) => ({ id: "run-1" as RunId, body: { behalf: { person: OWNER }, ...body } as RunBody });
const call = (name: string, given: Record<string, unknown> = {}): CallRecord => ({
  ...{ callId: "call-1", name, arguments: given, replay: "safe", state: "asked" },
});
const tool = (more: Partial<Tool> = {}): Tool =>
  ({ name: "t", rights: ["write"], input: z.object({ text: z.string().optional() }), ...more }) as Tool;
const standing = (person: PersonId): Standing => ({ person, role: person === OWNER ? "owner" : "guest", grants: [] });

type GateParts = Parameters<typeof gateOf>[0];

function gate(tools: readonly Tool[], parts: Partial<GateParts> = {}) {
  return gateOf({
    tools: { list: () => tools, find: (_agent, name) => tools.find((one) => one.name === name) },
    directory: { now: async () => ({ revision: 7, standing, personOf: (id: PersonId) => id }) as never },
    personOf: async () => undefined,
    settings: testSettings(),
    ...parts,
  });
}
const judge = async (one: Tool, body: object = {}, parts: Partial<GateParts> = {}, given = {}) => {
  const judgement = await gate([one], parts).judge(agent(), run(body), [call("t", given)]);
  const [judged] = judgement.calls;
  if (!judged) throw new TypeError("no call");
  return { ...judged, revision: judgement.revision };
};
const host: Effect["detail"] = { kind: "host", host: "a.b" };

describe("the effects of a call", () => {
  test("are its tool's rights, and nothing for a call that no tool takes", async () => {
    const { calls, revision } = await gate([tool()]).judge(agent(), run(), [call("t"), call("none")]);
    expect(revision).toBe(7);
    expect(calls.map(({ effects }) => effects)).toEqual([[{ action: "t", rights: ["write"] }], []]);
    expect(calls.map(({ acts }) => acts)).toEqual([true, false]);
    expect(calls.map(({ person }) => person)).toEqual([OWNER, OWNER]);
  });

  test("of a tool that another agent has are judged too", async () => {
    const known = tool({ name: "t", rights: ["exec"] });
    const tools = { list: () => [], find: () => undefined, known: () => known };
    expect((await judge(tool(), {}, { tools })).effects).toEqual([{ action: "t", rights: ["exec"] }]);
  });

  test("of an old name are those of the present one", async () => {
    const effects: Tool["effects"] = () => [{ action: "other", rights: [] }];
    expect((await judge(tool({ renamed: "now" }))).effects[0]?.action).toBe("now");
    expect((await judge(tool({ renamed: "now", effects }))).effects).toEqual([
      { action: "now", rights: ["write"], needsYes: undefined },
      { action: "other", rights: [], tool: "now" },
    ]);
  });

  test("with arguments that the tool refuses are those of the whole tool", async () => {
    const effects: Tool["effects"] = () => [{ action: "t", rights: [], detail: host }];
    expect((await judge(tool({ effects }), {}, {}, { text: 5 })).effects).toEqual([{ action: "t", rights: ["write"] }]);
  });

  test.each<[string, readonly Effect[], readonly string[]]>([
    ["exactly named take the place of that right", [{ action: "t", rights: ["network"], detail: host }], ["write"]],
    ["of another action do not", [{ action: "u", rights: ["network"], detail: host }], ["network", "write"]],
    ["without a detail do not", [{ action: "t", rights: ["network"] }], ["network", "write"]],
  ])("that are %s", async (_title, named, rest) => {
    const { effects } = await judge(tool({ rights: ["network", "write"], effects: () => named }));
    expect(effects[0]?.rights).toEqual(rest);
    expect(effects.slice(1)).toEqual(named.map((one) => ({ ...one, tool: "t" })));
  });

  test("see the call, its agent and its people", async () => {
    let seen: EffectContext | undefined;
    const effects: Tool["effects"] = (_input, context) => {
      seen = context;
      return [];
    };
    const behalf: Behalf = { person: OWNER };
    await judge(tool({ effects }), { behalf, person: "test:bob" });
    expect(seen).toMatchObject({ agentId: agent().id, runId: "run-1", callId: "call-1", behalf, person: "test:bob" });
    await judge(tool({ effects }), { behalf });
    expect(seen?.person).toBe("test:ann");
  });

  test.each<[string, Tool["needsYes"], true | undefined]>([
    ["wants a yes", () => true, true],
    ["wants none", () => false, undefined],
    [
      "cannot say",
      () => {
        throw new Error("no");
      },
      true,
    ],
  ])("of a tool that %s", async (_title, needsYes, needs) => {
    const judged = await judge(tool({ rights: ["read"], needsYes }));
    expect(judged.effects[0]?.needsYes).toBe(needs);
    expect(judged.acts).toBe(needs === true);
    expect(judged.decision.verdict).toBe(needs ? "ask" : "allow");
  });
});

describe("a call is written to the audit log", () => {
  const named = (effect: Partial<Effect>): Partial<Tool> => ({
    rights: ["read"],
    effects: () => [{ action: "t", rights: [], ...effect }],
  });
  test.each<[string, Partial<Tool>, boolean]>([
    ["not if it only reads", { rights: ["read"] }, false],
    ["if it reads and writes", { rights: ["read", "write"] }, true],
    ["if it reaches another's", named({ target: "telegram:42" }), true],
    ["not if it reaches its own person's", named({ target: "telegram:42", of: OWNER }), false],
  ])("%s", async (_title, more, acts) => {
    expect((await judge(tool(more))).acts).toBe(acts);
  });
});

describe("the people whose rights count", () => {
  test("are everyone on the run's way: the strictest decides", async () => {
    const exec = tool({ name: "t", rights: ["exec"] });
    expect((await judge(exec)).decision.verdict).toBe("allow");
    const both = await judge(exec, { behalf: { person: OWNER, through: [BOB] } });
    expect(both.decision).toMatchObject({ verdict: "deny", person: BOB });
    expect(both.person).toBe(OWNER);
  });

  test("of a run that began before runs named them are those of its agent, or no one", async () => {
    const behalf = undefined;
    expect((await judge(tool(), { behalf }, { personOf: async () => BOB })).person).toBe(BOB);
    const none = await judge(tool(), { behalf });
    expect(none).toMatchObject({ person: NO_ONE, decision: { verdict: "deny", reason: "it acts for no one" } });
  });

  test("own what now belongs to them", async () => {
    const one = tool({
      rights: [],
      effects: () => [{ action: "t", rights: [], target: "x", of: "test:ann" as PersonId }],
    });
    const directory = {
      now: async () => ({ revision: 1, standing, personOf: (id: string) => (id === "test:ann" ? ANN : id) }) as never,
    };
    const judged = await judge(one, { behalf: { person: ANN } }, { directory });
    expect(judged.effects[1]?.of).toBe(ANN);
    expect(judged.decision.verdict).toBe("allow");
    expect(judged.acts).toBe(false);
    expect(judged.effects[0]).not.toHaveProperty("of");
  });
});

describe("what is read for a decision", () => {
  const reads = async (detail: Effect["detail"] | undefined, node: string | undefined) => {
    const read: string[] = [];
    const noted = <Value>(what: string, value: Value): Value => {
      read.push(what);
      return value;
    };
    const parts: Partial<GateParts> = {
      settings: testSettings({ profiles: { main: { exec: node === undefined ? {} : { host: "node", node } } } }),
      placeOf: async () => noted("place", { workspace: "/w" }),
      nodeNames: async () => noted("nodes", ["mars"]),
      ancestorsOf: async () => noted("ancestors", [agent({ profile: "parent" })]),
    };
    await judge(tool({ effects: () => [{ action: "t", rights: [], detail }] }), {}, parts);
    return read;
  };
  test.each<[string, Effect["detail"] | undefined, string | undefined, string[]]>([
    ["nothing but the agents above", undefined, "mars", ["ancestors"]],
    ["the place for a path", { kind: "path", access: "read", path: "/a" }, undefined, ["place", "ancestors"]],
    ["the nodes for a command elsewhere", { kind: "command", argv: ["ls"], cwd: "/" }, "mars", ["nodes", "ancestors"]],
    ["not the nodes for a command here", { kind: "command", argv: ["ls"], cwd: "/" }, undefined, ["ancestors"]],
  ])("%s", async (_title, detail, node, expected) => {
    expect(await reads(detail, node)).toEqual(expected);
  });
});

describe("the situation of a run", () => {
  const situation = (body: object = {}, more: object = {}, settings: object = {}, around?: Around) =>
    situationOf(settings, agent(more), body as RunBody, [standing(ANN)], around);
  test.each<[string, object, object, object]>([
    ["of a conversation", {}, {}, { headless: false, untrusted: false, nesting: false, tag: undefined, kind: "user" }],
    ["of a schedule", {}, { descriptor: { type: "cron", id: "j" } }, { headless: true }],
    ["of the heartbeat", {}, { descriptor: { type: "heartbeat" } }, { headless: true }],
    ["of a hook", { trigger: { type: "webhook", id: "h" } }, {}, { headless: true }],
    ["of a system agent", {}, { descriptor: { type: "system", tag: "doctor" } }, { tag: "doctor", headless: false }],
    ["with text of others on its way", { behalf: { person: ANN, untrusted: true } }, {}, { untrusted: true }],
    ["with others on its way", { behalf: { person: ANN, through: [BOB] } }, {}, { untrusted: true }],
    ["with its own text only", { behalf: { person: ANN } }, {}, { untrusted: false }],
    ["in a session with text of others", {}, { state: { untrusted: true } }, { untrusted: true }],
    ["of an agent that was made by text of others", {}, { state: { madeUntrusted: true } }, { untrusted: true }],
    ["with the tools of its parent", {}, { state: { inheritedTools: ["t"] } }, { inherited: ["t"] }],
  ])("%s", (_title, body, more, expected) => {
    expect(situation(body, more)).toMatchObject(expected);
  });

  test("is bound by the profiles above that are not its own", () => {
    const policyOf = (name: string) => (name === "open" ? undefined : { deny: [name] });
    const ancestors = ["main", "other", "open"].map((profile) => agent({ profile }));
    const found = situation({}, {}, { policyOf, nesting: true }, { ancestors });
    expect(found.profile).toEqual({ deny: ["main"] });
    expect(found.bounds).toEqual([{ deny: ["other"] }]);
    expect(found.nesting).toBe(true);
    expect(situation({}, {}, {}, { ancestors }).bounds).toEqual([]);
    expect(situation().bounds).toBeUndefined();
  });
});

describe("the row of the audit log", () => {
  const row = (body: object, more: object = {}) =>
    auditOf(
      agent(),
      run(body),
      {
        call: call("t", { secret: "x" }),
        person: ANN,
        decision: { verdict: "allow", reason: "" },
        effects: [],
        ...more,
      },
      5,
      "ok",
    );
  test("names the person, the call and its end, and only a digest of the arguments", () => {
    const entry = row({ delivery: { channel: "telegram" } });
    expect(entry).toMatchObject({
      at: 5,
      person: ANN,
      surface: "telegram",
      runId: "run-1",
      callId: "call-1",
      action: "t",
    });
    expect(entry).toMatchObject({ decision: "allow", outcome: "ok", agentId: agent().id });
    expect(entry.digest).toMatch(/^[0-9a-f]{64}$/);
    expect(entry.reason).toBeUndefined();
    expect(entry.target).toBeUndefined();
    expect(JSON.stringify(entry)).not.toContain("secret");
  });
  test.each([
    [{ trigger: { type: "webhook", id: "h" }, delivery: { channel: "telegram" } }, "hook"],
    [{ trigger: { type: "cron", id: "h" } }, "cron"],
    [{ trigger: { type: "heartbeat", id: "h" } }, "heartbeat"],
    [{}, "user"],
  ])("of %j is on %s", (body, surface) => {
    expect(row(body).surface).toBe(surface);
  });
  test("has the first target, the reason, and no field that is too long", () => {
    const effects = [{ target: undefined }, { target: "y".repeat(600) }, { target: "z" }] as unknown as Effect[];
    const entry = row({}, { effects, decision: { verdict: "deny", reason: "because" }, person: "p".repeat(512) });
    expect(entry).toMatchObject({ decision: "deny", reason: "because", person: "p".repeat(512) });
    expect(entry.target?.startsWith("yyy")).toBe(true);
    expect(entry.target?.length).toBeLessThanOrEqual(512);
    expect(row({}, { person: "p".repeat(513) }).person).not.toBe("p".repeat(513));
  });
});

test.each<[string, PersonId | undefined, readonly object[] | undefined, string]>([
  ["a situation", undefined, [], "Denied: exec: no."],
  [
    "a person with a record",
    ANN,
    undefined,
    'Denied: exec: no. Ask the owner for the grant exec (rookery people grant ann "exec").',
  ],
  [
    "what is another's",
    ANN,
    [{ target: "a", of: ANN }, { of: BOB }, { target: "b", of: BOB }],
    'Denied: exec: no. Ask the owner for the grant exec(b) (rookery people grant ann "exec(b)").',
  ],
  [
    "an account without a record",
    "telegram:42" as PersonId,
    [],
    "Denied: exec: no. Ask the owner to add telegram:42 as a person and to grant exec.",
  ],
])("what is denied by %s says what to ask for", (_title, person, effects, text) => {
  expect(deniedText("exec", { verdict: "deny", reason: "no", person }, effects as Effect[] | undefined)).toBe(text);
});

describe("a call that is tried without a run", () => {
  const now = { standing, personOf: (id: PersonId) => id } as never;
  const tried = (text: string, more: object = {}) =>
    tryCall(rightsOf(testSettings({ profiles: { main: { tools: { deny: ["gone"] } } } }).current), now, {
      call: text,
      people: [OWNER],
      ...more,
    });
  test("is decided as the strictest of its effects", () => {
    const bob = tried("exec(ls && rm x > out)", { people: [BOB] });
    expect(bob.decision.verdict).toBe("deny");
    expect(bob.effects.map(({ decision }) => decision.verdict)).toEqual(["deny", "deny", "allow"]);
    expect(tried("exec(ls)").decision.verdict).toBe("allow");
    expect(tried("gone").decision.verdict).toBe("deny");
  });
  test("may be without anyone to ask, with text of others, or of another agent", () => {
    expect(tried("exec(rm x)", { untrusted: true }).decision.verdict).toBe("ask");
    expect(tried("exec(rm x)", { untrusted: true, headless: true }).decision.verdict).toBe("deny");
    const marked = agent({ state: { untrusted: true } });
    expect(tried("exec(rm x)", { agent: marked }).decision.verdict).toBe("ask");
    const cron = agent({ descriptor: { type: "cron", id: "j" }, state: { untrusted: true } });
    expect(tried("exec(rm x)", { agent: cron }).decision.verdict).toBe("deny");
    expect(tried("ask_user", { agent: cron }).decision.verdict).toBe("deny");
    expect(tried("ask_user").decision.verdict).toBe("allow");
  });
  test("must be one", () => {
    expect(() => tried("what is this")).toThrow("expected a call");
  });
});
