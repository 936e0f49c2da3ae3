/** A name that a person writes reaches the same agent everywhere, and only one that the person could reach by its key (L13). */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openTestGateway, type TestGateway } from "../gateway.test-kit.ts";

let kit: TestGateway;
beforeEach(async () => {
  kit = await openTestGateway({ config: { profiles: { work: {} }, people: { records: { ann: {} } } } });
});
afterEach(() => kit.close());

const create = async (name: string, profile?: string) => {
  const body = { name, description: "Looks after books.", systemPrompt: "You look after books.", profile };
  const { json } = await kit.ask({ method: "POST", path: "/api/agents", body });
  return json as { agentId: string; sessionKey: string };
};
/** Where a text of the terminal goes. */
const sent = async (where: object, token?: string) => {
  const body = { text: "hello", ...where };
  const { status, json } = await kit.ask({ method: "POST", path: "/api/terminal/messages", token, body });
  return { status, agentId: (json.messages as { agentId: string }[] | undefined)?.[0]?.agentId, error: json.error };
};
const terminal = async (query: string, token?: string) =>
  (await kit.ask({ path: `/api/terminal?${query}`, token })).json as { agentId: string | null; sessionKey: string };
const guest = async (): Promise<string> => {
  const body = { name: "t", scopes: ["chat"], person: "ann" };
  return (await kit.ask({ method: "POST", path: "/api/tokens", body })).json.token as string;
};

describe("the name of a permanent agent", () => {
  it("reaches it at the terminal and in every route, whatever its case and profile", async () => {
    const { agentId } = await create("librarian", "work");
    for (const to of ["librarian", "Librarian", agentId, "agent:work:permanent:librarian"])
      expect(await sent({ to })).toMatchObject({ status: 202, agentId });
    expect(await terminal("to=librarian")).toMatchObject({ agentId, sessionKey: "agent:work:permanent:librarian" });
    expect(await sent({ agent: "librarian" })).toMatchObject({ status: 202, agentId });
    expect((await kit.ask({ path: "/api/agents/librarian" })).json).toMatchObject({ id: agentId });
    const posted = await kit.ask({ method: "POST", path: "/api/agents/librarian/messages", body: { text: "hi" } });
    expect([posted.status, posted.json.agentId]).toEqual([202, agentId]);
    const { status, json } = await kit.ask({ path: "/api/audit?agent=librarian" });
    expect([status, (json.items as { agentId: string }[]).map((row) => row.agentId)]).toEqual([200, [agentId]]);
  });

  it("is a model of the OpenAI API, for who may message it", async () => {
    const { agentId } = await create("librarian");
    const ask = (token?: string) => {
      const body = { model: "librarian", messages: [{ role: "user", content: "hello" }] };
      return kit.ask({ method: "POST", path: "/v1/chat/completions", token, body });
    };
    expect((await ask()).status).toBe(200);
    expect((await kit.ask({ path: "/v1/models/librarian" })).json).toMatchObject({ id: "librarian" });
    expect((await kit.ask({ path: `/api/agents/${agentId}/messages` })).json.items).toHaveLength(1);
    const ann = await guest();
    expect((await ask(ann)).status).toBe(404);
    expect((await kit.ask({ path: "/v1/models/librarian", token: ann })).status).toBe(404);
    await create("librarian", "work");
    expect((await ask()).status).toBe(400);
  });

  it("of two profiles is an error that lists both with their ids", async () => {
    const ids = [await create("librarian"), await create("librarian", "work")].map(({ agentId }) => agentId);
    for (const { status, error } of [
      await sent({ to: "librarian" }),
      await sent({ agent: "librarian" }),
      { ...(await kit.ask({ path: "/api/agents/librarian" })), error: undefined },
    ]) {
      expect(status).toBe(400);
      if (error) expect(JSON.stringify(error)).toContain(`librarian (${ids[0]}), librarian (work) (${ids[1]})`);
    }
    expect((await sent({ to: "agent:work:permanent:librarian" })).status).toBe(202);
  });

  it("that is also the name of a conversation is an error that names both", async () => {
    const mine = await sent({ thread: "librarian" });
    const { agentId } = await create("librarian");
    const refused = await sent({ to: "librarian" });
    expect([refused.status, JSON.stringify(refused.error)]).toEqual([
      400,
      expect.stringContaining(`librarian (${agentId}), librarian (${mine.agentId})`),
    ]);
    expect(await sent({ thread: "librarian" })).toMatchObject({ agentId: mine.agentId });
    expect(await sent({ agent: "librarian" })).toMatchObject({ agentId });
  });
});

describe("a name that no agent has", () => {
  it("is a conversation of the person, which the first message makes", async () => {
    expect(await terminal("to=shopping")).toMatchObject({ agentId: null });
    const first = await sent({ to: "shopping" });
    expect(first.status).toBe(202);
    expect(await terminal("to=shopping")).toMatchObject({ sessionKey: "agent:main:main:thread:shopping" });
    expect((await sent({ to: "shopping" })).agentId).toBe(first.agentId);
    expect((await sent({ thread: "shopping" })).agentId).toBe(first.agentId);
    const main = await sent({ to: "main" });
    expect((await sent({})).agentId).toBe(main.agentId);
  });

  it("is an error if it is written as an id or a session key, and if a second way names the conversation too", async () => {
    expect((await sent({ to: "agent:main:permanent:nobody" })).status).toBe(404);
    expect((await sent({ to: "a".repeat(24) })).status).toBe(404);
    expect((await sent({ to: "x", thread: "y" })).status).toBe(400);
  });
});

describe("a guest", () => {
  it("does not reach an agent by its name that the guest could not reach by its key, and does not learn of it", async () => {
    const { agentId, sessionKey } = await create("librarian");
    const ann = await guest();
    expect((await sent({ agent: sessionKey }, ann)).status).toBe(404);
    expect((await sent({ agent: "librarian" }, ann)).status).toBe(404);
    expect((await kit.ask({ path: "/api/agents/librarian", token: ann })).status).toBe(404);
    // The same name is a conversation of the guest's own, also beside the agent.
    const own = await sent({ to: "librarian" }, ann);
    expect(own.status).toBe(202);
    expect(own.agentId).not.toBe(agentId);
    expect((await sent({ to: "librarian" }, ann)).agentId).toBe(own.agentId);
    expect(await terminal("to=librarian", ann)).toMatchObject({ agentId: own.agentId });
    expect(await sent({ to: "librarian" })).toMatchObject({ status: 202, agentId });
  });
});
