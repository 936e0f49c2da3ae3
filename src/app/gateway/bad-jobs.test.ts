/** Jobs whose times no calendar has: refused when they are made, and rows of other programs do not hide the others. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { openTestGateway, type TestGateway } from "./gateway.test-kit.ts";

const answer = {
  content: [{ type: "text", text: "fine" }],
  stopReason: "stop",
  api: "a",
  provider: "p",
  model: "m",
} as const;
let kit: TestGateway;
beforeAll(async () => {
  kit = await openTestGateway({ model: { call: async () => answer } });
});
afterAll(() => kit.close());

const payload = { kind: "systemEvent", text: "tea" };
const add = (schedule: object) =>
  kit.ask({ method: "POST", path: "/api/cron", body: { name: "tea", schedule, payload } });

it.each<[string, object]>([
  ["after the last date", { kind: "at", atMs: 9e15 }],
  ["after the year 9999", { kind: "at", atMs: 253_402_300_800_000 }],
  ["with an interval that ends after it", { kind: "every", everyMs: 9e15 }],
  ["with an interval from a moment after it", { kind: "every", everyMs: 60_000, anchorMs: 9e15 }],
  ["whose first interval ends after it", { kind: "every", everyMs: 253_402_300_799_999 }],
])("refuses a job %s", async (_, schedule) => {
  const { status, json } = await add(schedule);
  expect([status, JSON.stringify(json)]).toEqual([400, expect.stringMatching(/Invalid cron job|no due time/u)]);
});

it("lists the other jobs beside rows whose schedules cannot be read", async () => {
  const { json } = await add({ kind: "every", everyMs: 3_600_000 });
  const { store, ids } = kit.node.ports;
  const [good] = await store.jobs({ limit: 9 });
  const bad = [
    { kind: "at", atMs: 9e15 },
    { kind: "every", everyMs: 9e15, anchorMs: 9e15 },
    { kind: "cron", expr: "never" },
    { kind: "cron", expr: "0 9 * * *", tz: "Nowhere/Here" },
    { kind: "moon" },
    { kind: "at" },
  ];
  for (const [at, schedule] of bad.entries()) {
    const job = JSON.parse(JSON.stringify({ ...good, id: `bad-${at}`, name: `bad ${at}`, schedule }));
    await store.commit({
      id: ids.change(),
      site: "test",
      at: Date.now(),
      ops: [{ op: "job.put", job, expect: 0 }],
    });
  }
  const { status, text } = await kit.ask({ path: "/api/cron" });
  expect([status, json.name]).toEqual([200, "tea"]);
  expect(text).toContain("tea");
  expect(text).toContain("cannot be read");
  const body = { user: "owner", text: "/cron" };
  const { text: said } = await kit.ask({ method: "POST", path: "/api/terminal/messages", body });
  const [{ agentId, seq }] = JSON.parse(said).messages;
  const { text: read } = await kit.ask({ path: `/api/terminal/messages/${agentId}/${seq}?waitSeconds=60` });
  expect(read).toContain("- tea: ");
  expect(read).toContain("bad 0");
  for (const at of bad.keys())
    expect((await kit.ask({ method: "DELETE", path: `/api/cron/bad-${at}` })).status, `bad-${at}`).toBeLessThan(300);
});
