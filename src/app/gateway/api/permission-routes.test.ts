/** Rules over the API and at the command's routes: who changes them, what they change, and what a person is told. */
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import type { AgentId } from "../../../core/ids.ts";
import { putQuestion } from "../approvals.test-kit.ts";
import { openTestGateway, type TestGateway } from "../gateway.test-kit.ts";

let kit: TestGateway;
const tokens: Record<string, string> = {};
let agentId: AgentId;

beforeAll(async () => {
  kit = await openTestGateway();
  const root = { id: "root", name: "root", kind: "owner", scopes: ["admin"] } as const;
  await send("POST", "/api/people", { id: "ann" });
  const mint = async (name: string, more: object) =>
    (await kit.gateway.context.tokens.mint(root, { name, ...more } as never)).token;
  tokens.ann = await mint("ann", { scopes: ["chat"], person: "ann" });
  tokens.operator = await mint("operator", { scopes: ["operate"] });
  const posted = await kit.node.agents.post({
    to: { descriptor: { type: "user", connector: "api", userId: "x", channelId: "x" } },
    // Its run loads the tools, as the run of a real question does.
    body: { kind: "user", text: "hello" },
  });
  if (posted.status === "stale") throw new TypeError("stale");
  agentId = posted.agentId;
  await kit.node.agents.settled();
});
afterAll(() => kit.close());

const send = async (method: string, path: string, body?: unknown, token?: string) => {
  const answer = await kit.ask({ method, path, body, token });
  return { status: answer.status, json: answer.json as Record<string, unknown> };
};
const tried = async (call: string, more: object = {}) => {
  const { json } = await send("POST", "/api/permissions/test", { call, ...more });
  return json.decision as { verdict: string; reason: string; rule?: { text: string } };
};
const texts = async (query = ""): Promise<readonly string[]> =>
  (
    (await send("GET", `/api/permissions${query}`)).json.items as { verdict: string; text: string; source: string }[]
  ).map(({ verdict, text, source }) => `${verdict} ${text} ${source}`);

describe("rules over the API", () => {
  it("are added, listed, tried and removed, and count at once", async () => {
    expect(await tried("exec(make all)")).toMatchObject({ verdict: "ask", reason: "no rule allows exec(make all)" });
    const rule = { verdict: "allow", rule: "exec(make *)", because: "builds are harmless" };
    expect((await send("POST", "/api/permissions", rule)).status).toBe(200);
    expect(await texts()).toContain("allow exec(make *) owner");
    expect(await tried("exec(make all)")).toMatchObject({ verdict: "allow", rule: { text: "exec(make *)" } });
    expect(await tried("exec(make all && rm x)")).toMatchObject({ verdict: "ask" });
    expect(await tried("exec(make all)", { untrusted: true })).toMatchObject({ verdict: "ask" });
    expect(await tried("exec(rm x)", { headless: true })).toMatchObject({ verdict: "deny" });
    expect(await tried("exec(make all)", { person: "ann" })).toMatchObject({ verdict: "deny" });
    await send("POST", "/api/permissions", { verdict: "deny", rule: "exec(make install)" });
    expect(await tried("exec(make install)")).toMatchObject({ verdict: "deny" });
    for (const text of ["exec(make *)", "exec(make install)"]) {
      expect((await send("DELETE", `/api/permissions?rule=${encodeURIComponent(text)}`)).status).toBe(200);
    }
    expect(await texts()).toEqual([]);
    expect(await tried("exec(make all)")).toMatchObject({ verdict: "ask" });
    const actions = (await kit.node.ports.store.audit({ limit: 9 })).map(({ action }) => action);
    expect(actions).toContain("permission.add");
    expect(actions).toContain("permission.remove");
  });

  it("belong to one agent if it is named", async () => {
    await send("POST", "/api/permissions", { verdict: "deny", rule: "exec(ls *)", agent: agentId });
    await kit.node.agents.settled();
    expect(await texts(`?agent=${agentId}`)).toEqual([`deny exec(ls *) agent:${agentId}`]);
    expect(await tried("exec(ls)", { agent: agentId })).toMatchObject({ verdict: "deny" });
    expect(await tried("exec(ls)")).toMatchObject({ verdict: "allow" });
    await send("DELETE", `/api/permissions?rule=${encodeURIComponent("exec(ls *)")}&agent=${agentId}`);
    await kit.node.agents.settled();
    expect(await tried("exec(ls)", { agent: agentId })).toMatchObject({ verdict: "allow" });
  });

  test.each<[string, string, object | undefined, number]>([
    ["GET", "/api/permissions", undefined, 403],
    ["POST", "/api/permissions", { verdict: "allow", rule: "exec" }, 403],
    ["DELETE", "/api/permissions?rule=exec", undefined, 403],
    ["POST", "/api/permissions/test", { call: "exec(ls)" }, 403],
    ["GET", "/api/permissions/explain/r1", undefined, 403],
  ])("are the owner's: a guest's token may not %s %s", async (method, path, body, status) => {
    expect((await send(method, path, body, tokens.ann)).status).toBe(status);
  });

  test.each(["elevatedLevel", "execHost", "execSecurity", "execAsk", "execNode", "rules"])(
    "%s is set by the owner with the scope admin only",
    async (field) => {
      const values: Record<string, unknown> = {
        ...{ elevatedLevel: "full", execHost: "gateway", execSecurity: "full", execAsk: "off", execNode: "n" },
        rules: [{ allow: "exec" }],
      };
      const path = `/api/agents/${agentId}/state`;
      for (const token of [tokens.ann, tokens.operator]) {
        expect((await send("PATCH", path, { [field]: values[field] }, token)).status).toBe(403);
      }
      await kit.node.agents.settled();
      expect((await kit.node.ports.store.agent(agentId))?.state).not.toHaveProperty(field);
      expect((await send("PATCH", path, { [field]: values[field] })).status).toBe(202);
      expect((await send("PATCH", path, { [field]: null })).status).toBe(202);
      await kit.node.agents.settled();
    },
  );

  test.each([
    [{ verdict: "allow", rule: "exec(a && b)" }, /not valid/u],
    [{ verdict: "allow", rule: "web(example.org)" }, /domain/u],
    [{ verdict: "maybe", rule: "exec" }, /./u],
    [{ verdict: "allow", rule: "exec", person: "nobody" }, /no person nobody/iu],
  ])("refuses %j and says why", async (body, why) => {
    const { status, json } = await send("POST", "/api/permissions", body);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(JSON.stringify(json)).toMatch(why);
  });

  it("explain what was denied, by run and by call", async () => {
    const entry = {
      ...{ at: 1, person: "ann", surface: "test", agentId, runId: "run-7", callId: "call-7", action: "exec" },
      ...{ decision: "deny" as const, reason: "commands on this machine need a grant" },
    };
    const { store } = kit.node.ports;
    await store.commit({ id: "c-7" as never, site: "test", at: 1, ops: [{ op: "audit.add", entry }] });
    for (const what of ["run-7", "call-7"]) {
      const { json } = await send("GET", `/api/permissions/explain/${what}`);
      expect(json.items).toMatchObject([{ action: "exec", reason: entry.reason }]);
    }
    expect((await send("GET", "/api/permissions/explain/nothing")).status).toBe(404);
  });
});

describe("a yes for always", () => {
  const command = { kind: "command", argv: ["git", "push", "origin", "main"], cwd: "/w" } as const;
  const ask = async (id: string) => {
    const { store, clock } = kit.node.ports;
    await kit.node.agents.settled();
    const effects = [{ action: "exec", rights: ["exec"], detail: command }] as const;
    await putQuestion(store, clock.now(), { agentId, id, person: "owner", effects });
  };

  const yes = (id: string, always: string) =>
    send("POST", `/api/approvals/${id}`, { answer: "yes", always, digest: `digest-${id}` });

  it("shows what it would store, and stores exactly that call", async () => {
    await ask("kzzz");
    const { json } = await send("GET", "/api/approvals/kzzz");
    expect(json.always).toEqual({
      call: [{ person: "owner", allow: "call(exec:digest-kzzz)" }],
      pattern: { not: expect.stringContaining("there is no pattern for it") },
    });
    expect((await yes("kzzz", "call")).status).toBe(200);
    const { json: rules } = await send("GET", "/api/permissions");
    expect(rules.items).toContainEqual(
      expect.objectContaining({ text: "call(exec:digest-kzzz)", shows: "exec for ann:", stored: true }),
    );
    expect(await tried("exec(git push origin main)")).toMatchObject({ verdict: "ask" });
    const removed = await send("DELETE", `/api/permissions?rule=${encodeURIComponent("call(exec:digest-kzzz)")}`);
    expect(removed.status).toBe(200);
  });

  it.each([
    ["kzza", "prefix"],
    ["kzzb", "tool"],
    ["kzzc", "pattern"],
    ["kzzd", true],
  ])("is never for a whole tool or program: %s %j", async (id, always) => {
    await ask(id);
    const body = { answer: "yes", always, digest: `digest-${id}` };
    expect((await send("POST", `/api/approvals/${id}`, body)).status).toBe(400);
    expect((await send("GET", `/api/approvals/${id}`)).json).toMatchObject({ state: "pending" });
  });

  it("cannot be written by hand", async () => {
    const rule = "call(exec:0123456789abcdef0123456789abcdef)";
    const refused = await send("POST", "/api/permissions", { verdict: "allow", rule });
    expect(refused.status).toBe(400);
    expect(JSON.stringify(refused.json)).toContain("stored by a yes for always only");
  });
});
