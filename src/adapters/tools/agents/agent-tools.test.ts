import { describe, expect, it } from "vitest";
import { START } from "../../../../test/kit/clock.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { Op } from "../../../core/store/change.ts";
import { jsonOf, openTestTools, permanent, person, textOf } from "./agents.test-kit.ts";

const posted = (ops: readonly Op[] = []) => ops.flatMap((op) => (op.op === "message.post" ? [op] : []));

const BOB_OWNS = `{ owner: { accounts: ["test:bob"] } }`;

describe("send_agent_message without a target", () => {
  it("goes from a subagent to its parent, not to the last foreground agent", async () => {
    const kit = await openTestTools();
    const ann = await kit.make(person("ann"), { lastHumanAt: START });
    await kit.make(person("bob"), { lastHumanAt: START + 5 });
    const child = await kit.child(ann, "digger");
    const sent = await kit.call(child, "send_agent_message", { text: "found it" });
    expect(textOf(sent)).toBe("System message sent.");
    expect(posted(sent.ops)).toEqual([
      {
        op: "message.post",
        to: { agentId: ann.id },
        message: {
          body: { kind: "system", text: "found it", origin: child.id, hops: 1 },
          delivery: { channel: "test", to: "ann" },
          acceptedAt: START,
        },
      },
    ]);
  });

  it("goes from other agents to the agent their person wrote to last, also right after a restart", async () => {
    const kit = await openTestTools({ config: BOB_OWNS });
    const job = await kit.make({ type: "cron", id: "nightly" });
    await kit.make(person("ann"), { lastHumanAt: START });
    const bob = await kit.make(person("bob"), { lastHumanAt: START + 5 });
    await kit.make(person("mallory"), { lastHumanAt: START + 9 });
    await kit.engine.restart();
    const sent = await kit.call(job, "send_agent_message", { text: "done", silent: true });
    expect(posted(sent.ops)).toMatchObject([{ to: { agentId: bob.id }, message: { body: { silent: true } } }]);
    expect(posted(sent.ops)[0]?.message.delivery).toBeUndefined();
  });

  it.each([
    ["no person has written", "No recent foreground agent found."],
    ["the parent is gone", "Agent not found: gone00000000000000000000"],
  ])("returns an error if %s", async (_, text) => {
    const kit = await openTestTools();
    const agent = text.startsWith("No")
      ? await kit.make({ type: "heartbeat" })
      : await kit.make({ type: "subagent", id: "x", parentAgentId: "gone00000000000000000000", name: "x" });
    const sent = await kit.call(agent, "send_agent_message", { text: "hello?" });
    expect([sent.isError, textOf(sent), sent.ops]).toEqual([true, text, undefined]);
  });

  it("reaches the heartbeat of its own profile by name, else the last one of another", async () => {
    const kit = await openTestTools({ config: BOB_OWNS });
    const bob = await kit.make(person("bob"), { lastHumanAt: START });
    const none = await kit.call(bob, "send_agent_message", { text: "look", agentId: "heartbeat" });
    expect(textOf(none)).toBe("Agent not found: heartbeat");
    for (const profile of ["work", "main"]) {
      const { id } = await kit.make({ type: "heartbeat" }, { profile });
      const sent = await kit.call(bob, "send_agent_message", { text: "look", agentId: "heartbeat" });
      expect(posted(sent.ops)).toMatchObject([{ to: { agentId: id } }]);
    }
  });

  it("works under its old name with the old parameters", async () => {
    const kit = await openTestTools({ config: BOB_OWNS });
    const bob = await kit.make(person("bob"), { lastHumanAt: START });
    const job = await kit.make({ type: "cron", id: "nightly" });
    const clerk = await kit.make(permanent("clerk"));
    for (const [sessionId, to] of [
      [undefined, bob.id],
      [clerk.id, clerk.id],
    ]) {
      const sent = await kit.call(job, "send_session_message", { text: "done", sessionId });
      expect(textOf(sent)).toBe("System message sent.");
      expect(posted(sent.ops)).toMatchObject([{ to: { agentId: to } }]);
    }
  });
});

describe("the target of a message", () => {
  it("is found by its id, its session key, its name in any case, as main, and by a child's name", async () => {
    const kit = await openTestTools({ config: `{ profiles: { work: {} }, agentToAgent: { write: ["any"] } }` });
    const owner = await kit.make(person("owner", "terminal"));
    const bob = await kit.make(person("bob"));
    const clerk = await kit.make(permanent("Night Clerk"));
    const worker = await kit.make(permanent("worker"), { profile: "work" });
    const child = await kit.child(bob, "digger");
    const table: readonly [string, AgentId][] = [
      [owner.id, owner.id],
      [owner.sessionKey, owner.id],
      ["main", owner.id],
      ["Night Clerk", clerk.id],
      [" night clerk ", clerk.id],
      ["worker", worker.id],
      ["digger", child.id],
      [`${child.sessionKey}`, child.id],
    ];
    for (const [name, id] of table) {
      const sent = await kit.call(bob, "send_agent_message", { text: "hi", agentId: name });
      expect(posted(sent.ops)[0]?.to, name).toEqual({ agentId: id });
    }
  });

  it.each(["nobody", "agent:main:permanent:nobody", "aaaaaaaaaaaaaaaaaaaaaaaa"])(
    "is reported as not found: %s",
    async (name) => {
      const kit = await openTestTools();
      const ann = await kit.make(person("ann"));
      const sent = await kit.call(ann, "send_agent_message", { text: "hi", agentId: name });
      expect([sent.isError, textOf(sent)]).toEqual([true, `Agent not found: ${name}`]);
      const asked = await kit.call(ann, "sessions_send", { sessionKey: name, message: "hi" });
      expect(jsonOf(asked)).toMatchObject({
        status: "error",
        error: expect.stringContaining(`Agent not found: ${name}`),
      });
    },
  );
});

describe("writing to another agent", () => {
  const DENIED = "Agent-to-agent messaging denied by agentToAgent.write.";
  it.each<[write: string | undefined, who: string, other: string, allowed: boolean]>([
    [undefined, "child", "parent", true],
    [undefined, "child", "sibling", true],
    [undefined, "parent", "child", true],
    [undefined, "stranger", "child", false],
    [undefined, "stranger", "parent", false],
    [undefined, "parent", "stranger", false],
    [undefined, "stranger", "clerk", true],
    [undefined, "clerk", "stranger", false],
    ['["parent"]', "child", "parent", true],
    ['["parent"]', "child", "sibling", false],
    ['["parent"]', "child", "clerk", false],
    ['["foreground"]', "clerk", "parent", true],
    ['["foreground"]', "clerk", "stranger", false],
    ['["any"]', "clerk", "stranger", true],
    ["[]", "child", "parent", false],
  ])("with agentToAgent.write %s, from %s to %s: allowed is %s", async (write, who, other, allowed) => {
    const kit = await openTestTools(
      write === undefined ? {} : { config: `{ owner: { accounts: ["test:ann"] }, agentToAgent: { write: ${write} } }` },
    );
    const stranger = await kit.make(person("stranger"), { lastHumanAt: START });
    const parent = await kit.make(person("ann"), { lastHumanAt: START + 5 });
    const agents: Record<string, typeof parent> = {
      parent,
      stranger,
      child: await kit.child(parent, "digger"),
      sibling: await kit.child(parent, "other"),
      clerk: await kit.make(permanent("clerk")),
    };
    const [from, to] = [agents[who] as typeof parent, agents[other] as typeof parent];
    const sent = await kit.call(from, "send_agent_message", { text: "hi", agentId: to.id });
    expect(textOf(sent)).toBe(allowed ? "System message sent." : DENIED);
    const asked = await kit.call(from, "sessions_send", {
      sessionKey: to.sessionKey,
      message: "hi",
      timeoutSeconds: 0,
    });
    expect(jsonOf(asked)).toEqual(
      allowed
        ? { status: "accepted", sessionKey: to.sessionKey }
        : { status: "forbidden", error: DENIED, sessionKey: to.sessionKey },
    );
  });

  it("is refused for itself and for an empty text", async () => {
    const kit = await openTestTools({ config: `{ agentToAgent: { write: ["any"] } }` });
    const ann = await kit.make(person("ann"), { lastHumanAt: START });
    expect(textOf(await kit.call(ann, "send_agent_message", { text: "me?" }))).toBe(
      "An agent cannot send a message to itself.",
    );
    const clerk = await kit.make(permanent("clerk"));
    expect(textOf(await kit.call(ann, "send_agent_message", { text: " ", agentId: clerk.id }))).toBe(
      "A message needs text.",
    );
  });

  it("is possible for a swarm's agent only to its contact, in every configuration", async () => {
    const kit = await openTestTools({ config: `{ agentToAgent: { write: ["any"] } }` });
    const ann = await kit.make(person("ann"), { lastHumanAt: START });
    const clerk = await kit.make(permanent("clerk"));
    const api = await kit.make({ type: "swarm", id: "desk", contact: ann.id });
    expect(textOf(await kit.call(api, "send_agent_message", { text: "hi", agentId: ann.id }))).toBe(
      "System message sent.",
    );
    expect(textOf(await kit.call(api, "send_agent_message", { text: "hi", agentId: clerk.id }))).toBe(
      "Can only message agents that have contacted this swarm",
    );
  });
});

describe("a long text", () => {
  it("goes into a file that only its recipient can read, and the message contains its beginning", async () => {
    const kit = await openTestTools();
    const ann = await kit.make(person("ann"), { lastHumanAt: START });
    const clerk = await kit.make(permanent("clerk"));
    const text = `${"word ".repeat(2_000)}the end`;
    const sent = await kit.call(ann, "send_agent_message", { text, agentId: "clerk" });
    const body = posted(sent.ops)[0]?.message.body;
    if (body?.kind !== "system") throw new TypeError("no message");
    const path = /whole text is in (\S+);/.exec(body.text)?.[1] ?? "";
    expect(body.text).toBe(
      `${text.slice(0, 1_000)}\n\n[1000 of 10007 characters. The whole text is in ${path}; read it with read_message_file.]`,
    );
    expect(textOf(await kit.call(clerk, "read_message_file", { path }))).toBe(text);
    expect(textOf(await kit.call(clerk, "read_message_file", { path, offset: 10_000 }))).toBe("the end");
    expect(textOf(await kit.call(ann, "read_message_file", { path }))).toBe(`${path} is not a message to this agent.`);
    expect(textOf(await kit.call(clerk, "read_message_file", { path: path.replace(".txt", "") }))).toMatch(
      /^There is no file/,
    );
    const again = await kit.call(ann, "send_agent_message", { text, agentId: "clerk" });
    expect(posted(again.ops)[0]?.message.body).toEqual(body);
  });
});

describe("sessions_list", () => {
  it("shows all agents to the owner's agents, their own tree to others, and only itself to a swarm's agent", async () => {
    const kit = await openTestTools();
    const owner = await kit.make(person("owner", "terminal"));
    const ann = await kit.make(person("ann"));
    const child = await kit.child(ann, "digger");
    const deep = await kit.child(child, "deeper");
    const api = await kit.make({ type: "swarm", id: "desk", contact: ann.id });
    const keys = async (agent: typeof ann, input = {}) =>
      (jsonOf(await kit.call(agent, "sessions_list", input)).sessions as { agentId: string }[]).map(
        (one) => one.agentId,
      );
    expect(await keys(owner)).toEqual([api, deep, child, ann, owner].map(({ id }) => id));
    expect(await keys(deep)).toEqual([ann, child, deep].map(({ id }) => id));
    expect(await keys(api)).toEqual([api.id]);
    expect(await keys(owner, { kinds: ["subagent"], limit: 1 })).toEqual([deep.id]);
    await kit.engine.advance(60_000);
    expect(await keys(owner, { activeMinutes: 0.5 })).toEqual([]);
  });

  it("shows identity and status of each agent", async () => {
    const kit = await openTestTools();
    const owner = await kit.make(person("owner", "terminal"), { lastHumanAt: START });
    expect(jsonOf(await kit.call(owner, "sessions_list", {}))).toEqual({
      count: 1,
      sessions: [
        {
          key: "agent:main:main",
          agentId: owner.id,
          kind: "user",
          label: "user",
          profile: "main",
          sessionId: owner.sessionId,
          status: "waiting",
          waiting: 1,
          updatedAt: START,
          lastHumanAt: START,
          channel: "terminal",
          totalTokens: 0,
        },
      ],
    });
  });
});

describe("sessions_history and session_status", () => {
  it("show nothing of agents that the caller may not read", async () => {
    const kit = await openTestTools();
    const ann = await kit.make(person("ann"), { lastHumanAt: START });
    const bob = await kit.make(person("bob"));
    for (const name of ["sessions_history", "session_status"]) {
      const read = await kit.call(bob, name, { sessionKey: ann.sessionKey });
      expect([read.isError, textOf(read)]).toEqual([
        true,
        "Session not visible from this agent: agentToAgent.read does not allow it.",
      ]);
    }
  });

  it("return the messages without thinking, images, tools and silent replies, newest last", async () => {
    const replies = [
      {
        content: [
          { type: "thinking", thinking: "hm" },
          { type: "text", text: "one" },
        ],
      },
      { content: [{ type: "text", text: "NO_REPLY" }] },
      { say: "I look", call: [{ name: "look" }] },
      "three",
    ] as const;
    let n = 0;
    const kit = await openTestTools({ engine: { script: () => replies[n++] as never, tools: { look: {} } } });
    const { engine } = kit;
    for (const words of ["first", "second", `third ${"x".repeat(5_000)}`]) await engine.tell(words);
    const id = await engine.agentId();
    const ann = (await engine.store.agent(id)) as NonNullable<Awaited<ReturnType<typeof engine.store.agent>>>;
    const said = async (input: object) =>
      (
        jsonOf(await kit.call(ann, "sessions_history", { sessionKey: ann.id, ...input })).messages as {
          role: string;
          text: string;
        }[]
      ).map(({ role, text }) => `${role}: ${text.length > 50 ? `${text.length}` : text}`);
    expect(await said({})).toEqual([
      "user: first",
      "assistant: one",
      "user: second",
      "user: 4019",
      "assistant: I look",
      "assistant: three",
    ]);
    expect(await said({ limit: 2 })).toEqual(["assistant: I look", "assistant: three"]);
    expect((await said({ includeTools: true })).slice(-3)).toEqual([
      "assistant: I look\n[calls look {}]",
      "tool: look done",
      "assistant: three",
    ]);
  });

  it("limit their output for any history", async () => {
    const kit = await openTestTools({ engine: { script: () => "y".repeat(3_900) } });
    const { engine } = kit;
    for (let n = 0; n < 40; n++) await engine.tell(`${n}`);
    const ann = (await engine.store.agent(await engine.agentId())) as NonNullable<
      Awaited<ReturnType<typeof engine.store.agent>>
    >;
    const output = await kit.call(ann, "sessions_history", { sessionKey: ann.id, limit: 400 });
    expect(jsonOf(output)).toMatchObject({ cut: true });
    expect(textOf(output).length).toBeLessThan(kit.tool("sessions_history").maxOutput);
    const { messages } = jsonOf(output) as { messages: { text: string }[] };
    expect(messages.at(-2)?.text).toBe("39");
  });

  it("show the caller's own status", async () => {
    const kit = await openTestTools();
    const { engine } = kit;
    await engine.tell("hi");
    const ann = (await engine.store.agent(await engine.agentId())) as NonNullable<
      Awaited<ReturnType<typeof engine.store.agent>>
    >;
    expect(jsonOf(await kit.call(ann, "session_status", {}))).toMatchObject({
      key: ann.sessionKey,
      status: "resting",
      waiting: 0,
      model: "scripted/scripted-1",
      totalTokens: 15,
      now: START,
    });
  });
});

describe("agents_list", () => {
  it("lists the allowed profiles and the permanent agents", async () => {
    const kit = await openTestTools({ config: "{ profiles: { work: {} } }" });
    const ann = await kit.make(person("ann"));
    const clerk = await kit.make(permanent("clerk"));
    expect(jsonOf(await kit.call(ann, "agents_list", {}))).toEqual({
      requester: "main",
      agents: [{ id: "main", configured: false }],
      permanent: [{ id: clerk.id, name: "clerk", description: "is clerk" }],
      system: [
        { tag: "librarian", description: expect.stringMatching(/^keeps MEMORY.md and memory/) },
        { tag: "doctor", description: expect.stringMatching(/^explains what is stuck/) },
      ],
      swarms: [],
    });
  });
});
