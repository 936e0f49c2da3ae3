/** Every method of an engine, in the process, over the control socket and over HTTP: the same table for every form. */

import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lastText, modelResult } from "../../../test/kit/model.ts";
import type { Model } from "../../core/ports/model.ts";
import type { ConnectedRookery } from "../client/connect-url.ts";
import type { RookeryClient } from "../client/rookery-client.ts";
import { connectRookery } from "./connect-rookery.ts";
import { createRookery, type Rookery } from "./create-rookery.ts";
import { toNode } from "./mounts.test-kit.ts";

const model: Model = {
  async call(request, _signal, onEvent) {
    const text = `answer to ${lastText(request)}`;
    onEvent({ type: "text", delta: text });
    return modelResult(text);
  },
};

const home = mkdtempSync(join(tmpdir(), "rookery-both-"));
let engine: Rookery;
let connected: ConnectedRookery;
let overHttp: ConnectedRookery;
let server: Server;
beforeAll(async () => {
  const config = { gateway: { publicUrl: "http://127.0.0.1:7717" } };
  engine = await createRookery({ home, model, config, env: {} });
  connected = connectRookery({ home });
  // `fetch` mounted in a plain server of Node: the requests of the third form come over real HTTP.
  server = createServer(toNode(engine.fetch)).listen(0, "127.0.0.1");
  await once(server, "listening");
  // Minted by the first request with a token.
  await engine.fetch(new Request("http://localhost/v1/models"));
  const token = readFileSync(join(home, "token"), "utf8").trim();
  overHttp = connectRookery({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token });
});
afterAll(async () => {
  await connected.close();
  await overHttp.close();
  server.closeAllConnections();
  server.close();
  await engine.close();
  rmSync(home, { recursive: true, force: true });
});

/** `n` is another one for each form: both work on the same engine. */
type Case = (rookery: RookeryClient, n: string) => Promise<unknown>;
const nothingThere = { code: "not_found" };
const JOB = {
  schedule: { kind: "cron", expr: "0 3 * * *" },
  payload: { kind: "agentTurn", message: "report" },
} as const;

const METHODS: Readonly<Record<string, Case>> = {
  "agent.send": async (r, n) => expect((await (await r.agent(n).send("a")).result()).text).toBe("answer to a"),
  "agent.ask": async (r, n) => expect(await r.agent(n).ask("b")).toBe("answer to b"),
  "agent.stream": async (r, n) => {
    for await (const event of r.agent(n).stream("c")) if (event.type === "end") expect(event.outcome).toBe("ok");
  },
  "agent.history": async (r, n) => expect((await r.agent(n).history()).items.length).toBeGreaterThan(5),
  agentFor: async (r) => expect(await r.agentFor("heartbeat")).toBeUndefined(),
  "agent.inbox": async (r, n) => expect(await r.agent(n).inbox()).toMatchObject({ waiting: [] }),
  "agent.messages": async (r, n) => {
    const { items } = await r.agent(n).messages({ state: ["answered", "failed"], limit: 2 });
    expect(items.map(({ state }) => state)).toEqual(["answered", "answered"]);
  },
  "agent.transcript": async (r, n) =>
    expect((await r.agent(n).transcript()).text.split("\n")[0]).toContain('"type":"session"'),
  "agent.patch": async (r, n) => (await r.agent(n).patch({ label: n })).result(),
  "agent.state": async (r, n) => expect((await r.agent(n).state()).label).toBe(n),
  "agent.branch": async (r, n) => {
    const [newest] = (await r.agent(n).history({ limit: 1 })).items;
    await r.agent(n).branch(String(newest?.entry?.id));
  },
  "agent.compact": async (r, n) => (await r.agent(n).compact()).result(),
  "agent.reset": async (r, n) => (await r.agent(n).reset()).result(),
  "agent.stop": async (r, n) => (await r.agent(n).stop()).result(),
  search: async (r, n) => {
    await r.agent(n).ask(`walrus ${n}`);
    expect((await r.search(`walrus ${n}`, { limit: 3 })).items[0]?.snippet).toContain(n);
  },
  "agents.list": async (r) => expect((await r.agents.list()).items.length).toBeGreaterThan(0),
  "agents.get": async (r, n) => expect((await r.agents.get(`agent:main:api:dm:${n}`)).kind).toBe("user"),
  "agents.inbox": async (r) => expect((await r.agents.inbox({ state: "unanswered" })).next).toBeNull(),
  "agents.memory": async (r, n) =>
    expect((await r.agents.memory(`agent:main:api:dm:${n}`)).turn?.parts.length).toBeGreaterThan(0),
  "agents.tree": async (r) => expect((await r.agents.tree()).roots.length).toBeGreaterThan(0),
  "runs.list": async (r, n) => expect(await lastRun(r, n)).toBeTruthy(),
  "runs.get": async (r, n) => expect((await r.runs.get(await lastRun(r, n))).state).toBe("ended"),
  "runs.wait": async (r, n) => expect((await r.runs.wait(await lastRun(r, n))).status).toBe("ended"),
  "runs.abort": async (r, n) => expect(await r.runs.abort(await lastRun(r, n))).toBe(false),
  "runs.steer": async (r, n) => {
    const run = await lastRun(r, n);
    await expect(r.runs.steer(run, "x")).rejects.toMatchObject({ code: "not_streaming" });
  },
  "runs.events": async (r, n) => {
    const events = r.runs.events(await lastRun(r, n));
    expect((await events.next()).value?.type).toBeTruthy();
    await events.return(undefined);
  },
  "outbox.list": async (r) => expect((await r.outbox.list({ state: "failed" })).items).toEqual([]),
  "outbox.get": (r) => expect(r.outbox.get("x.0")).rejects.toMatchObject(nothingThere),
  "outbox.retry": (r) => expect(r.outbox.retry("x.0")).rejects.toMatchObject(nothingThere),
  "outbox.drop": (r) => expect(r.outbox.drop("x.0")).rejects.toMatchObject(nothingThere),
  "approvals.list": async (r) => expect((await r.approvals.list()).items).toEqual([]),
  "approvals.get": (r) => expect(r.approvals.get("kmtb")).rejects.toMatchObject(nothingThere),
  "approvals.yes": (r) => expect(r.approvals.yes("kmtb", { digest: "d" })).rejects.toMatchObject(nothingThere),
  "approvals.no": (r) => expect(r.approvals.no("kmtb")).rejects.toMatchObject(nothingThere),
  "mailbox.list": async (r, n) => {
    await r.agent(n).send("to the mailbox", { mailbox: true });
    expect((await r.mailbox(n).list({ wait: 10 })).items).toHaveLength(1);
  },
  "mailbox.items": async (r, n) => {
    for await (const { text } of r.mailbox(n).items()) {
      expect(text).toBe("answer to to the mailbox");
      break;
    }
  },
  "mailbox.file": (r, n) => expect(r.mailbox(n).file("x.0", "file_none")).rejects.toMatchObject(nothingThere),
  "mailbox.ack": async (r, n) => {
    const { items } = await r.mailbox(n).list();
    await r.mailbox(n).ack(...items.map(({ id }) => id));
    expect((await r.mailbox(n).list()).items).toEqual([]);
  },
  "files.put": async (r, n) =>
    expect(await note(r, n)).toMatchObject({ name: "note.txt", size: 10 + n.length, as: "text" }),
  "files.get": async (r, n) => {
    const file = await r.files.get((await note(r, n)).id, { user: n });
    expect([file.mimeType, await file.text()]).toEqual(["text/plain", `a note of ${n}`]);
    expect(await file.bytes()).toEqual(new TextEncoder().encode(`a note of ${n}`));
  },
  "files.list": async (r, n) => expect((await r.files.list({ user: n })).items).toEqual([await note(r, n)]),
  "files.usage": async (r, n) => expect((await r.files.usage({ user: n })).usedBytes).toBe(10 + n.length),
  "files.removeAll": async (r, n) => {
    await note(r, n);
    expect(await r.files.removeAll({ user: n })).toBe(1);
    expect((await r.files.list({ user: n })).items).toEqual([]);
  },
  "files.remove": async (r, n) => {
    const { id } = await note(r, n);
    await r.files.remove(id, { user: n });
    await expect(r.files.get(id)).rejects.toMatchObject(nothingThere);
  },
  "schedule.add": async (r, n) => expect((await r.schedule.add({ name: n, ...JOB })).name).toBe(n),
  "schedule.list": async (r) => expect((await r.schedule.list()).items.length).toBeGreaterThan(0),
  "schedule.get": async (r, n) => expect((await r.schedule.get((await job(r, n)).id)).name).toBe(n),
  "schedule.update": async (r, n) => {
    const { id } = await job(r, n);
    expect(await r.schedule.update(id, { description: "changed" })).toMatchObject({ description: "changed" });
  },
  "schedule.run": async (r, n) => expect((await r.schedule.run((await job(r, n)).id)).slot).toBeTruthy(),
  "schedule.runs": async (r, n) => expect((await r.schedule.runs((await job(r, n)).id)).items).toHaveLength(1),
  "schedule.heartbeats": async (r) =>
    expect((await r.schedule.heartbeats({ limit: 1 })).items).toMatchObject([{ profile: "main" }]),
  "schedule.remove": async (r, n) => r.schedule.remove((await job(r, n)).id),
  spawn: async (r, n) => expect((await (await r.spawn(n, "count")).wait({ timeoutMs: 30_000 })).status).toBe("ended"),
  "subagents.list": async (r, n) => expect((await childrenOf(r, n)).map(({ task }) => task)).toEqual(["count"]),
  "subagents.get": async (r, n) => {
    const [child] = await childrenOf(r, n);
    expect((await r.subagents.get(String(child?.runId))).record).toMatchObject({ task: "count" });
  },
  "subagents.send": async (r, n) => r.subagents.send(String((await childrenOf(r, n))[0]?.runId), "and again"),
  "subagents.stop": async (r, n) => {
    const { runId } = await r.spawn(n, "count more");
    await r.subagents.stop(runId);
  },
  "subagents.release": (r) =>
    expect(r.subagents.release("00000000-0000-4000-8000-000000000000")).rejects.toMatchObject(nothingThere),
  permanent: async (r, n) => {
    const made = await r.permanent(`Clerk ${n}`, { description: "files", systemPrompt: "You file." });
    expect(await made.ask("hi")).toBe("answer to hi");
    // The same name again changes it, and the handle without options is the same agent.
    await r.permanent(`Clerk ${n}`, { description: "files more", systemPrompt: "You file more." });
    expect(await r.permanent(`clerk ${n}`).ask("hi")).toBe("answer to hi");
    expect((await r.agents.get(made.name)).descriptor).toMatchObject({ description: "files more" });
  },
  "swarm.create": async (r, n) => {
    const swarm = { nametag: `desk-${n}`, firstName: "Desk", systemPrompt: "You answer." };
    expect(await r.swarm.create(swarm)).toMatchObject({ ...swarm, memory: false });
    await expect(r.swarm.create(swarm)).rejects.toMatchObject({ code: "conflict" });
  },
  "swarm.list": async (r) => expect((await r.swarm.list()).items.length).toBeGreaterThan(0),
  "swarm.get": async (r, n) => expect((await r.swarm.get(`desk-${n}`)).contacts).toEqual([]),
  "swarm.remove": async (r, n) => r.swarm.remove(`desk-${n}`),
  "permissions.add": async (r) => {
    expect(await r.permissions.add("deny", "exec(rm *)")).toMatchObject({ text: "exec(rm *)", source: "owner" });
    await expect(r.permissions.add("deny", "exec(")).rejects.toMatchObject({ code: "invalid_input" });
  },
  "permissions.list": async (r) =>
    expect((await r.permissions.list()).items).toMatchObject([{ verdict: "deny", text: "exec(rm *)", stored: true }]),
  "permissions.test": async (r) =>
    expect((await r.permissions.test("exec(rm x)")).decision).toMatchObject({ verdict: "deny" }),
  "permissions.remove": async (r) => {
    await r.permissions.remove("exec(rm *)");
    expect((await r.permissions.list()).items).toEqual([]);
  },
  "changes.write": async (r, n) => {
    const tried = await r.changes.write("workspace/USER.md", `${n}\n`, { dryRun: true });
    expect(tried).toMatchObject({ kind: "prompt", diff: expect.stringContaining(`+${n}`) });
    expect(tried.id).toBeUndefined();
    expect(await r.changes.write("workspace/USER.md", `${n}\n`, { why: "a test" })).toMatchObject({ state: "done" });
    await expect(r.changes.write("notes.txt", "x")).rejects.toMatchObject({ code: "invalid_input" });
  },
  "changes.file": async (r, n) => expect(await r.changes.file("workspace/USER.md")).toMatchObject({ text: `${n}\n` }),
  "changes.list": async (r) =>
    expect((await r.changes.list({ kind: "prompt" })).items[0]).toMatchObject({
      why: "a test",
      by: { person: "owner" },
    }),
  "changes.get": async (r, n) => {
    const [last] = (await r.changes.list()).items;
    expect((await r.changes.get(last?.id ?? 0)).diff).toContain(`+${n}`);
    await expect(r.changes.get(99_999)).rejects.toMatchObject(nothingThere);
  },
  "changes.undo": async (r) => {
    const [last] = (await r.changes.list()).items;
    expect(await r.changes.undo(last?.id ?? 0)).toMatchObject({ undoes: last?.id });
  },
  "skills.install": async (r, n) => {
    const text = `---\nname: ${n}\ndescription: Makes tea.\n---\n\nBoil water.\n`;
    const tried = await r.skills.install([{ path: "SKILL.md", text }], { dryRun: true });
    expect(tried).toMatchObject({ name: n, before: null, change: null });
    expect((await r.skills.install([{ path: "SKILL.md", text }])).change).toBeGreaterThan(0);
    await expect(r.skills.install([{ path: "../SKILL.md", text }])).rejects.toMatchObject({ code: "invalid_input" });
  },
  "skills.list": async (r, n) =>
    expect((await r.skills.list()).items.find(({ name }) => name === n)).toMatchObject({
      state: "installed",
      used: true,
    }),
  "skills.get": async (r, n) => {
    expect((await r.skills.get(n)).files).toMatchObject([{ path: "SKILL.md" }]);
    await expect(r.skills.get("none")).rejects.toMatchObject(nothingThere);
  },
  "skills.remove": async (r, n) => {
    expect(await r.skills.remove(n)).toMatchObject({ name: n });
    await expect(r.skills.remove(n)).rejects.toMatchObject(nothingThere);
  },
  "permissions.explain": (r) => expect(r.permissions.explain("nothing")).rejects.toMatchObject(nothingThere),
  "people.add": async (r, n) => {
    expect(await r.people.add({ id: n, accounts: [`telegram:${n}`] })).toMatchObject({ id: n, role: "guest" });
    await expect(r.people.add({ id: n })).rejects.toMatchObject({ code: "conflict" });
  },
  "people.list": async (r, n) => expect((await r.people.list()).items.map(({ id }) => id)).toContain(n),
  "people.get": async (r, n) => expect((await r.people.get(n)).accounts).toEqual([`telegram:${n}`]),
  "people.update": async (r, n) => expect((await r.people.update(n, { name: "Ann" })).name).toBe("Ann"),
  "people.link": async (r, n) => expect((await r.people.link(n, `irc:${n}`)).accounts).toContain(`irc:${n}`),
  "people.unlink": async (r, n) => expect((await r.people.unlink(n, `irc:${n}`)).accounts).not.toContain(`irc:${n}`),
  "people.grant": async (r, n) =>
    expect((await r.people.grant(n, "cron_add", { verdict: "ask" })).grants).toMatchObject([{ ask: "cron_add" }]),
  "people.revoke": async (r, n) => expect((await r.people.revoke(n, "cron_add")).grants).toEqual([]),
  "people.invite": async (r, n) =>
    expect((await r.people.invite(n)).link).toMatch(/^http:\/\/127\.0\.0\.1:7717\/#invite=/),
  "people.export": async (r, n) => expect([...(await r.people.export(n)).slice(0, 2)]).toEqual([0x1f, 0x8b]),
  "people.forget": async (r, n) => {
    await r.people.add({ id: `${n}-gone` });
    expect(await r.people.forget(`${n}-gone`)).toMatchObject({ removed: { agents: 0 }, backups: [] });
    await expect(r.people.get(`${n}-gone`)).rejects.toMatchObject(nothingThere);
  },
  "people.remove": async (r, n) => {
    await r.people.remove(n);
    await expect(r.people.get(n)).rejects.toMatchObject(nothingThere);
  },
  "budgets.list": async (r) => expect(Array.isArray((await r.budgets.list()).items)).toBe(true),
  "budgets.lift": async (r) => expect((await r.budgets.lift("day:2026-01-05", { tokens: 7 })).scope).toBe("day"),
  usage: async (r) => expect((await r.usage()).tokens).toBeGreaterThan(0),
  events: async (r) => {
    const events = r.events();
    expect((await events.next()).value?.type).toBe("tree");
    await events.return(undefined);
  },
  on: (r) =>
    new Promise<void>((resolve) => {
      const off = r.on("tree", () => {
        off();
        resolve();
      });
    }),
  "agent.remove": async (r, n) => {
    await r.agent(n).remove();
    await expect(r.agent(n).history()).rejects.toMatchObject(nothingThere);
  },
};

const childrenOf = async (r: RookeryClient, n: string) => {
  const { sessionKey } = await r.agents.get(`agent:main:api:dm:${n}`);
  return (await r.subagents.list({ requester: sessionKey })).items;
};
const lastRun = async (r: RookeryClient, n: string): Promise<string> =>
  (await r.runs.list(`agent:main:api:dm:${n}`)).items[0]?.id ?? "";

async function job(r: RookeryClient, n: string) {
  const found = (await r.schedule.list({ all: true })).items.find(({ name }) => name === n);
  if (!found) throw new TypeError(`there is no job ${n}`);
  return found;
}

describe.each([
  ["createRookery", "here", (): RookeryClient => engine],
  ["connectRookery over the control socket", "there", (): RookeryClient => connected],
  ["connectRookery over HTTP", "far", (): RookeryClient => overHttp],
] as const)("%s", (_, n, form) => {
  it.each(Object.entries(METHODS))("%s", async (_name, use) => {
    await use(form(), n);
  });

  it("has no method without a case", () => {
    const names = Object.entries(form()).flatMap(([name, value]) => {
      if (name === "mailbox" || name === "agent")
        return membersOf(form()[name]("x")).map((member) => `${name}.${member}`);
      if (typeof value === "function") return [name];
      return typeof value === "object" ? Object.keys(value).map((member) => `${name}.${member}`) : [];
    });
    const own = ["close", "fetch", "settled"];
    expect(names.filter((name) => !(name in METHODS) && !own.includes(name))).toEqual([]);
  });
});

function membersOf(value: object): readonly string[] {
  const prototype = Object.getPrototypeOf(value) as object;
  const methods = prototype === Object.prototype ? [] : Object.getOwnPropertyNames(prototype);
  const own = Object.entries(value).flatMap(([name, member]) => (typeof member === "function" ? [name] : []));
  return [...methods, ...own].filter((name) => name !== "constructor");
}

const note = (r: RookeryClient, user: string) =>
  r.files.put(new TextEncoder().encode(`a note of ${user}`), { name: "note.txt", user });

describe("a token with the scope chat", () => {
  const post = (path: string, token: string, body: object) =>
    engine.fetch(
      new Request(`http://localhost${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    );
  const mint = async (more: object): Promise<string> => {
    const root = readFileSync(join(home, "token"), "utf8").trim();
    return (
      (await (await post("/api/tokens", root, { name: "t", scopes: ["chat"], ...more })).json()) as { token: string }
    ).token;
  };

  it("asks, sends and streams for its own person, and does nothing else", async () => {
    await engine.people.add({ id: "zoe" });
    await engine.agent("victim").ask("a secret");
    const token = await mint({ person: "zoe" });
    const send = (agent: string, body: object) =>
      post(`/api/agents/${encodeURIComponent(agent)}/messages`, token, body);
    const own = await send("agent:main:api:dm:zoe", { text: "hello", sender: { id: "zoe" }, waitSeconds: 30 });
    expect(await own.json()).toMatchObject({ answer: { text: "answer to hello" } });
    // Without a sender it is the token's person too, and a name that it gives is not believed.
    const unnamed = await send("agent:main:api:dm:zoe", { text: "again", waitSeconds: 30 });
    expect(await unnamed.json()).toMatchObject({ answer: { text: "answer to again" } });
    const posing = await send("agent:main:api:dm:zoe", { text: "it is me", sender: { id: "owner", name: "Owner" } });
    expect(posing.status).toBe(403);
    for (const agent of ["agent:main:api:dm:victim", "agent:main:main", "agent:main:permanent:clerk-here"]) {
      expect([403, 404], agent).toContain((await send(agent, { text: "hi" })).status);
    }
    for (const command of ["reset", "stop", "compact", "stop-tree"]) {
      const { status } = await post(`/api/agents/${encodeURIComponent("agent:main:api:dm:zoe")}/${command}`, token, {});
      expect(status, command).toBe(403);
    }
  });

  it("speaks for the users of its application, each in the own conversation", async () => {
    const token = await mint({ app: "shop" });
    const send = (agent: string, body: object) =>
      post(`/api/agents/${encodeURIComponent(agent)}/messages`, token, body);
    const body = { text: "hello", sender: { id: "bob" }, waitSeconds: 30 };
    const first = (await (await send("agent:main:api:dm:bob", body)).json()) as { agentId: string };
    expect(first).toMatchObject({ answer: { text: "answer to hello" } });
    const { descriptor } = (await engine.agents.get(first.agentId)) as { descriptor?: unknown };
    expect(descriptor).toMatchObject({ userId: "app:shop/bob" });
    const byId = await send(first.agentId, { text: "more", waitSeconds: 30 });
    expect(await byId.json()).toMatchObject({ answer: { text: "answer to more" } });
    const victim = (await engine.agents.get("agent:main:api:dm:victim")).id;
    expect((await send(victim, { text: "hi", sender: { id: "bob" } })).status).toBe(404);
  });
});
