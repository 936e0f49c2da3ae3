/** What entered the last turn, over the API and in a chat: parts, sizes, what did not fit, lookups; everyone sees their own. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TurnMemory } from "../../../core/agent/turn-memory.ts";
import type { Model } from "../../../core/ports/model.ts";
import { openTestGateway, type TestGateway } from "../gateway.test-kit.ts";

const about = { api: "a", provider: "p", model: "m" } as const;
const prompts: string[] = [];
/** Looks a note up if the person asks for it. */
const model: Model = {
  async call({ messages, system }) {
    prompts.push(system);
    const last = messages.at(-1);
    const asks = last?.role === "user" && JSON.stringify(last.content).includes("look it up");
    if (!asks) return { ...about, content: [{ type: "text", text: "fine" }], stopReason: "stop" };
    const call = { type: "toolCall", id: "c1", name: "memory_get", arguments: { ref: "memory/2026-11-01.md" } };
    return { ...about, content: [call as never], stopReason: "tool_calls" };
  },
};

let kit: TestGateway;
beforeAll(async () => {
  kit = await openTestGateway({
    model,
    config: { people: { records: { ann: {} } }, profiles: { main: { memory: { days: 2 } } } },
  });
});
afterAll(() => kit.close());

const turn = async (agent: string, token?: string) => {
  const { status, json } = await kit.ask({ path: `/api/agents/${agent}/memory`, token });
  return { status, turn: json.turn as TurnMemory | null };
};
/** Returns the conversation. */
const say = async (content: string, token?: string): Promise<string> => {
  const body = { model: "main", messages: [{ role: "user", content }] };
  await kit.ask({ method: "POST", path: "/v1/chat/completions", token, body });
  const { json } = await kit.ask({ path: "/api/agents", token });
  return (json.items as { id: string }[])[0]?.id ?? "";
};

const again = (agent: string, text: string) =>
  kit.ask({ method: "POST", path: `/api/agents/${agent}/messages`, body: { text, waitSeconds: 30 } });

it("lists every part with its size and limit, and what of a text is missing", async () => {
  const at = (name: string) => join(kit.home, "workspace", name);
  mkdirSync(at("memory"), { recursive: true });
  for (const day of ["01", "02", "03"]) writeFileSync(at(`memory/2026-11-${day}.md`), `the note of ${day}`);
  writeFileSync(at("MEMORY.md"), "x".repeat(25_000));
  writeFileSync(at("USER.md"), "Ann");
  const { turn: first } = await turn(await say("hello"));
  const parts = Object.fromEntries(first?.parts.map((part) => [part.part, part]) ?? []);
  expect(parts["MEMORY.md"]).toMatchObject({ source: "file", limit: 20_000, missing: 5_000 });
  expect(parts["USER.md"]).toMatchObject({ characters: 13, tokens: 4, limit: 20_000 });
  expect(parts["USER.md"]?.missing).toBeUndefined();
  expect(Object.keys(parts)).not.toContain("memory/2026-11-01.md");
  expect(Object.keys(parts)).toEqual(expect.arrayContaining(["memory/2026-11-02.md", "memory/2026-11-03.md"]));
  expect(first?.absent).toContain("SOUL.md");
  expect(first?.characters).toBe(prompts.at(-1)?.length);
  // The model is told too: nothing is cut silently.
  expect(prompts.at(-1)).toContain("[MEMORY.md is cut here: 20000 of 25000 characters are shown");
  expect(first?.lookups).toEqual([]);
});

it("lists what the turn has looked up, and only that of the last turn", async () => {
  const agent = await say("hello");
  await again(agent, "look it up");
  const { turn: second } = await turn(agent);
  expect(second?.lookups).toEqual([{ tool: "memory_get", characters: expect.any(Number) }]);
  expect(second?.lookups[0]?.characters).toBeGreaterThan(15);
  await again(agent, "thanks");
  expect((await turn(agent)).turn?.lookups).toEqual([]);
  expect((await turn(agent)).turn?.runId).not.toBe(second?.runId);
});

it("shows people their own conversations only", async () => {
  const body = { name: "t", scopes: ["chat", "read"], person: "ann" };
  const ann = String((await kit.ask({ method: "POST", path: "/api/tokens", body })).json.token);
  const owners = await say("hello");
  expect((await turn(owners, ann)).status).toBe(404);
  const { turn: hers } = await turn(await say("hi", ann), ann);
  expect(hers?.parts.length).toBeGreaterThan(1);
  expect(hers?.parts.map(({ part }) => part)).not.toContain("MEMORY.md");
});
