import { afterAll, beforeAll, expect, it } from "vitest";
import { FailureLog } from "../auth/failure-log.ts";
import { openTestGateway, type TestGateway } from "../gateway.test-kit.ts";

let kit: TestGateway;
beforeAll(async () => {
  kit = await openTestGateway();
});
afterAll(() => kit.close());

interface Row {
  readonly n: number;
  readonly action: string;
  readonly target?: string;
  readonly person: string;
}
const page = async (query: string, token?: string) => {
  const { status, json } = await kit.ask({ path: `/api/audit?${query}`, token });
  return { status, items: (json.items ?? []) as Row[], next: json.next };
};

it("shows the owner's rows newest first, filtered and in pages", async () => {
  for (const id of ["ann", "bob", "eve"]) await kit.ask({ method: "POST", path: "/api/people", body: { id } });
  const all = await page("action=person.add");
  expect(all.items.map(({ target }) => target)).toEqual(["eve", "bob", "ann"]);
  const first = await page("action=person.add&limit=2");
  expect(first.items.map(({ target }) => target)).toEqual(["eve", "bob"]);
  const second = await page(`action=person.add&limit=2&before=${first.next}`);
  expect([second.items.map(({ target }) => target), second.next]).toEqual([["ann"], null]);
  expect((await page("action=person.add&person=ann")).items).toEqual([]);
  expect((await page("decision=deny&action=person.add")).items).toEqual([]);
  expect((await page(`action=person.add&since=${Date.now() + 60_000}`)).items).toEqual([]);
  expect((await page("decision=maybe")).status).toBe(400);
});

it("is denied to everyone but the owner", async () => {
  const root = { id: "root", name: "root", kind: "owner", scopes: ["admin"] } as const;
  const persons = { name: "x", scopes: ["chat", "read"], person: "ann" } as const;
  const tokens = [
    (await kit.mint("chat")).token,
    (await kit.mint("read")).token,
    (await kit.gateway.context.tokens.mint(root, persons)).token,
  ];
  for (const token of tokens) expect((await page("", token)).status).toBe(403);
  expect((await page("", (await kit.mint("operate")).token)).status).toBe(200);
});

it("has a row for each minted and revoked token, without its secret", async () => {
  const body = { name: "laptop", scopes: ["chat"] };
  const made = await kit.ask({ method: "POST", path: "/api/tokens", body });
  const { token, record } = made.json as { token: string; record: { id: string } };
  await kit.ask({ method: "DELETE", path: `/api/tokens/${record.id}` });
  const rows = [...(await page("action=token.mint")).items, ...(await page("action=token.revoke")).items];
  expect(rows.map(({ target }) => target)).toEqual([`${record.id} laptop chat`, record.id]);
  expect(JSON.stringify(rows)).not.toContain(token.slice(-20));
});

it("has one row per address and minute for failed logins, and a bounded number in all", async () => {
  for (let n = 0; n < 5; n++) await kit.ask({ path: "/api/agents", token: "guess" });
  const { items } = await page("action=login");
  expect(items).toMatchObject([{ person: "unknown", target: "127.0.0.1", decision: "deny" }]);
  let written = 0;
  let now = 0;
  const ports = {
    ...kit.node.ports,
    clock: { ...kit.node.ports.clock, now: () => now, monotonic: () => now },
    store: {
      ...kit.node.ports.store,
      commit: async () => {
        written += 1;
        return { ok: true, results: [] } as const;
      },
    },
  };
  const log = new FailureLog(ports as never);
  for (let n = 0; n < 500; n++) log.failed(`10.0.0.${n}`, "wrong");
  expect(written).toBe(30);
  now += 2_000;
  log.failed("10.9.9.9", "wrong");
  log.failed("10.9.9.9", "wrong");
  expect(written).toBe(31);
});
