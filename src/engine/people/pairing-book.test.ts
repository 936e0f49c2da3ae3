import { describe, expect, test } from "vitest";
import { START, virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { ConflictError, CorruptDataError } from "../../core/errors.ts";
import type { Change, Op } from "../../core/store/change.ts";
import { linkUntil, PairingBook, type PairingPages } from "./pairing-book.ts";

const DAY = 24 * 3600_000;

/** A book on one value in memory; `race` changes it before a commit is compared. */
function setup(first?: string) {
  const clock = virtualClock();
  let text = first;
  let reads = 0;
  let race: () => void = () => {};
  const put = (op: Op | undefined): boolean => {
    race();
    if (op?.op !== "fact.put" || (op.expect ?? undefined) !== text) return false;
    text = op.value as string;
    return true;
  };
  const commits: Change[] = [];
  const store = {
    fact: async () => {
      reads += 1;
      return text;
    },
    commit: async (change: Change) => {
      commits.push(change);
      return put(change.ops[0]) ? { ok: true, results: [] } : { ok: false, refused: "conflict", detail: "" };
    },
    outcome: async () => undefined,
  };
  const book = new PairingBook({ store, clock, ids: seededIds("book") } as never);
  return {
    ...{ book, clock, commits },
    reads: () => reads,
    onRace: (then: () => void) => {
      race = then;
    },
    write: (pages: object) => {
      text = JSON.stringify(pages);
    },
    commit: async (op: Op): Promise<string> => {
      if (!put(op)) throw new ConflictError("another was first");
      return "done";
    },
  };
}
const block = (name: string) => (pages: PairingPages) => ({ ...pages, blocked: [...pages.blocked, name] });
const request = (code: string, at: number) => ({ code, account: `t:${code}`, channel: "t", at, toldAt: at });

describe("a change of the book", () => {
  test("keeps what another node has written in between", async () => {
    for (const how of ["alone", "with"] as const) {
      const { book, onRace, write, commit } = setup();
      let times = 0;
      onRace(() => {
        if (++times === 1) write({ blocked: ["other"] });
      });
      if (how === "alone") await book.change(block("mine"));
      else expect(await book.changeWith(block("mine"), commit)).toBe("done");
      expect((await book.now()).blocked).toEqual(["other", "mine"]);
      expect(times).toBe(2);
    }
  });

  test("is given up after eight others were quicker", async () => {
    const { book, onRace, write, commit, commits } = setup();
    let n = 0;
    onRace(() => write({ blocked: [`other ${++n}`] }));
    await expect(book.change(block("mine"))).rejects.toThrow("Too many people");
    expect(commits).toHaveLength(8);
    n = 0;
    await expect(book.changeWith(block("mine"), commit)).rejects.toThrow("another was first");
    expect(n).toBe(8);
  });

  test("that fails for another reason is not tried again, though the book has changed", async () => {
    const { book, write } = setup();
    let tries = 0;
    const broken = async (): Promise<never> => {
      tries += 1;
      write({ blocked: [`other ${tries}`] });
      throw new TypeError("no such person");
    };
    await expect(book.changeWith(block("mine"), broken)).rejects.toThrow("no such person");
    expect(tries).toBe(1);
  });

  test("that conflicts with something else than the book is not tried again", async () => {
    const { book } = setup();
    let tries = 0;
    const taken = async (): Promise<never> => {
      tries += 1;
      throw new ConflictError("the account belongs to someone else");
    };
    await expect(book.changeWith(block("mine"), taken)).rejects.toThrow("someone else");
    expect(tries).toBe(1);
  });

  test("waits for the one before it, also for one that failed", async () => {
    const { book, commit } = setup();
    const failing = book.changeWith(block("first"), () => Promise.reject(new TypeError("no")));
    const [, second, third] = await Promise.allSettled([
      failing,
      book.change(block("second")),
      book.changeWith(block("third"), commit),
    ]);
    expect([second.status, third.status]).toEqual(["fulfilled", "fulfilled"]);
    expect((await book.now()).blocked).toEqual(["second", "third"]);
  });

  test("is committed with what belongs to it", async () => {
    const { book, commits } = setup();
    const also: Op = { op: "fact.put", key: "other", value: "1" } as never;
    await book.change(block("mine"), [also]);
    expect(commits).toMatchObject([{ site: "pairing", ops: [{ key: "pairing", expect: null }, { key: "other" }] }]);
  });
});

describe("the book", () => {
  test("forgets requests after a week and codes at their time, and the oldest beyond its limits", async () => {
    const { book, clock } = setup();
    await book.change((pages) => ({
      ...pages,
      requests: [request("old", START - 7 * DAY), request("young", START - 7 * DAY + 1)],
      links: [
        { code: "over", person: "p", until: START },
        { code: "open", person: "p", until: START + 1 },
      ],
    }));
    const left = await book.now();
    expect(left.requests.map(({ code }) => code)).toEqual(["young"]);
    expect(left.links.map(({ code }) => code)).toEqual(["open"]);
    const many = (count: number) => Array.from({ length: count }, (_, n) => n);
    await book.change(() => ({
      requests: many(201).map((n) => request(`r${n}`, clock.now())),
      links: many(51).map((n) => ({ code: `l${n}`, person: "p", until: clock.now() + 1 })),
      blocked: many(2_001).map((n) => `b${n}`),
    }));
    const full = await book.now();
    expect([full.requests.length, full.links.length, full.blocked.length]).toEqual([200, 50, 2_000]);
    expect([full.requests[0]?.code, full.links[0]?.code, full.blocked[0]]).toEqual(["r1", "l1", "b1"]);
  });

  test("is read again after five seconds for a question that may be a little old, and at once after a change", async () => {
    const { book, clock, reads, write } = setup();
    expect((await book.recent()).blocked).toEqual([]);
    write({ blocked: ["other"] });
    await clock.advance(4_999);
    expect([(await book.recent()).blocked, reads()]).toEqual([[], 1]);
    await clock.advance(1);
    expect([(await book.recent()).blocked, reads()]).toEqual([["other"], 2]);
    await book.change(block("mine"));
    const before = reads();
    expect([(await book.recent()).blocked, reads()]).toEqual([["other", "mine"], before]);
    expect((await book.now()).blocked).toEqual(["other", "mine"]);
    expect(reads()).toBe(before + 1);
  });

  test("that cannot be read is an error and not an empty one: blocked people stay out", async () => {
    const { book } = setup('{"blocked": 5}');
    await expect(book.recent()).rejects.toThrow(CorruptDataError);
  });

  test("lets a code link accounts for a quarter of an hour", () => {
    expect(linkUntil(5)).toBe(5 + 15 * 60_000);
  });
});
