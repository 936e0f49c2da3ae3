import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openTestGateway, type TestGateway } from "../gateway.test-kit.ts";

let kit: TestGateway;
beforeAll(async () => {
  kit = await openTestGateway();
});
afterAll(() => kit.close());

const send = async (method: string, path: string, body?: unknown, token?: string) => {
  const answer = await kit.ask({ method, path, body, token });
  return { status: answer.status, json: answer.json as Record<string, unknown> & { error?: { message: string } } };
};
const rows = async (action: string) => kit.node.ports.store.audit({ limit: 10, action });

/** A token of one person. */
async function tokenOf(person: string): Promise<string> {
  const root = { id: "root", name: "root", kind: "owner", scopes: ["admin"] } as const;
  return (await kit.gateway.context.tokens.mint(root, { name: "ann's", scopes: ["chat"], person })).token;
}

describe("people over the API", () => {
  let n = 0;
  let id: string;
  beforeEach(async () => {
    id = `ann${++n}`;
    expect((await send("POST", "/api/people", { id, name: "Ann" })).status).toBe(201);
  });

  it("are added, changed, listed and removed, each with a row in the audit log of the same commit", async () => {
    expect((await send("PATCH", `/api/people/${id}`, { timeZone: "Europe/Berlin", name: null })).status).toBe(200);
    await send("POST", `/api/people/${id}/accounts`, { account: `telegram:${n}` });
    const limits = { messagesPerDay: 3 };
    expect(await send("PATCH", `/api/people/${id}`, { limits })).toMatchObject({
      status: 200,
      json: { id, timeZone: "Europe/Berlin", accounts: [`telegram:${n}`], limits },
    });
    const shown = await send("GET", `/api/people/${id}`);
    expect(shown.json).not.toHaveProperty("name");
    expect((await send("DELETE", `/api/people/${id}`)).json).toEqual({ removed: id });
    expect((await send("GET", `/api/people/${id}`)).status).toBe(404);
    for (const action of ["person.add", "person.set", "person.link", "person.remove"]) {
      const row = (await rows(action)).find(({ target }) => target === id);
      expect(row, action).toMatchObject({ person: "owner", surface: "api", token: "root", decision: "allow" });
      expect(JSON.stringify(row)).not.toContain("Berlin");
    }
  });

  it("get grants, which replace those with the same subject and are taken away by it", async () => {
    const path = `/api/people/${id}/grants`;
    await send("POST", path, { subject: "cron_*", note: "for her garden" });
    await send("POST", path, { subject: "exec", verdict: "ask" });
    const { json } = await send("POST", path, { subject: "cron_*", verdict: "deny" });
    expect(json.grants).toEqual([{ ask: "exec" }, { deny: "cron_*" }]);
    expect((await send("DELETE", `${path}?subject=exec`)).json.grants).toEqual([{ deny: "cron_*" }]);
    const missing = await send("DELETE", `${path}?subject=exec`);
    expect([missing.status, missing.json.error?.message]).toEqual([404, expect.stringContaining("cron_*")]);
    expect((await send("POST", path, { subject: "send(" })).status).toBe(400);
  });

  it.each([
    ["an id that is taken", "POST", "", { id: "ID" }, 409],
    ["the owner's id", "POST", "", { id: "owner" }, 400],
    ["an id of another form", "POST", "", { id: "telegram:42" }, 400],
    ["a grant without a verdict", "POST", "", { id: "new", grants: [{ what: "exec" }] }, 400],
    ["the owner's role", "PATCH", "/ID", { role: "owner" }, 400],
    ["a time zone that does not exist", "PATCH", "/ID", { timeZone: "Mars/Base" }, 400],
    ["an account without a channel", "POST", "/ID/accounts", { account: "12345" }, 400],
    ["a person who does not exist", "POST", "/no-one/grants", { subject: "exec" }, 404],
  ])("refuse %s", async (_, method, path, body, status) => {
    const written = JSON.parse(JSON.stringify(body).replace("ID", id));
    const answer = await send(method, `/api/people${path.replace("ID", id)}`, written);
    expect(answer.status, JSON.stringify(answer.json)).toBe(status);
  });

  it("have each account once, and the refusal says how to move it", async () => {
    await send("POST", `/api/people/${id}/accounts`, { account: `slack:${n}` });
    await send("POST", "/api/people", { id: `bob${n}` });
    const taken = await send("POST", `/api/people/bob${n}/accounts`, { account: `slack:${n}` });
    expect([taken.status, taken.json.error?.message]).toEqual([
      400,
      expect.stringContaining(`rookery people unlink ${id} slack:${n}`),
    ]);
  });

  it("keep every one of many changes that come at the same time", async () => {
    const subjects = Array.from({ length: 4 }, (_, at) => `tool_${at}`);
    const path = `/api/people/${id}/grants`;
    const answers = await Promise.all(subjects.map((subject) => send("POST", path, { subject })));
    const { json } = await send("GET", `/api/people/${id}`);
    const done = subjects.filter((_, at) => answers[at]?.status === 200);
    const kept = (json.grants ?? []) as { allow: string }[];
    expect(kept.map(({ allow }) => allow).sort()).toEqual(done);
    expect(done.length).toBeGreaterThan(0);
  });

  it("are the owner's to see and change; a person sees the own record only", async () => {
    await send("POST", "/api/people", { id: `eve${n}` });
    const own = await tokenOf(id);
    expect((await send("GET", "/api/people", undefined, own)).json.items).toMatchObject([{ id }]);
    expect((await send("GET", `/api/people/${id}`, undefined, own)).status).toBe(200);
    const other = await send("GET", `/api/people/eve${n}`, undefined, own);
    const unknown = await send("GET", "/api/people/no-one", undefined, own);
    expect([other.status, unknown.status]).toEqual([404, 404]);
    const tries = [
      ["POST", "/api/people", { id: "mallory" }],
      ["PATCH", `/api/people/${id}`, { limits: null }],
      ["POST", `/api/people/${id}/grants`, { subject: "*" }],
      ["POST", `/api/people/${id}/accounts`, { account: "telegram:7" }],
      ["DELETE", `/api/people/eve${n}`],
    ] as const;
    for (const [method, path, body] of tries) {
      expect((await send(method, path, body, own)).status, path).toBe(403);
    }
    const chat = (await kit.mint("chat")).token;
    expect((await send("GET", "/api/people", undefined, chat)).json.items).toEqual([]);
    // A token of one person never gets the owner's scopes.
    const root = { id: "root", name: "root", kind: "owner", scopes: ["admin"] } as const;
    const request = { name: "x", scopes: ["admin"], person: id } as const;
    await expect(kit.gateway.context.tokens.mint(root, request)).rejects.toThrow("chat or read");
  });

  it("that came from the configuration are taken over by a change, and removed in the configuration only", async () => {
    const { store } = kit.node.ports;
    const person = {
      id: `cfg${n}`,
      role: "guest",
      accounts: [],
      grants: [],
      createdAt: 1,
      createdBy: "config",
    } as const;
    await store.commit({ id: `c${n}` as never, site: "test", at: 1, ops: [{ op: "person.put", person }] });
    const refused = await send("DELETE", `/api/people/${person.id}`);
    expect(refused.json.error?.message).toContain(`people.records.${person.id}`);
    await send("POST", `/api/people/${person.id}/grants`, { subject: "exec" });
    expect(await store.person(person.id)).toMatchObject({ createdBy: "owner" });
  });
});
