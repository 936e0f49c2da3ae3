/**
 * Every key of the configuration, set and reloaded in a running engine, has its documented effect with its unit. `ELSEWHERE` names the keys
 * whose effect needs a real platform, sandbox, program or database: `reload.test.ts` shows that a reload reaches them.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { configSchema } from "../../src/config/config-schema.ts";
import { isLive } from "../../src/config/live-keys.ts";
import { keysOf, schemaTree } from "../../src/config/schema-tree.ts";
import { Desk } from "./config-desk.ts";
import { PROVIDER_ROWS, ROWS, START_CONFIG } from "./config-keys.ts";
import { ELSEWHERE } from "./config-keys-elsewhere.ts";
import { echo, type FakeModel, fakeModel } from "./serving.ts";

const KEYS = keysOf(schemaTree(configSchema)).map(({ path }) => path);
const AT_START = KEYS.filter((key) => !isLive(key));

describe("the table of keys", () => {
  it("has a row for every key of the schema, and no other", () => {
    const named = [
      ...ROWS.flatMap(({ keys }) => keys),
      ...PROVIDER_ROWS.flatMap(({ keys }) => keys),
      ...AT_START,
      ...ELSEWHERE,
    ];
    expect([...named].sort()).toEqual([...KEYS].sort());
  });
});

describe("a key that is reloaded has its effect", () => {
  let desk: Desk;
  beforeAll(async () => {
    desk = await Desk.open();
    await desk.api("hello");
  });
  afterAll(() => desk.close());

  it.each(ROWS.map((row) => [row.keys.join(", "), row] as const))("%s", async (_, { effect }) => {
    await desk.reset();
    await effect(desk);
  });

  it("or is named as one that needs a restart", async () => {
    await desk.reset();
    const report = await desk.reloadReport(START_CONFIG);
    expect(report.reloaded).toEqual([]);
    for (const key of AT_START)
      expect(
        report.needsRestart.some((path) => covers(path, key)),
        key,
      ).toBe(true);
  });
});

/** A reload names a map as a whole, or the names in it. */
const covers = (path: string, key: string): boolean =>
  path === key || key.startsWith(`${path}.`) || path === key.replace("<name>", "east");

describe("a key of a provider that is reloaded has its effect", () => {
  let desk: Desk;
  let server: FakeModel;
  beforeAll(async () => {
    server = await fakeModel();
    desk = await Desk.open({}, true);
  });
  afterAll(async () => {
    await desk.close();
    await server.close();
  });

  it.each(PROVIDER_ROWS.map((row) => [row.keys.join(", "), row] as const))("%s", async (_, { effect }) => {
    server.script = echo;
    await effect(desk, server);
  });
});
