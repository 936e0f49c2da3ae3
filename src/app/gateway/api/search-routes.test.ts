import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openTestGateway, type TestGateway } from "../gateway.test-kit.ts";

let kit: TestGateway;
beforeAll(async () => {
  kit = await openTestGateway({ config: { people: { records: { ann: {}, eve: {} } } } });
});
afterAll(() => kit.close());

interface Hit {
  readonly snippet: string;
  readonly speaker: string;
  readonly agentId?: string;
  readonly source: string;
}
const search = async (query: string, token?: string) => {
  const { status, json, text } = await kit.ask({ path: `/api/search?${query}`, token });
  return { status, text, items: (json.items ?? []) as Hit[], next: json.next };
};
const mint = async (more: object): Promise<string> => {
  const body = { name: "t", scopes: ["chat", "read"], ...more };
  return String((await kit.ask({ method: "POST", path: "/api/tokens", body })).json.token);
};
const say = (content: string, token?: string, user?: string) => {
  const body = { model: "main", user, messages: [{ role: "user", content }] };
  return kit.ask({ method: "POST", path: "/v1/chat/completions", token, body });
};

it("finds everyone's conversations and the notes for the owner, and only their own for everyone else", async () => {
  const [ann, eve, shop] = [await mint({ person: "ann" }), await mint({ person: "eve" }), await mint({ app: "shop" })];
  await say("a walrus of the owner");
  await say("a walrus of ann", ann);
  await say("a walrus of the shop", shop, "bob");
  mkdirSync(join(kit.home, "workspace", "memory"), { recursive: true });
  writeFileSync(join(kit.home, "workspace", "memory", "2026-11-01.md"), "A walrus in a note.");
  mkdirSync(join(kit.home, "people", "ann"), { recursive: true });
  writeFileSync(join(kit.home, "people", "ann", "MEMORY.md"), "A walrus in ann's note.");
  const said = ({ items }: { items: Hit[] }) =>
    items
      .filter(({ speaker }) => speaker !== "assistant")
      .map(({ snippet }) => snippet)
      .sort();
  expect(said(await search("q=walrus"))).toEqual([
    "A walrus in a note.",
    "a walrus of ann",
    "a walrus of the owner",
    "a walrus of the shop",
  ]);
  expect(said(await search("q=walrus", ann))).toEqual(["A walrus in ann's note.", "a walrus of ann"]);
  expect(said(await search("q=walrus", eve))).toEqual([]);
  expect(said(await search("q=walrus&user=bob", shop))).toEqual(["a walrus of the shop"]);
  expect(said(await search("q=walrus&user=ann", shop))).toEqual([]);
  expect(said(await search("q=walrus", shop))).toEqual(["a walrus of the shop"]);
  expect((await search("q=walrus&user=ann", eve)).status).toBe(403);
  const [hit] = (await search("q=walrus+ann", ann)).items.filter(({ source }) => source === "conversation");
  expect((await search(`q=walrus&agent=${hit?.agentId}`, eve)).items).toEqual([]);
  expect((await search(`q=walrus&agent=${hit?.agentId}`, ann)).items.length).toBeGreaterThan(0);
  expect((await search("q=walrus")).text).not.toContain(kit.home);
});

it("answers every text, and refuses an empty or too long one", async () => {
  for (const q of ['"', "*", "AND OR NOT", "a:b", "(", "\\", "日本"])
    expect((await search(`q=${encodeURIComponent(q)}`)).status).toBe(200);
  expect((await search("q=")).status).toBe(400);
  expect((await search(`q=${"a".repeat(1_001)}`)).status).toBe(413);
});
