/** Who may reach whom: what messages to agents tell the gate, and what happens if a name means another agent by then. */
import { describe, expect, it } from "vitest";
import { START } from "../../../../test/kit/clock.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { Behalf } from "../../../core/people/behalf.ts";
import type { EffectContext, ToolContext } from "../../../core/ports/tool.ts";
import type { Effect } from "../../../core/rights/decide.ts";
import { jsonOf, openTestTools, permanent, person, textOf } from "./agents.test-kit.ts";
import { callKey } from "./outgoing.ts";
import { mayRead, mayWrite } from "./relations.ts";
import { sendAgentMessageTool } from "./send-agent-message.ts";
import { sessionRow } from "./session-row.ts";

const ANY = `{ agentToAgent: { write: ["any"] } }`;

describe("sessions_send", () => {
  it.each<[string, object, string]>([
    [
      "both names of a recipient",
      { sessionKey: "clerk", label: "clerk" },
      "Provide either sessionKey or label (not both).",
    ],
    ["no recipient", {}, "Either sessionKey or label is required"],
    ["an empty recipient", { sessionKey: " " }, "An agent's id, name or session key is needed."],
    ["an empty message", { sessionKey: "clerk", message: " \n" }, "A message needs text."],
  ])("with %s sends nothing and reaches no one", async (_, given, error) => {
    const kit = await openTestTools({ config: ANY });
    const ann = await kit.make(person("ann"));
    const clerk = await kit.make(permanent("clerk"));
    const sent = await kit.call(ann, "sessions_send", { message: "hi", timeoutSeconds: 0, ...given });
    expect(jsonOf(sent)).toMatchObject({ status: "error", error: expect.stringContaining(error) });
    expect([sent.ops, await kit.engine.states(clerk.id)]).toEqual([undefined, []]);
    const effects = await kit
      .tool("sessions_send")
      .effects?.({ message: "hi", ...given }, { agent: ann } as EffectContext);
    expect(effects).toHaveLength("message" in given ? 1 : 0);
  });

  it("finds a child by its label", async () => {
    const kit = await openTestTools();
    const ann = await kit.make(person("ann"));
    const child = await kit.child(ann, "digger");
    const sent = await kit.call(ann, "sessions_send", { label: "digger", message: "hi", timeoutSeconds: 0 });
    expect(sent.ops).toMatchObject([{ op: "message.post", to: { agentId: child.id } }]);
  });

  it.each([
    [-1, false],
    [0, true],
    [86_400, true],
    [86_401, false],
  ])("takes a timeout of %i seconds: %s", async (timeoutSeconds, isTaken) => {
    const { input } = (await openTestTools()).tool("sessions_send");
    expect(input.safeParse({ sessionKey: "a", message: "b", timeoutSeconds }).success).toBe(isTaken);
  });
});

describe("the effects of a message", () => {
  const TOOLS = [
    ["send_agent_message", (name: string) => ({ text: "hi", agentId: name })],
    ["sessions_send", (name: string) => ({ message: "hi", sessionKey: name })],
    ["session_status", (name: string) => ({ sessionKey: name })],
    ["sessions_history", (name: string) => ({ sessionKey: name })],
    ["remove_permanent_agent", (name: string) => ({ agentId: name })],
  ] as const;

  it.each(TOOLS)("of %s name the agent and its person, and nothing inside of the own tree", async (name, given) => {
    const kit = await openTestTools();
    const ann = await kit.make(person("ann"));
    const bob = await kit.make(person("bob"));
    const child = await kit.child(ann, "digger");
    await kit.make(permanent("Night Clerk"));
    const on = async (agent: AgentRecord, to: string) =>
      ((await kit.tool(name).effects?.(given(to), { agent } as EffectContext)) ?? []) as readonly Effect[];
    for (const [from, to] of [
      [ann, ann.id],
      [ann, child.id],
      [child, ann.id],
      [ann, "nobody"],
      [ann, "system:nothing"],
    ] as const)
      expect(await on(from, to)).toEqual([]);
    expect(await on(child, bob.sessionKey)).toMatchObject([
      { action: name, target: `agent:${bob.id}`, of: "test:bob" },
    ]);
    expect(await on(ann, "night clerk")).toMatchObject([{ action: name, target: "agent:night clerk" }]);
  });

  it.each(TOOLS)("of %s are looked at again when it is made: a name may mean another agent", async (name, given) => {
    const kit = await openTestTools({ config: `{ agentToAgent: { write: ["any"], read: ["any"] } }` });
    const ann = await kit.make(person("ann"));
    await kit.make(permanent("clerk"));
    const rights = kit.tool(name).rights;
    const other: Effect = { action: name, rights, target: "agent:guard" };
    const denied = await kit.call(ann, name, given("clerk"), { allowed: [other] });
    expect([textOf(denied), denied.ops]).toEqual([expect.stringContaining("was not allowed to this call"), undefined]);
    const allowed: readonly Effect[] = [other, { action: name, rights, target: "agent:clerk" }];
    const waiting = name === "sessions_send" ? { timeoutSeconds: 0 } : {};
    const made = await kit.call(ann, name, { ...given("clerk"), ...waiting }, { allowed });
    expect(textOf(made)).not.toContain("was not allowed");
  });
});

describe("a message to another shard", () => {
  const shards = { name: "eu", others: ["us"] };
  const setUp = async () => {
    const kit = await openTestTools({ config: ANY });
    const ann = await kit.make(person("ann"));
    const tool = sendAgentMessageTool({ ...kit.deps, shards });
    const context = (more: Partial<ToolContext> = {}) =>
      ({ agent: ann, runId: "r", callId: "c", ...more }) as ToolContext;
    const send = (text: string, more?: Partial<ToolContext>) =>
      tool.execute({ text, agentId: "us/clerk" }, context(more));
    return { ann, tool, send, context };
  };

  it("is a delivery with its sender, and the gate knows the shard", async () => {
    const { ann, tool, send, context } = await setUp();
    expect(await tool.effects?.({ text: "hi", agentId: "us/clerk" }, context())).toEqual([
      { action: "send_agent_message", rights: ["send"], target: "shard:us/clerk" },
    ]);
    const behalf = { person: "ann", untrusted: true } as Behalf;
    const { deliveries, ops } = await send("hi", { behalf });
    expect(ops).toBeUndefined();
    expect(JSON.parse(deliveries?.[0]?.payload.text ?? "")).toMatchObject({
      ...{ kind: "system", text: "hi", origin: `eu/${ann.id}`, hops: 1, behalf },
    });
  });

  it("is not sent if it is too long, empty or was not allowed", async () => {
    const { send } = await setUp();
    expect((await send("x".repeat(8_000))).deliveries).toHaveLength(1);
    await expect(send("x".repeat(8_001))).rejects.toThrow("at most 8000 characters");
    await expect(send(" ")).rejects.toThrow("A message needs text.");
    await expect(send("hi", { allowed: [] })).rejects.toThrow("was not allowed to this call");
  });
});

describe("relations", () => {
  it("let a guest who was granted another person's agent reach it, not the owner and not its own people", async () => {
    const kit = await openTestTools({ config: `{ agentToAgent: { write: [], read: [] } }` });
    const [ann, made] = [await kit.make(person("ann")), await kit.make(person("bob"))];
    const bob = { ...made, person: "test:bob" } as AgentRecord;
    const behalf = (who: string, others: readonly string[] = []) => ({ person: who, others }) as unknown as Behalf;
    const tried = async (context: object) => {
      const caller = { agent: ann, ...context } as ToolContext;
      const results = await Promise.allSettled([
        mayWrite(kit.deps, caller, { agent: bob }),
        mayRead(kit.deps, caller, bob),
      ]);
      return results.map(({ status }) => status === "fulfilled");
    };
    expect(await tried({ behalf: behalf("test:ann") })).toEqual([true, true]);
    expect(await tried({ behalf: behalf("test:bob") })).toEqual([false, false]);
    expect(await tried({ behalf: behalf("owner") })).toEqual([false, false]);
    expect(await tried({})).toEqual([false, false]);
  });

  it("let a swarm's agent read itself only, whatever the configuration says", async () => {
    const kit = await openTestTools({ config: `{ agentToAgent: { read: ["any"] } }` });
    const ann = await kit.make(person("ann"), { lastHumanAt: START });
    const api = await kit.make({ type: "swarm", id: "desk", contact: ann.id });
    expect(textOf(await kit.call(api, "session_status", { sessionKey: ann.id }))).toContain("Session not visible");
    expect(jsonOf(await kit.call(api, "session_status", {}))).toMatchObject({ agentId: api.id });
    expect(jsonOf(await kit.call(ann, "session_status", { sessionKey: api.id }))).toMatchObject({ agentId: api.id });
  });
});

it("gives a call that is repeated the same key, and every other call another one", () => {
  const key = (runId: string, callId: string, input: unknown) => callKey({ runId, callId } as ToolContext, input);
  const first = key("r", "c", { a: 1 });
  expect(key("r", "c", { a: 1 })).toBe(first);
  for (const other of [key("r2", "c", { a: 1 }), key("r", "c2", { a: 1 }), key("r", "c", { a: 2 })])
    expect(other).not.toBe(first);
});

it.each([
  [{ runId: "r", waiting: 1, stopped: { at: 1 } }, "stopped"],
  [{ runId: "r", waiting: 1 }, "running"],
  [{ waiting: 1 }, "waiting"],
  [{ waiting: 0 }, "resting"],
])("shows %j as %s", (agent, status) => {
  const record = { descriptor: { type: "heartbeat" }, state: { updatedAt: 1, stats: {} }, createdAt: 1, ...agent };
  expect(sessionRow(record as unknown as AgentRecord).status).toBe(status);
});
