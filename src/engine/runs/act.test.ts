/** Calls of one turn: what is committed of them when their tools, their ops or the tool host fail, and when the run must pause. */
import { describe, expect, it, test } from "vitest";
import { TestEngine, type TestEngineOptions } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { inTurn } from "../../../test/kit/model.ts";
import { toolHost } from "../../../test/kit/tools.ts";
import type { AgentId, ChangeId } from "../../core/ids.ts";
import type { Grant } from "../../core/people/grant.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { ToolContext } from "../../core/ports/tool.ts";
import type { Op } from "../../core/store/change.ts";

let changes = 0;
const commit = (engine: TestEngine, ...ops: Op[]) =>
  engine.store.commit({ id: `test-${++changes}` as ChangeId, site: "test", at: engine.clock.now(), ops });
const putAnn = (engine: TestEngine, grants: readonly Grant[]) =>
  commit(engine, {
    op: "person.put",
    person: { id: "ann", role: "guest", accounts: ["test:ann"], grants, createdAt: 1, createdBy: "owner" },
  });
const text = (said: string) => ({ content: [{ type: "text", text: said }] }) as const;
const toolLines = async (engine: TestEngine) =>
  (await engine.transcript()).filter((line) => line.startsWith("tool: ")).map((line) => line.slice("tool: ".length));

describe("a call", () => {
  it("that the tool host cannot serve gets the error as its result, and the run continues", async () => {
    let broken = false;
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "work" }] }, "done"),
      tools: { work: {} },
      host: (tools) => {
        const host = toolHost(tools);
        return {
          ...host,
          find: (agent, name) => {
            if (broken) throw new TypeError("the host broke");
            return host.find(agent, name);
          },
        };
      },
    });
    engine.onCommit = ({ site }) => {
      broken = site === "think";
      return "go";
    };
    await engine.tell("go");
    expect(await toolLines(engine)).toEqual(["the host broke"]);
    expect((await engine.entries()).find(({ role }) => role === "tool")).toMatchObject({ isError: true });
    expect(engine.shown()).toEqual(["done"]);
  });

  it("whose ops name something that is gone returns that as its error; the results beside it are kept", async () => {
    const acceptedAt = 1;
    const nobody = "f".repeat(24) as AgentId;
    const lost: Op = { op: "message.post", to: { agentId: nobody }, message: { body: { kind: "stop" }, acceptedAt } };
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "post" }, { name: "read" }] }, "done"),
      tools: {
        post: { parallel: true, execute: () => ({ ...text("posted"), ops: [lost] }) },
        read: { parallel: true, execute: () => "was read" },
      },
    });
    await engine.tell("go");
    const [first, second, ...more] = await toolLines(engine);
    expect(first).toContain(nobody);
    expect([second, more]).toEqual(["was read", []]);
    expect((await engine.entries()).filter(({ role }) => role === "tool").map(({ isError }) => isError)).toEqual([
      true,
      false,
    ]);
    expect(engine.executions).toHaveLength(2);
    expect(engine.shown()).toEqual(["done"]);
  });

  it("whose result could not be committed is not turned into an error of its ops", async () => {
    const posted: Op = { op: "fact.put", key: "posted", value: "yes" };
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "post" }] }, "done"),
      tools: { post: { replay: "safe", execute: () => ({ ...text("posted"), ops: [posted] }) } },
    });
    engine.onCommit = ({ site }, nth) => (site === "result" && nth === 1 ? "unknown-lost" : "go");
    await engine.tell("go");
    await engine.advance(1_000);
    expect(await toolLines(engine)).toEqual(["posted"]);
    expect(await engine.store.fact("posted")).toBe("yes");
    expect(engine.shown()).toEqual(["done"]);
  });
});

it("a call knows its run, its person, where the answer goes, and what it was allowed", async () => {
  const seen: Partial<ToolContext>[] = [];
  const engine = await TestEngine.open({
    script: inTurn({ call: [{ id: "c1", name: "look" }] }, "done"),
    tools: { look: { rights: ["read"], execute: (_input, context) => `seen ${seen.push(context)}` } },
    system: { rights: {} },
    settings: { owner: { accounts: ["test:ann"] } },
  });
  await engine.tell("go");
  const [run] = await engine.runs();
  expect(seen).toMatchObject([
    {
      ...{ agentId: await engine.agentId(), runId: run?.id, callId: "c1", delivery: { channel: "test", to: "ann" } },
      ...{ person: "test:ann", behalf: { person: "owner" }, allowed: [{ action: "look", rights: ["read"] }] },
    },
  ]);
});

it("the words of others in a result put them on the way of the run and of the session", async () => {
  const bob = { person: "test:bob" as PersonId };
  const engine = await TestEngine.open({
    script: inTurn({ call: [{ name: "read" }] }, "done"),
    tools: { read: { execute: () => ({ ...text("bob said hi"), heard: [bob] }) } },
  });
  await engine.tell("go");
  const [run] = await engine.runs();
  expect(run?.body.behalf).toMatchObject({ person: "test:ann", through: ["test:bob"] });
  expect((await engine.store.agent(await engine.agentId()))?.state.speakers).toEqual(["test:bob"]);
});

it("what listens to the ops of tools is called after their commit, and only if there are any", async () => {
  const heard: unknown[] = [];
  const fact: Op = { op: "fact.put", key: "k", value: "v" };
  const engine: TestEngine = await TestEngine.open({
    script: inTurn({ call: [{ name: "plain" }, { name: "puts" }] }, "done"),
    tools: { plain: {}, puts: { execute: () => ({ ...text("put"), ops: [fact] }) } },
    system: { hooks: { onToolOps: (ops) => heard.push([...ops, engine.commits.at(-1)?.site]) } },
  });
  await engine.tell("go");
  expect(heard).toEqual([[expect.objectContaining(fact), "result"]]);
  // Each call is intended in the commit of the result before it.
  const sites = engine.commits.map(({ site }) => site);
  expect(sites.slice(sites.indexOf("think"), sites.indexOf("rest") + 1)).toEqual(["think", "result", "result", "rest"]);
  expect((await engine.runs())[0]?.body).toMatchObject({ iterations: 2, calls: [] });
});

it("the audit log says how a call ended that did more than read", async () => {
  const engine = await TestEngine.open({
    script: inTurn({ call: [{ name: "good" }, { name: "bad" }, { name: "look" }] }, "done"),
    tools: {
      good: { rights: ["exec"] },
      bad: { rights: ["exec"], execute: () => ({ ...text("no"), isError: true }) },
      look: { rights: ["read"] },
    },
    system: { rights: {} },
    settings: { owner: { accounts: ["test:ann"] } },
  });
  await engine.tell("go");
  const rows = (await engine.store.audit({ limit: 10 })).map(({ action, outcome }) => `${action} ${outcome}`);
  expect(rows).toEqual(["bad error", "good ok"]);
});

describe("a right that is taken away while a call works", () => {
  /** `first` works until the test lets it; `second` may not run beside it. */
  async function open(more: Partial<TestEngineOptions> = {}) {
    const hold = gate<string>();
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "first" }, { name: "second" }] }, "done"),
      tools: {
        first: { rights: ["exec"], parallel: false, execute: () => hold.promise },
        second: { rights: ["exec"], parallel: false, replay: "never" },
      },
      system: { rights: {} },
      settings: { owner: { accounts: ["test:olga"] } },
      ...more,
    });
    await putAnn(engine, [{ allow: "first" }, { allow: "second" }]);
    await engine.tell("go");
    expect(engine.executions.map(({ name }) => name)).toEqual(["first"]);
    await putAnn(engine, [{ allow: "first" }]);
    return { engine, hold };
  }
  const decisions = async (engine: TestEngine) =>
    [...(await engine.store.audit({ limit: 10 }))].reverse().map(({ action, decision }) => `${action} ${decision}`);

  it("denies the next call in the commit of the result, once", async () => {
    const { engine, hold } = await open();
    hold.open("worked");
    await engine.settle();
    expect(engine.executions.map(({ name }) => name)).toEqual(["first"]);
    const [first, second, ...more] = await toolLines(engine);
    expect([first, more]).toEqual(["worked", []]);
    expect(second).toMatch(/second/u);
    expect((await decisions(engine)).filter((row) => row.startsWith("second"))).toEqual(["second deny"]);
    expect(engine.shown()).toEqual(["done"]);
  });

  it("is judged after the restart if the run pauses first, and the call gets one result", async () => {
    const { engine, hold } = await open();
    const drained = engine.system.drain();
    await engine.settle();
    hold.open("worked");
    await engine.settle();
    await drained;
    expect(await toolLines(engine)).toEqual(["worked"]);
    expect((await engine.runs())[0]?.body).toMatchObject({
      paused: true,
      calls: [{ state: "done" }, { state: "asked" }],
    });
    await engine.restart();
    const [first, second, ...more] = await toolLines(engine);
    expect([first, more]).toEqual(["worked", []]);
    expect(second).toMatch(/second/u);
    expect((await decisions(engine)).filter((row) => row.startsWith("second"))).toEqual(["second deny"]);
    expect(engine.executions.map(({ name }) => name)).toEqual(["first"]);
    expect(engine.shown()).toEqual(["done"]);
  });
});

describe("what a person sees of calls", () => {
  const long = "x".repeat(2_000);
  test.each([
    ["off", []],
    ["on", [`🛠️ a {"n":1}\n🛠️ b {}`]],
    ["full", [`🛠️ a {"n":1}\none\n🛠️ b {}\n${"x".repeat(1_500)}`]],
  ] as const)("at the level %s", async (verboseLevel, shown) => {
    const picture = { type: "image", data: "aGk=", mimeType: "image/png" } as const;
    const engine = await TestEngine.open({
      script: inTurn("hello", { call: [{ name: "a", with: { n: 1 } }, { name: "b" }] }, "done"),
      tools: {
        a: { parallel: true, execute: () => ({ content: [picture, ...text("one").content] }) },
        b: { parallel: true, execute: () => long },
      },
    });
    await engine.tell("hi");
    await engine.send({ kind: "setting", patch: { verboseLevel } });
    await engine.settle();
    const before = engine.shown().length;
    await engine.tell("go");
    expect(engine.shown().slice(before)).toEqual([...shown, "done"]);
  });

  it("is nothing in the run of a schedule", async () => {
    const engine = await TestEngine.open({
      script: inTurn("hello", { call: [{ name: "a" }] }, "done"),
      tools: { a: {} },
    });
    await engine.tell("hi");
    await engine.send({ kind: "setting", patch: { verboseLevel: "full" } });
    await engine.settle();
    const before = engine.shown().length;
    await engine.send({ kind: "trigger", text: "tick", trigger: { type: "cron", id: "j" } });
    await engine.settle();
    expect(engine.executions).toHaveLength(1);
    expect(engine.shown().slice(before)).toEqual(["done"]);
  });
});

it("gives the texts that tools send and the calls that are shown an order and one id each", async () => {
  const target = { channel: "test", to: "ann" };
  const send = (said: string) => () => ({ ...text("sent"), deliveries: [{ target, payload: { text: said } }] });
  const engine = await TestEngine.open({
    script: inTurn("hello", { call: [{ name: "a" }, { name: "b" }] }, { call: [{ name: "a" }] }, "done"),
    tools: { a: { parallel: true, execute: send("from a") }, b: { parallel: true, execute: send("from b") } },
  });
  await engine.tell("hi");
  await engine.send({ kind: "setting", patch: { verboseLevel: "on" } });
  await engine.settle();
  const before = engine.shown().length;
  await engine.tell("go");
  const calls = ["🛠️ a {}\n🛠️ b {}", "🛠️ a {}"];
  expect(engine.shown().slice(before)).toEqual(["from a", "from b", calls[0], "from a", calls[1], "done"]);
  const rows = await engine.deliveries();
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
  expect(rows.every(({ id }) => /\.\d$/u.test(id))).toBe(true);
  const run = (await engine.runs()).at(-1);
  expect(run?.body).toMatchObject({ deliveries: 6, sentTexts: ["from a", "from b", "from a"] });
  expect(run?.body.sentTargets).toEqual([target, target, target]);
});

describe("what the calls of a turn change in the agent", () => {
  const process = { ...{ id: "p1", runId: "r", command: "serve", cwd: "/", startedAt: 1, pid: 7 }, startTime: "1" };
  const kept = {
    search: { foundTools: ["weather"] },
    start: { processes: [{ id: "p1", pid: 7 }] },
    fetch: { untrusted: true },
  };
  test.each<[readonly (keyof typeof kept)[]]>([
    [["search"]],
    [["start"]],
    [["fetch"]],
    [["search", "fetch"]],
    [["search", "start", "fetch"]],
  ])("is kept, all of it: %j", async (names) => {
    const engine = await TestEngine.open({
      script: inTurn({ call: names.map((name) => ({ name })) }, "done"),
      tools: {
        search: { parallel: true, execute: () => ({ ...text("found"), found: ["weather"] }) },
        start: {
          parallel: true,
          execute: () => ({ ...text("started"), processes: { started: { ...process, machine: "m" } } }),
        },
        fetch: { parallel: true, execute: () => ({ ...text("a page"), untrusted: { from: "web" } }) },
      },
    });
    await engine.tell("go");
    const state = (await engine.store.agent(await engine.agentId()))?.state;
    expect(state).toMatchObject(Object.assign({}, ...names.map((name) => kept[name])));
  });
});

it("the tools that a call finds are sent with the next request of the same run", async () => {
  const engine = await TestEngine.open({
    script: inTurn({ call: [{ name: "search" }] }, { call: [{ name: "weather" }] }, "done"),
    tools: { search: { execute: () => ({ ...text("found"), found: ["weather"] }) }, weather: {} },
    host: (tools) => ({
      ...toolHost(tools),
      shown: ({ state }) => tools.filter(({ name }) => name === "search" || state.foundTools?.includes(name)),
    }),
  });
  await engine.tell("go");
  const all = ["search", "weather"];
  expect(engine.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([["search"], all, all]);
});

it("a result whose ops are refused is committed with the refusal, and not tried with the same ops again", async () => {
  const engine = await TestEngine.open({
    script: inTurn({ call: [{ name: "post" }] }, "done"),
    tools: { post: { execute: () => ({ ...text("posted"), ops: [{ op: "fact.put", key: "k", value: "v" }] }) } },
  });
  let tries = 0;
  const commitAsBefore = engine.store.commit;
  engine.store.commit = async (change) => {
    if (change.site !== "result" || ++tries > 1) return commitAsBefore(change);
    return { ok: false, refused: "conflict", detail: "it has changed" };
  };
  await engine.tell("go");
  expect(tries).toBe(2);
  expect(await toolLines(engine)).toEqual(["it has changed"]);
  expect(engine.shown()).toEqual(["done"]);
});
