/** The records that the configuration keeps. */
import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { type LogLine, recordingLog } from "../../../test/kit/log.ts";
import { openMemoryStore } from "../../adapters/store/sqlite/open-store.ts";
import { peopleSchema } from "../../config/sections/people.ts";
import type { PersonRecord } from "../../core/people/person-record.ts";
import { submit } from "../commit/submit.ts";
import { syncConfiguredPeople } from "./configured-people.ts";

const recordsOf = (records: object) => peopleSchema.parse({ records }).records;

function open() {
  const lines: LogLine[] = [];
  const ports = { store: openMemoryStore(), ids: seededIds("people"), clock: virtualClock(), log: recordingLog(lines) };
  const list = async () => (await ports.store.people({ limit: 10 })).map(({ id, accounts }) => `${id} ${accounts}`);
  return { ports, lines, list };
}

const made = (id: string, accounts: string[] = []): PersonRecord => ({
  ...{ id, role: "guest", accounts, grants: [{ allow: "exec" }], createdAt: 1, createdBy: "owner" },
});

describe("people from the configuration", () => {
  it("are written, changed and removed with it, and no commit is made if nothing changed", async () => {
    const { ports, list } = open();
    const first = recordsOf({ ann: { accounts: ["telegram:42"], grants: [{ ask: "exec" }] }, bob: {} });
    await syncConfiguredPeople(ports, first);
    expect(await list()).toEqual(["ann telegram:42", "bob "]);
    expect(await ports.store.person("ann")).toMatchObject({ createdBy: "config", grants: [{ ask: "exec" }] });
    const revision = await ports.store.rightsRevision();
    await ports.clock.advance(1_000);
    await syncConfiguredPeople(ports, first);
    expect(await ports.store.rightsRevision()).toBe(revision);
    await syncConfiguredPeople(ports, recordsOf({ bob: { name: "Bob" } }));
    expect(await list()).toEqual(["bob "]);
  });

  it("that the configuration no longer has are all removed, also more than a page, if nothing changed since they were read", async () => {
    const stored = Array.from({ length: 501 }, (_, n) => ({ ...made(`p${n + 1_000}`), createdBy: "config" }));
    const store = {
      rightsRevision: async () => 3,
      people: async ({ limit, after = "" }: { limit: number; after?: string }) =>
        stored.filter(({ id }) => id > after).slice(0, limit),
      commit: async ({ ops }: { ops: readonly { id: string; expect?: number }[] }) => {
        expect(ops.map(({ id }) => id)).toEqual(stored.map(({ id }) => id));
        expect(ops.map(({ expect: revision }) => revision)).toEqual([3, ...Array(500).fill(undefined)]);
        return { ok: true, results: [] };
      },
    };
    await syncConfiguredPeople({ ...open().ports, store } as never, {});
    expect.assertions(2);
  });

  it("are given up after five tries that others were quicker than", async () => {
    let tries = 0;
    const store = {
      ...{ rightsRevision: async () => 1, people: async () => [] },
      commit: async () => {
        tries += 1;
        return { ok: false, refused: "conflict", detail: "" };
      },
    };
    await expect(syncConfiguredPeople({ ...open().ports, store } as never, recordsOf({ ann: {} }))).rejects.toThrow(
      "their records kept changing",
    );
    expect(tries).toBe(5);
  });

  it("may exchange their accounts", async () => {
    const { ports, list } = open();
    await syncConfiguredPeople(ports, recordsOf({ ann: { accounts: ["t:1", "t:3"] }, bob: { accounts: ["t:2"] } }));
    await syncConfiguredPeople(ports, recordsOf({ ann: { accounts: ["t:2", "t:3"] }, bob: { accounts: ["t:1"] } }));
    expect(await list()).toEqual(["ann t:2,t:3", "bob t:1"]);
  });

  it("never replace a record that a person made, nor take its account", async () => {
    const { ports, lines, list } = open();
    await submit(ports, "test", [{ op: "person.put", person: made("ann", ["t:1"]) }]);
    await syncConfiguredPeople(ports, recordsOf({ ann: { accounts: ["t:2"] }, bob: { accounts: ["t:1"] }, cat: {} }));
    expect(await list()).toEqual(["ann t:1", "cat "]);
    expect(lines.map(({ level, message }) => `${level} ${message}`)).toEqual([
      "warn people.records.ann is not used: there is a record ann that was not made by the configuration",
      "warn people.records.bob is not used: t:1 belongs to ann",
    ]);
    await syncConfiguredPeople(ports, recordsOf({}));
    expect(await list()).toEqual(["ann t:1"]);
  });

  it("are decided again if a record changes in between", async () => {
    const { ports, list } = open();
    const { store } = ports;
    const raced = {
      ...ports,
      store: {
        ...store,
        commit: async (change: Parameters<typeof store.commit>[0]) => {
          const first = (await store.rightsRevision()) === 0;
          if (first) await submit(ports, "test", [{ op: "person.put", person: made("eve", ["t:1"]) }]);
          return store.commit(change);
        },
      },
    };
    await syncConfiguredPeople(raced, recordsOf({ ann: { accounts: ["t:1"] }, bob: {} }));
    expect(await list()).toEqual(["bob ", "eve t:1"]);
  });

  it.each([
    [{ owner: {} }, "lower-case"],
    [{ Ann: {} }, "lower-case"],
    [{ ann: { accounts: ["t:1"] }, bob: { accounts: ["t:1"] } }, "belongs to ann too"],
    [{ ann: { grants: [{ allow: "a", deny: "b" }] } }, "one of allow"],
    [{ ann: { grants: [{}] } }, "one of allow"],
    [{ ann: { grants: [{ allow: "a b(" }] } }, "ACTION"],
    [{ ann: { accounts: ["42"] } }, "channel:id"],
  ])("%j is refused: %s", (records, why) => {
    const result = peopleSchema.safeParse({ records });
    expect(result.error?.issues.map(({ message }) => message).join()).toContain(why);
  });
});
