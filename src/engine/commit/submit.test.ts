/** A commit is applied, refused or an error, never a guess; and what it carries along. */
import { describe, expect, test } from "vitest";
import type { Change, CommitResult, Op } from "../../core/store/change.ts";
import { claimedFor, commitKnown, postedIn, submit } from "./submit.ts";

const APPLIED: CommitResult = { ok: true, results: [] };
const change = (...ops: readonly Op[]): Change => ({ id: "c", site: "s", at: 1, ops }) as never;
const fact: Op = { op: "fact.put", key: "k", value: "v" };
const post = (more: object = {}): Op => ({ op: "message.post", to: { agentId: "a" }, message: {}, ...more }) as never;

/** A store that answers, or loses its answer and knows the outcome or not. */
function store(answer: CommitResult | Error, outcome?: CommitResult | Error) {
  const seen: Change[] = [];
  return {
    seen,
    commit: async (one: Change) => {
      seen.push(one);
      if (answer instanceof Error) throw answer;
      return answer;
    },
    outcome: async () => {
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
  };
}

describe("a commit", () => {
  test("whose answer was lost is what the store knows of it", async () => {
    const refused: CommitResult = { ok: false, refused: "conflict", detail: "d" };
    expect(await commitKnown(store(APPLIED), change(fact))).toBe(APPLIED);
    expect(await commitKnown(store(refused), change(fact))).toBe(refused);
    expect(await commitKnown(store(new Error("cut"), APPLIED), change(fact))).toBe(APPLIED);
  });

  test("of which nobody knows anything is the first error, also if the question fails too", async () => {
    await expect(commitKnown(store(new Error("cut")), change(fact))).rejects.toThrow("cut");
    await expect(commitKnown(store(new Error("cut"), new Error("gone")), change(fact))).rejects.toThrow("cut");
  });

  test("has an id, a site and a time of its own, or the time that it is given", async () => {
    const one = store(APPLIED);
    const ports = { store: one, ids: { change: () => "id" }, clock: { now: () => 7 } } as never;
    await submit(ports, "test", [post()], { claimFor: 3, owner: { agentId: "a" } as never });
    await submit(ports, "test", [fact], { at: 5 });
    await submit(ports, "test", [fact]);
    expect(one.seen).toEqual([
      { id: "id", site: "test", at: 7, owner: { agentId: "a" }, ops: [post({ claimFor: 3 })] },
      { id: "id", site: "test", at: 5, owner: undefined, ops: [fact] },
      { id: "id", site: "test", at: 7, owner: undefined, ops: [fact] },
    ]);
  });
});

describe("what a commit carries along", () => {
  const delivery = (id: string, files?: readonly string[]): Op =>
    ({ op: "delivery.add", delivery: { id, payload: { files: files?.map((file) => ({ id: file })) } } }) as never;

  test("is a hold of the files of each delivery, behind all other ops", async () => {
    const committed = async (given: Change) => {
      const one = store(APPLIED);
      await commitKnown(one, given);
      return one.seen[0]?.ops ?? [];
    };
    const given = change(delivery("d1", ["f1", "f2"]), fact, delivery("d2", []), delivery("d3", ["f3"]));
    expect((await committed(given)).slice(4)).toEqual([
      { op: "file.hold", files: ["f1", "f2"], by: { delivery: "d1" }, ifKept: true },
      { op: "file.hold", files: ["f3"], by: { delivery: "d3" }, ifKept: true },
    ]);
    expect((await committed(given)).slice(0, 4)).toEqual(given.ops);
    const none = change(fact, delivery("d"), delivery("e", []));
    expect(await committed(none)).toEqual(none.ops);
  });

  test("is the claim of a node for the messages that name none", () => {
    const ops = [post(), post({ claimFor: 1 }), fact];
    expect(claimedFor(ops, 2)).toEqual([post({ claimFor: 2 }), post({ claimFor: 1 }), fact]);
    expect(claimedFor(ops, undefined)).toBe(ops);
  });

  test("are the messages that it posted", () => {
    const posted = { op: "message.post", agentId: "a", seq: 1 };
    expect(postedIn({ ok: true, results: [undefined, posted, { op: "other" }] } as never)).toEqual([posted]);
  });
});
