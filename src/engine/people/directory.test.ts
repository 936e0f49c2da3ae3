/** Whose account is whose, and the rights of now. */

import { beforeEach, describe, expect, it } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { openMemoryStore } from "../../adapters/store/sqlite/open-store.ts";
import type { PeopleSettings } from "../../core/agent/person.ts";
import { accountOf, appUser, OWNER, type PersonId } from "../../core/people/person.ts";
import type { PersonRecord } from "../../core/people/person-record.ts";
import type { Op } from "../../core/store/change.ts";
import type { Store } from "../../core/store/store.ts";
import { submit } from "../commit/submit.ts";
import { directoryOf } from "./directory.ts";

const id = (text: string) => text as PersonId;
const person = (name: string, rest: Partial<PersonRecord> = {}): PersonRecord => ({
  ...{ id: name, role: "guest", accounts: [], grants: [], createdAt: 0, createdBy: "owner" },
  ...rest,
});

const clock = virtualClock();
const ids = seededIds("directory");
let store: Store;
let reads: string[];

beforeEach(() => {
  store = openMemoryStore();
  reads = [];
});

const commit = async (...ops: Op[]) => submit({ store, clock, ids }, "test", ops);
const put = (name: string, rest?: Partial<PersonRecord>) => commit({ op: "person.put", person: person(name, rest) });

function open(identity: PeopleSettings = {}) {
  const counted = {
    people: (page: Parameters<Store["people"]>[0]) => {
      reads.push("people");
      return store.people(page);
    },
    rightsRevision: () => {
      reads.push("revision");
      return store.rightsRevision();
    },
  };
  return directoryOf({ store: counted, clock }, { current: { identity } });
}

describe("the directory of people", () => {
  it("gives every form of an id the rights of now", async () => {
    await put("ann", { accounts: ["telegram:42", "link:eve"], grants: [{ allow: "exec" }] });
    await put("cat", { role: "contact", accounts: ["telegram:group:-100"] });
    const links = { eve: ["sms:1"], dan: ["sms:2", "9"], eva: ["sms:3", "telegram:42"] };
    const directory = open({ ownerAccounts: ["telegram:1"], identityLinks: links });
    const { standing, personOf, sender, record } = await directory.now();
    const ann = { person: "ann", role: "guest", grants: [{ allow: "exec" }] };
    expect(standing(OWNER)).toEqual({ person: "owner", role: "owner", grants: [] });
    expect(standing(id("telegram:1")).role).toBe("owner");
    expect(standing(id("ann"))).toEqual(ann);
    expect(standing(id("telegram:42"))).toEqual(ann);
    expect(standing(id("TELEGRAM:42"))).toEqual(ann);
    expect(standing(id("link:eve"))).toEqual(ann);
    expect(standing(id("link:eva"))).toEqual(ann);
    expect(standing(id("telegram:group:-100")).role).toBe("contact");
    expect(standing(id("bob")).role).toBe("stranger");
    expect(standing(id("telegram:7")).role).toBe("stranger");
    expect(standing(appUser("shop", "ann")).role).toBe("guest");
    expect(standing(id("api:zoe")).role).toBe("guest");
    expect([sender("telegram", "42"), sender("telegram", "7"), sender("telegram", "1")]).toEqual([
      "ann",
      "telegram:7",
      "owner",
    ]);
    expect([sender("sms", "1"), sender("sms", "2"), sender("sms", "3"), sender("x", "9")]).toEqual([
      "ann",
      "link:dan",
      "ann",
      "link:dan",
    ]);
    expect(personOf(id("link:dan"))).toBe("link:dan");
    expect(record(id("ann"))?.id).toBe("ann");
  });

  it("tells users of the API apart by case, and a person from a group", async () => {
    await put("ann", { accounts: ["api:ann", "telegram:Ann"] });
    await put("all", { accounts: ["telegram:group:-1"] });
    const { sender, standing } = await open().now();
    expect([sender("api", "ann"), sender("api", "Ann"), sender("telegram", "aNN")]).toEqual(["ann", "api:Ann", "ann"]);
    // Someone who calls himself after the group is not the group.
    expect(sender("telegram", "group:-1")).toBe(accountOf("telegram", "group:-1"));
    expect(standing(sender("telegram", "group:-1")).role).toBe("stranger");
  });

  it("gives accounts without a record the role that the configuration says, now", async () => {
    const settings = { current: { identity: { unknown: "stranger" as "stranger" | "guest" } } };
    const directory = directoryOf({ store, clock }, settings);
    expect((await directory.now()).standing(id("telegram:7")).role).toBe("stranger");
    settings.current = { identity: { unknown: "guest" } };
    expect((await directory.now()).standing(id("telegram:7")).role).toBe("guest");
    expect((await directory.now()).standing(id("ann")).role).toBe("stranger");
  });

  it("reads the records once per revision, and sees a removal at the next use", async () => {
    await put("ann", { accounts: ["telegram:42"] });
    const directory = open();
    expect((await directory.now()).standing(id("telegram:42")).role).toBe("guest");
    reads = [];
    expect((await directory.now()).revision).toBe(1);
    expect(reads).toEqual(["revision"]);
    await commit({ op: "person.remove", id: "ann" });
    const now = await directory.now();
    expect([now.revision, now.standing(id("ann")).role, now.standing(id("telegram:42")).role]).toEqual([
      2,
      "stranger",
      "stranger",
    ]);
  });

  it("says who writes without a read, and looks again after ten seconds", async () => {
    const directory = open();
    await Promise.all([directory.recent(), directory.recent()]);
    expect(reads.filter((read) => read === "people")).toHaveLength(1);
    reads = [];
    await put("ann", { accounts: ["telegram:42"] });
    expect((await directory.recent()).sender("telegram", "42")).toBe("telegram:42");
    expect(reads).toEqual([]);
    await clock.advance(10_000);
    expect((await directory.recent()).sender("telegram", "42")).toBe("ann");
  });

  it("reads again if a change comes between its pages", async () => {
    await put("ann");
    const directory = directoryOf({
      clock,
      store: {
        rightsRevision: () => store.rightsRevision(),
        people: async (page) => {
          const found = await store.people(page);
          if (reads.push("people") === 1) await commit({ op: "person.remove", id: "ann" });
          return found;
        },
      },
    });
    const now = await directory.now();
    expect([now.revision, now.standing(id("ann")).role]).toEqual([2, "stranger"]);
  });

  it("shows a new revision only after everyone who follows has it, and reads it again if one fails", async () => {
    const directory = open();
    const seen: string[] = [];
    let isBroken = false;
    let taken = Promise.withResolvers<void>();
    taken.resolve();
    directory.onChanged(async (people) => {
      await taken.promise;
      if (isBroken) throw new Error("no store");
      seen.push(people.map(({ id: one }) => one).join());
    });
    await put("ann");
    await directory.now();
    await put("bob");
    taken = Promise.withResolvers();
    directory.forget();
    const [first, second] = [directory.recent(), directory.now()];
    await new Promise(setImmediate);
    expect(seen).toEqual(["ann"]);
    taken.resolve();
    expect([(await first).record(id("bob")), (await second).record(id("bob"))]).toEqual([person("bob"), person("bob")]);
    expect(seen.slice(0, 2)).toEqual(["ann", "ann,bob"]);

    await put("cat");
    isBroken = true;
    directory.forget();
    expect((await directory.recent()).record(id("cat"))).toBeUndefined();
    await expect(directory.now()).rejects.toThrow("no store");
    isBroken = false;
    expect((await directory.now()).record(id("cat"))).toEqual(person("cat"));
    expect(seen.at(-1)).toBe("ann,bob,cat");
  });
});

it("never takes the id of a person for an account that reads like it", async () => {
  await put("ann");
  // Without its last letter the id would be the name of a channel.
  await put("eve", { accounts: ["an:ann"], role: "contact" });
  const { personOf, standing } = await open().now();
  expect(personOf(id("ann"))).toBe("ann");
  expect(standing(id("ann"))).toMatchObject({ person: "ann", role: "guest" });
  expect(personOf(id("an:ann"))).toBe("eve");
});
