/** The session of WhatsApp Web on PostgreSQL: one transaction for each `set`, whatever breaks. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { roundOf, roundsIn, sessionIn } from "../../src/adapters/connectors/whatsapp-web/session-rounds.test-kit.ts";
import { checkSession } from "../../src/adapters/connectors/whatsapp-web/stored-auth.test-kit.ts";
import { openPostgresStore, type PostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { startProxy } from "./proxy.ts";
import { withClient } from "./server.ts";
import { freshDatabase } from "./shared.ts";

let url: string;
let store: PostgresStore;

beforeAll(async () => {
  url = await freshDatabase();
  store = await openPostgresStore({ url, maxConnections: 3 });
});
afterAll(() => store.close());

it("stores, finds and removes a session", () => checkSession(store));

it("writes all keys of a set in one transaction", async () => {
  await sessionIn(store).set(roundOf(1));
  await sessionIn(store).set(roundOf(2));
  const rows = await withClient(url, async (client) => {
    const sql = "SELECT DISTINCT xmin::text FROM rookery.facts WHERE key LIKE 'whatsapp-web.auth.web.%'";
    return (await client.query<{ xmin: string }>(sql)).rows;
  });
  expect(rows).toHaveLength(1);
});

it("has the keys of one round, whenever the connection is cut", async () => {
  const { hostname: host, port } = new URL(url);
  const proxy = await startProxy({ host, port: Number(port) });
  const cut = await openPostgresStore({ url: proxy.through(url), maxConnections: 3, settleMs: 2_000 });
  let last = 2;
  for (let round = 3; round < 9; round++) {
    const set = sessionIn(cut)
      .set(roundOf(round))
      .then(
        () => "stored",
        () => "unknown",
      );
    if (round % 3 === 0) proxy.cut();
    else if (round % 3 === 1) setImmediate(() => proxy.cut());
    else proxy.cutAtAnswer("COMMIT");
    const ended = await set;
    proxy.cutAtAnswer(undefined);
    const [found = 0, ...others] = await roundsIn(sessionIn(store));
    expect(others).toEqual([]);
    if (ended === "stored") expect(found).toBe(round);
    expect(found).toBeGreaterThanOrEqual(last);
    last = found;
  }
  // A wire that is whole again stores again.
  await sessionIn(cut).set(roundOf(9));
  expect(await roundsIn(sessionIn(store))).toEqual([9]);
  await cut.close();
  await proxy.close();
});
