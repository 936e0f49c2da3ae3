/**
 * Every POST of the route table with an `Idempotency-Key` (M18): sent twice it takes effect once and answers the same, even if
 * the first response was cut or the process was killed after any commit. A route without a case here fails the test.
 */
import { afterEach, describe, expect, it } from "vitest";
import { lastText } from "../../../test/kit/model.ts";
import { apiMailbox } from "../../core/delivery/route.ts";
import type { AgentId } from "../../core/ids.ts";
import { putQuestion } from "./approvals.test-kit.ts";
import type { TestRequest, TestResponse } from "./gateway.test-kit.ts";
import { RestartingGateway } from "./restarting.test-kit.ts";
import { ROUTES } from "./route-table.ts";

interface Case {
  readonly path: string;
  readonly body?: object;
  /** A message only: a body with other content. Extra fields and other spellings of the same body are the same message. */
  readonly other?: object;
  /** How often the request took effect. */
  readonly effects: () => Promise<number> | number;
  /** After the first request: lets what it asked for happen. */
  readonly settle?: () => Promise<void>;
  /** Hooks have their own secret. */
  readonly headers?: Record<string, string>;
}

interface Row {
  readonly prepare: () => Promise<Case>;
  /** The effect is not a change of the store; says what guarantees it instead (docs/gateway.md). */
  readonly elsewhere?: "token record" | "same effect again" | "in memory" | "single use";
  /** The reply has a secret that is shown once: a repeated request gets 409 with this code. */
  readonly once?: string;
}

let kit: RestartingGateway;
afterEach(() => kit.close());

const prompts = (text: string): number => kit.engine.requests.filter((one) => lastText(one).includes(text)).length;
const commitsAt = (site: string) => (): number => kit.engine.commits.filter((change) => change.site === site).length;

/** Counts the messages of an agent of one kind, or with a text. */
const messages = (agentId: AgentId, what: { kind?: string; text?: string }) => async (): Promise<number> =>
  (await kit.store.messages(agentId, { limit: 1_000 })).filter(
    ({ body }) =>
      body.kind === (what.kind ?? body.kind) && (what.text === undefined || JSON.stringify(body).includes(what.text)),
  ).length;

async function talked(text = "hello"): Promise<AgentId> {
  await kit.engine.tell(text);
  return kit.engine.agentId();
}

async function openRun(): Promise<{ agentId: AgentId; runId: string }> {
  const agentId = await talked("stall");
  return { agentId, runId: (await kit.store.agent(agentId))?.runId ?? "" };
}

async function child(): Promise<{ runId: string; agentId: AgentId }> {
  await talked("start");
  const [record] = await kit.store.subagentRuns({ open: true });
  return { runId: record?.runId ?? "", agentId: record?.childAgentId as AgentId };
}

/** A command to an agent that is a message of this kind. */
const command = (name: string, body?: object) => async (): Promise<Case> => {
  const agentId = await talked();
  return { path: `/api/agents/${agentId}/${name}`, body, effects: messages(agentId, { kind: name }) };
};

const JOB = { name: "mail", schedule: { kind: "every", everyMs: 3_600_000 }, payload: { message: "look" } };
const jobs = async () => (await kit.store.jobs()).filter(({ system }) => !system);

const TABLE: Readonly<Record<string, Row>> = {
  "/v1/chat/completions": {
    prepare: async () => ({
      path: "/v1/chat/completions",
      body: { model: "main", user: "eve", messages: [{ role: "user", content: "hi there" }] },
      other: { model: "main", user: "eve", messages: [{ role: "user", content: "hi" }] },
      effects: () => prompts("hi there"),
    }),
  },
  "/api/chat": {
    prepare: async () => ({
      path: "/api/chat",
      body: { id: "eve", messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "hi there" }] }] },
      other: { id: "eve", messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "hi" }] }] },
      effects: () => prompts("hi there"),
    }),
  },
  "/v1/responses": {
    prepare: async () => ({
      path: "/v1/responses",
      body: { model: "main", user: "eve", input: "hi there" },
      other: { model: "main", user: "eve", input: "hi" },
      effects: () => prompts("hi there"),
    }),
  },
  "/api/agents": {
    prepare: async () => ({
      path: "/api/agents",
      body: { name: "clerk", description: "files letters", systemPrompt: "You file letters." },
      effects: auditRows("agent.put"),
    }),
  },
  "/api/swarms": {
    prepare: async () => ({
      path: "/api/swarms",
      body: { nametag: "shop", firstName: "Shop", systemPrompt: "You sell." },
      effects: auditRows("swarm.put"),
    }),
  },
  "/api/agents/:agent/messages": {
    async prepare() {
      const agentId = await talked();
      const path = `/api/agents/${agentId}/messages`;
      return { path, body: { text: "hi there" }, other: { text: "hi" }, effects: messages(agentId, { text: "hi" }) };
    },
  },
  "/api/agents/:agent/messages/:seq/drop": {
    async prepare() {
      const { agentId } = await openRun();
      await kit.engine.tell("waits");
      const [waiting] = await kit.store.waiting(agentId, { limit: 1 });
      return { path: `/api/agents/${agentId}/messages/${waiting?.seq}/drop`, effects: auditRows("message.drop") };
    },
  },
  "/api/terminal/messages": {
    prepare: async () => ({
      path: "/api/terminal/messages",
      // Two messages, each with a commit of its own.
      body: { user: "eve", text: "/reset hi there" },
      async effects() {
        const agentId = await kit.engine.agentId("eve", "terminal");
        return (await messages(agentId, {})()) / 2;
      },
    }),
  },
  "/api/agents/:agent/reset": { prepare: command("reset") },
  "/api/agents/:agent/stop": { prepare: command("stop") },
  "/api/agents/:agent/compact": { prepare: command("compact", { instructions: "keep names" }) },
  "/api/agents/:agent/branch": {
    async prepare() {
      const agentId = await talked();
      const entryId = (await kit.store.agent(agentId))?.leaf;
      await kit.engine.tell("more");
      const path = `/api/agents/${agentId}/branch`;
      return { path, body: { entryId, summary: "went back" }, effects: messages(agentId, { kind: "branch" }) };
    },
  },
  "/api/agents/:agent/stop-tree": {
    prepare: async () => ({ path: `/api/agents/${await talked()}/stop-tree`, effects: commitsAt("agent.stop") }),
  },
  "/api/agents/:agent/start": {
    prepare: async () => ({ path: `/api/agents/${await talked()}/start`, effects: commitsAt("agent.start") }),
  },
  "/api/agents/:agent/spawn": {
    async prepare() {
      const path = `/api/agents/${await talked()}/spawn`;
      return { path, body: { task: "count", label: "counter" }, effects: commitsAt("subagent.start") };
    },
  },
  "/api/subagents/:run/messages": {
    async prepare() {
      const { runId, agentId } = await child();
      const path = `/api/subagents/${runId}/messages`;
      return { path, body: { text: "deeper" }, effects: messages(agentId, { text: "deeper" }) };
    },
  },
  "/api/subagents/:run/stop": {
    async prepare() {
      const { runId } = await child();
      return { path: `/api/subagents/${runId}/stop`, effects: commitsAt("subagent.stop") };
    },
  },
  "/api/runs/:run/abort": {
    async prepare() {
      const { runId } = await openRun();
      return { path: `/api/runs/${runId}/abort`, effects: commitsAt("abort") };
    },
  },
  "/api/runs/:run/steer": {
    async prepare() {
      const { runId, agentId } = await openRun();
      return { path: `/api/runs/${runId}/steer`, body: { text: "left" }, effects: messages(agentId, { text: "left" }) };
    },
  },
  "/api/outbox/:delivery/retry": {
    async prepare() {
      await talked();
      const [delivery] = await kit.engine.deliveries();
      return { path: `/api/outbox/${delivery?.id}/retry`, effects: commitsAt("outbox.retry") };
    },
  },
  "/api/outbox/:delivery/edit": {
    async prepare() {
      await talked();
      const [delivery] = await kit.engine.deliveries();
      const body = { text: "edited" };
      return { path: `/api/outbox/${delivery?.id}/edit`, body, effects: commitsAt("outbox.edit") };
    },
  },
  "/api/outbox/:delivery/drop": {
    async prepare() {
      kit.engine.channel().sending = () => ({ status: "retry", reason: "busy" });
      await talked();
      const [delivery] = await kit.engine.deliveries();
      return { path: `/api/outbox/${delivery?.id}/drop`, effects: commitsAt("outbox.drop") };
    },
  },
  "/api/deliveries/ack": {
    async prepare() {
      const to = { descriptor: { type: "user", connector: "api", userId: "eve", channelId: "eve" } } as const;
      await kit.engine.system.post({ to, body: { kind: "user", text: "hello" }, delivery: apiMailbox("eve") });
      await kit.engine.settle();
      const { items } = await kit.engine.system.deliveries.mailboxes.page([apiMailbox("eve")]);
      const body = { ids: items.map(({ id }) => id), user: "eve" };
      return { path: "/api/deliveries/ack", body, effects: commitsAt("mailbox.read") };
    },
  },
  "/api/files": {
    prepare: async () => ({
      path: "/api/files?name=note.json",
      body: { content: "of the file" },
      effects: async () => (await kit.store.files({ limit: 10 })).length,
    }),
  },
  "/api/approvals/:approval": {
    async prepare() {
      const agentId = await talked();
      await withAnn();
      await putQuestion(kit.store, kit.engine.clock.now(), { agentId, id: "kmtb" });
      return {
        path: "/api/approvals/kmtb",
        body: { answer: "yes", digest: "digest-kmtb" },
        effects: auditRows("approval.decide"),
      };
    },
  },
  "/api/budgets/:key/lift": {
    prepare: async () => ({
      path: "/api/budgets/day:2026-01-05/lift",
      body: { tokens: 7 },
      effects: async () => ((await kit.store.budget("day:2026-01-05"))?.lifted.tokens ?? 0) / 7,
    }),
  },
  "/api/cron": { prepare: async () => ({ path: "/api/cron", body: JOB, effects: async () => (await jobs()).length }) },
  "/api/cron/:job/run": {
    async prepare() {
      await kit.world.cron.add(JOB);
      const [job] = await jobs();
      return { path: `/api/cron/${job?.id}/run`, effects: async () => (await kit.world.slots(job?.id ?? "")).length };
    },
  },
  "/api/heartbeat/run": {
    elsewhere: "in memory",
    prepare: async () => ({
      path: "/api/heartbeat/run",
      effects: async () => (await kit.world.slots("heartbeat:main")).length,
      settle: () => kit.engine.advance(1_000),
    }),
  },
  "/mcp": {
    elsewhere: "in memory",
    prepare: async () => ({
      path: "/mcp",
      headers: { accept: "application/json, text/event-stream" },
      body: {
        ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
        params: { name: "send_message", arguments: { agent: "eve", text: "over mcp", id: "one" } },
      },
      effects: () => prompts("over mcp"),
    }),
  },
  "/api/wake": {
    async prepare() {
      const effects = async (): Promise<number> => {
        const main = await kit.store.agentByKey("agent:main:main" as never);
        return main ? messages(main.id, { text: "red" })() : 0;
      };
      return { path: "/api/wake", body: { text: "the build is red" }, effects };
    },
  },
  "/hooks/:hook": {
    prepare: async () => ({
      path: "/hooks/deploy",
      body: { who: "ann" },
      headers: { authorization: "Bearer open" },
      effects: () => prompts("[webhook:deploy] ann"),
    }),
  },
  "/api/config/reload": {
    elsewhere: "same effect again",
    prepare: async () => ({ path: "/api/config/reload", effects: () => kit.reloads }),
  },
  "/api/models/test": {
    elsewhere: "same effect again",
    prepare: async () => ({ path: "/api/models/test", body: { model: "offline" }, effects: () => kit.modelTests }),
  },
  "/api/prune": {
    elsewhere: "same effect again",
    prepare: async () => ({ path: "/api/prune", body: {}, effects: auditRows("prune") }),
  },
  "/api/pairings/:code": {
    elsewhere: "same effect again",
    prepare: async () => ({
      path: "/api/pairings/telegram:9",
      body: { answer: "block" },
      effects: async () =>
        Number((await kit.store.audit({ limit: 100 })).some(({ target }) => target === "telegram:9")),
    }),
  },
  "/api/carry-over": {
    elsewhere: "same effect again",
    prepare: async () => ({
      path: "/api/carry-over",
      body: { answer: "leave" },
      effects: async () =>
        Number((await kit.store.audit({ limit: 100 })).some(({ action }) => action === "conversations.leave")),
    }),
  },
  "/api/owner/accounts": {
    elsewhere: "same effect again",
    prepare: async () => ({
      path: "/api/owner/accounts",
      body: { account: "telegram:9" },
      effects: auditRows("person.link"),
    }),
  },
  "/api/people": {
    prepare: async () => ({ path: "/api/people", body: { id: "ann" }, effects: auditRows("person.add") }),
  },
  "/api/people/:person/accounts": {
    async prepare() {
      await withAnn();
      const body = { account: "telegram:42" };
      return { path: "/api/people/ann/accounts", body, effects: auditRows("person.link") };
    },
  },
  "/api/permissions": {
    prepare: async () => ({
      path: "/api/permissions",
      body: { verdict: "deny", rule: "exec(git push *)" },
      effects: auditRows("permission.add"),
    }),
  },
  "/api/changes": {
    elsewhere: "same effect again",
    prepare: async () => ({
      path: "/api/changes",
      body: { file: "workspace/USER.md", text: "She lives in Bern.\n" },
      effects: async () => (await kit.changes.list({ limit: 10 })).length,
    }),
  },
  "/api/changes/:change/undo": {
    elsewhere: "same effect again",
    async prepare() {
      await kit.changes.write("workspace/USER.md", "one\n", { by: { person: "owner", surface: "api" } });
      const effects = async () => (await kit.changes.list({ limit: 10 })).length - 1;
      return { path: "/api/changes/1/undo", effects };
    },
  },
  "/api/skills": {
    elsewhere: "same effect again",
    prepare: async () => ({
      path: "/api/skills",
      body: { files: [{ path: "SKILL.md", text: "---\nname: tea\ndescription: Makes tea.\n---\n\nBoil water.\n" }] },
      effects: async () => (await kit.changes.list({ limit: 10, kind: "skill" })).length,
    }),
  },
  "/api/permissions/test": {
    elsewhere: "same effect again",
    prepare: async () => ({ path: "/api/permissions/test", body: { call: "exec(ls)" }, effects: async () => 1 }),
  },
  "/api/people/:person/grants": {
    async prepare() {
      await withAnn();
      const body = { subject: "cron_add" };
      return { path: "/api/people/ann/grants", body, effects: auditRows("person.grant") };
    },
  },
  "/api/people/:person/invitations": {
    once: "already_invited",
    prepare: async () => ({ path: "/api/people/ann/invitations", effects: auditRows("person.invite") }),
  },
  "/api/logins/codes": {
    once: "already_made",
    prepare: async () => ({ path: "/api/logins/codes", effects: auditRows("login.code") }),
  },
  "/api/logins": {
    elsewhere: "single use",
    async prepare() {
      const { json } = await kit.ask({ method: "POST", path: "/api/logins/codes", body: {} });
      const code = new URL(String(json.url)).hash.slice("#code=".length);
      return { path: "/api/logins", body: { code, nonce: "n".repeat(32) }, effects: auditRows("login.begin") };
    },
  },
  "/api/tokens": {
    once: "already_minted",
    elsewhere: "token record",
    prepare: async () => ({
      path: "/api/tokens",
      body: { name: "app", scopes: ["chat"] },
      effects: async () => (await listTokens()).filter(({ name }) => name === "app").length,
    }),
  },
};

const ANN = { id: "ann", role: "guest", accounts: [], grants: [], createdAt: 1, createdBy: "owner" } as const;
const auditRows = (action: string) => async (): Promise<number> =>
  (await kit.store.audit({ limit: 100, action })).length;

async function withAnn(): Promise<void> {
  await kit.store.commit({ id: "c-ann" as never, site: "test", at: 1, ops: [{ op: "person.put", person: ANN }] });
}

const listTokens = async () => (await kit.ask({ path: "/api/tokens" })).json.items as { id: string; name: string }[];

/** Events of a platform are known by their own ids, with or without a key (`telegram-webhook.test.ts`). */
const BROUGHT = "/channels/:account";
const POSTS = ROUTES.filter(({ method, path }) => method === "POST" && path !== BROUGHT);
const KEY = { "idempotency-key": "k-1" };

const requestOf = ({ path, body, headers }: Case): TestRequest => ({
  method: "POST",
  path,
  body: body ?? {},
  headers: { ...KEY, ...headers },
});

/** Compares what the client gets. A minted token is shown once: afterwards only its id. */
function expectSame(path: string, one: TestResponse, other: TestResponse): void {
  expect(other.headers["idempotent-replayed"], other.text).toBe("true");
  const { once } = TABLE[path] as Row;
  if (once === undefined) {
    expect([other.status, other.text]).toEqual([one.status, one.text]);
    return;
  }
  expect([other.status, other.json.error?.code]).toEqual([409, once]);
  const id = (one.json.record as { id: string } | undefined)?.id;
  if (id !== undefined) expect(other.text).toContain(id);
}

describe("the table of routes", () => {
  it("has a case for every POST, and no other", async () => {
    kit = await RestartingGateway.open();
    expect(Object.keys(TABLE).sort()).toEqual(POSTS.map(({ path }) => path).sort());
  });
});

describe.each(POSTS.map(({ path }) => [path] as const))("POST %s with a key", (path) => {
  const row = TABLE[path] as Row;

  it("takes effect once, answers the same, and refuses another body", async () => {
    kit = await RestartingGateway.open();
    const prepared = await row.prepare();
    const request = requestOf(prepared);
    const first = await kit.ask(request);
    expect(first.status, first.text).toBeLessThan(300);
    expect(first.headers["idempotent-replayed"]).toBeUndefined();
    await prepared.settle?.();
    await kit.engine.settle();
    for (let n = 0; n < 2; n++) {
      expectSame(path, first, await kit.ask(request));
      await prepared.settle?.();
      expect(await prepared.effects()).toBe(1);
    }
    const other = await kit.ask({ ...request, body: prepared.other ?? { ...prepared.body, more: 1 } });
    const refused =
      other.status === 400 ? await kit.ask({ ...request, body: ` ${JSON.stringify(prepared.body ?? {})}` }) : other;
    // A link is used by its form, with or without a key.
    if (row.elsewhere !== "single use") expect(refused.status, refused.text).toBe(422);
    await prepared.settle?.();
    expect(await prepared.effects()).toBe(1);
    // No secret is in the ledger.
    expect(JSON.stringify(kit.engine.commits)).not.toMatch(/r[kis]_[a-z0-9]{12}_/);
  });

  it("is independent for another token, and a message for another application", async () => {
    kit = await RestartingGateway.open();
    const prepared = await row.prepare();
    const request = requestOf(prepared);
    await kit.ask(request);
    await prepared.settle?.();
    const other =
      path === "/hooks/:hook"
        ? { path: "/hooks/other" }
        : { token: prepared.other ? await kit.mintFor("shop") : await kit.mint("admin", "operate", "chat", "read") };
    const answer = await kit.ask({ ...request, ...other });
    if (row.elsewhere === "single use") return;
    expect(answer.headers["idempotent-replayed"]).toBeUndefined();
    expect(answer.status, answer.text).not.toBe(422);
  });

  it("takes effect once if two requests come at the same time", async () => {
    kit = await RestartingGateway.open();
    const prepared = await row.prepare();
    const request = requestOf(prepared);
    const both = await Promise.all([kit.ask(request), kit.ask(request)]);
    await prepared.settle?.();
    await kit.engine.settle();
    const [first, second] = both.sort((a, b) => a.status - b.status) as [TestResponse, TestResponse];
    if (row.once !== undefined) expect([first.status, second.status]).toEqual([201, 409]);
    else expect([second.status, second.text]).toEqual([first.status, first.text]);
    if (row.elsewhere === undefined) expect(await prepared.effects()).toBe(1);
  });

  if (row.elsewhere === "same effect again" || row.elsewhere === "in memory") return;

  it("takes effect once if the response is cut", async () => {
    kit = await RestartingGateway.open();
    const prepared = await row.prepare();
    const request = requestOf(prepared);
    await kit.askAndCut(request);
    const first = await kit.ask(request);
    expectSame(path, first, await kit.ask(request));
    expectSame(path, first, first);
    expect(await prepared.effects()).toBe(1);
  });

  it("takes effect once if the process is killed after any of its commits", async () => {
    for (let nth = 1; ; nth++) {
      kit = await RestartingGateway.open();
      const prepared = await row.prepare();
      const request = requestOf(prepared);
      let commits = 0;
      const killed = Promise.withResolvers<"killed">();
      kit.engine.onCommit = () => {
        if (++commits !== nth) return "go";
        kit.kill();
        killed.resolve("killed");
        return "die-after";
      };
      const end = await Promise.race([kit.ask(request).catch(() => killed.promise), killed.promise]);
      if (end !== "killed") {
        expect(nth, "the request makes a commit").toBeGreaterThan(1);
        return;
      }
      await kit.start();
      const first = await kit.ask(request);
      expect(first.status, `commit ${nth}: ${first.text}`).toBeLessThan(row.once === undefined ? 300 : 410);
      expectSame(path, first, await kit.ask(request));
      await kit.engine.settle();
      expect(await prepared.effects(), `killed after commit ${nth}`).toBe(1);
      await kit.close();
    }
  });
});
