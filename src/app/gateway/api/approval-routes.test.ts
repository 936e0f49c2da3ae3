/** Questions about tool calls over the API: who sees and answers which. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { AgentId } from "../../../core/ids.ts";
import { putQuestion } from "../approvals.test-kit.ts";
import { openTestGateway, type TestGateway } from "../gateway.test-kit.ts";

let kit: TestGateway;
let agentId: AgentId;
const tokens: Record<string, string> = {};
const LETTERS = "abcdefgh";
let n = 0;
let id: string;
let bobs: string;

const freshId = (): string => `k${LETTERS[Math.floor(++n / 64) % 8]}${LETTERS[Math.floor(n / 8) % 8]}${LETTERS[n % 8]}`;
const send = async (method: string, path: string, token?: string, body?: unknown) => {
  const answer = await kit.ask({ method, path, body, token });
  return { status: answer.status, json: answer.json as Record<string, unknown> };
};
const answer = (token: string | undefined, body: object, which = id) =>
  send("POST", `/api/approvals/${which}`, token, body);
const listed = async (token?: string, query = "") =>
  ((await send("GET", `/api/approvals${query}`, token)).json.items as { id: string }[]).map((one) => one.id);

beforeAll(async () => {
  kit = await openTestGateway();
  for (const name of ["ann", "bob", "cat"]) await send("POST", "/api/people", undefined, { id: name });
  await send("POST", "/api/people/ann/grants", undefined, { subject: "exec", verdict: "ask" });
  await send("POST", "/api/people/cat/grants", undefined, { subject: "approve(ann)" });
  const root = { id: "root", name: "root", kind: "owner", scopes: ["admin"] } as const;
  for (const person of ["ann", "bob", "cat"]) {
    tokens[person] = (await kit.gateway.context.tokens.mint(root, { name: person, scopes: ["chat"], person })).token;
  }
  const posted = await kit.node.agents.post({
    to: { descriptor: { type: "user", connector: "api", userId: "x", channelId: "x" } },
    // Its run loads the tools, as the run of a real question does.
    body: { kind: "user", text: "hello" },
  });
  if (posted.status === "stale") throw new Error("stale");
  agentId = posted.agentId;
  await kit.node.agents.settled();
});
afterAll(() => kit.close());

beforeEach(async () => {
  id = freshId();
  bobs = freshId();
  const { store, clock } = kit.node.ports;
  await kit.node.agents.settled();
  await putQuestion(store, clock.now(), { agentId, id });
  await putQuestion(store, clock.now(), { agentId, id: bobs, person: "bob" });
});

describe("approvals over the API", () => {
  it("are listed and shown: all to the owner, their own to people, in pages", async () => {
    expect(await listed()).toEqual(expect.arrayContaining([id, bobs]));
    expect(await listed(tokens.ann)).toContain(id);
    expect(await listed(tokens.ann)).not.toContain(bobs);
    expect(await listed(tokens.bob)).not.toContain(id);
    expect(await listed(tokens.cat)).toContain(id);
    expect((await send("GET", `/api/approvals/${bobs}`, tokens.ann)).status).toBe(404);
    expect((await send("GET", `/api/approvals/${id.toUpperCase()}`, tokens.ann)).json).toMatchObject({
      id,
      tool: "exec",
      state: "pending",
    });
    expect((await send("GET", "/api/approvals/1234")).status).toBe(404);
    const first = (await send("GET", "/api/approvals?limit=1&state=pending")).json as { next: number };
    expect(await listed(undefined, `?limit=1&state=pending&before=${first.next}`)).toEqual([id]);
  });

  it("are answered once; the second answer is told who was first", async () => {
    const decided = await answer(undefined, { answer: "yes", digest: `digest-${id}` });
    expect(decided).toMatchObject({ status: 200, json: { id, state: "approved", decidedBy: "owner", surface: "api" } });
    const late = await answer(tokens.ann, { answer: "no" });
    expect([late.status, JSON.stringify(late.json)]).toEqual([
      409,
      expect.stringContaining("already approved by owner"),
    ]);
    const [row] = await kit.node.ports.store.audit({ limit: 1, action: "approval.decide" });
    expect(row).toMatchObject({ person: "owner", token: "root", decision: "allow", target: `${id} exec` });
  });

  it.each([
    ["ann", "yes", 403],
    ["ann", "no", 200],
    ["bob", "no", 404],
    ["cat", "yes", 200],
  ])("of Ann: %s says %s → %i", async (who, said, status) => {
    expect((await answer(tokens[who], { answer: said, digest: `digest-${id}` })).status).toBe(status);
  });

  it("refuse an answer to another call than the one that was shown, and a body they do not know", async () => {
    expect((await answer(undefined, { answer: "yes", digest: "another" })).status).toBe(409);
    expect((await answer(undefined, { answer: "yes" })).status).toBe(400);
    expect((await answer(undefined, { answer: "maybe" })).status).toBe(400);
    expect((await answer(undefined, { answer: "no", always: "call" })).status).toBe(400);
    expect((await answer(undefined, { answer: "yes", digest: `digest-${id}` })).status).toBe(200);
  });

  it("for always give the person a grant for exactly this", async () => {
    expect((await answer(undefined, { answer: "yes", always: "call", digest: `digest-${id}` })).status).toBe(200);
    const { grants } = (await send("GET", "/api/people/ann")).json as { grants: unknown[] };
    expect(grants).toEqual([
      { ask: "exec" },
      { allow: `call(exec:digest-${id})`, note: `approval ${id} by owner`, shows: "exec for ann:" },
    ]);
  });
});
