/** What an account of WhatsApp Web remembers of its chats and people, in memory and after a restart. */
import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../app/testing/clock.ts";
import { seededIds } from "../../../app/testing/ids.ts";
import { type CommitOutcome, faultyStore, memoryStore } from "../../../app/testing/store.ts";
import { seenChats } from "./seen-chats.ts";

function world() {
  const clock = virtualClock();
  const inner = memoryStore();
  const outcome = { next: "go" as CommitOutcome, commits: 0 };
  const store = faultyStore(inner, () => {
    outcome.commits += 1;
    return outcome.next;
  });
  let processes = 0;
  const open = async (account = "web") => {
    const seen = seenChats({ clock, store, ids: seededIds(`seen-${++processes}`) }, account);
    await seen.load();
    return seen;
  };
  const pass = (ms: number) => clock.advance(ms, () => new Promise((resolve) => setImmediate(resolve)));
  /** The last messages of the chats as the store has them. */
  const storedIds = async (): Promise<unknown> => (await open()).latest(99).map((chat) => chat.key.id);
  const stored = (ids: unknown) => expect.poll(storedIds, { timeout: 60_000 }).toEqual(ids);
  return { clock, open, outcome, pass, stored };
}

const key = (id: string) => ({ remoteJid: "491@s.whatsapp.net", id, fromMe: false, participant: undefined });

describe("the link", () => {
  it("begins in the second of the first login and stays there", async () => {
    const { clock, open } = world();
    const seen = await open();
    expect(seen.since()).toBe(Number.POSITIVE_INFINITY);
    await clock.advance(1_700);
    await seen.linked();
    const began = clock.now() - 700;
    expect(seen.since()).toBe(began);
    await clock.advance(60_000);
    await seen.linked();
    const again = await open();
    await again.linked();
    expect([seen.since(), again.since()]).toEqual([began, began]);
    expect((await open("other")).since()).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("a person", () => {
  it("who was seen with a LID and a number is known by the LID, also after a restart", async () => {
    const { open } = world();
    const seen = await open();
    await seen.learn("1", "491");
    await seen.learn("2", "2@lid");
    await seen.learn(undefined, "493");
    for (const one of [seen, await open()]) expect(["1", "2"].map(one.phoneOf)).toEqual(["491", undefined]);
    expect((await open("other")).phoneOf("1")).toBeUndefined();
  });

  it("who was seen before is not stored again; a new number is", async () => {
    const { open, outcome } = world();
    const seen = await open();
    await seen.learn("1", "491");
    const before = outcome.commits;
    await seen.learn("1", "491");
    expect(outcome.commits).toBe(before);
    await seen.learn("1", "492");
    expect((await open()).phoneOf("1")).toBe("492");
  });

  it("who is seen at the same time as another is not lost", async () => {
    const { open } = world();
    const seen = await open();
    await Promise.all(["1", "2", "3"].map((n) => seen.learn(n, `49${n}`)));
    const again = await open();
    expect(["1", "2", "3"].map(again.phoneOf)).toEqual(["491", "492", "493"]);
  });

  it("who could not be stored is stored at the next try", async () => {
    const { open, outcome } = world();
    const seen = await open();
    outcome.next = "throw";
    await expect(seen.learn("1", "491")).rejects.toThrow();
    outcome.next = "go";
    await seen.learn("1", "491");
    expect((await open()).phoneOf("1")).toBe("491");
  });
});

describe("the last message of a chat", () => {
  it("of a new chat is stored at once, with what the phone needs to find it", async () => {
    const { open, stored } = world();
    const seen = await open();
    seen.heard("491", { ...key("A"), remoteJidAlt: "5@lid", participant: "7@lid" }, 10);
    await stored(["A"]);
    expect((await open()).latest(9)).toEqual([{ key: { ...key("A"), participant: "7@lid" }, at: 10 }]);
    expect((await open("other")).latest(9)).toEqual([]);
  });

  it("of a known chat is stored after five seconds, once for all that came", async () => {
    const { open, outcome, pass, stored } = world();
    const seen = await open();
    seen.heard("491", key("A"), 10);
    await stored(["A"]);
    const before = outcome.commits;
    for (const id of ["B", "C"]) seen.heard("491", key(id), 11);
    await pass(4_999);
    await stored(["A"]);
    await pass(1);
    await stored(["C"]);
    seen.heard("491", key("D"), 12);
    await pass(5_000);
    await stored(["D"]);
    expect(outcome.commits).toBe(before + 2);
  });

  it("is the newest one: history is older", async () => {
    const { open, pass, stored } = world();
    const seen = await open();
    for (const [id, at] of [
      ["new", 20],
      ["old", 10],
      ["same second", 20],
      ["older", 19],
    ] as const)
      seen.heard("491", key(id), at);
    await pass(5_000);
    await stored(["same second"]);
    expect(seen.latest(9)).toMatchObject([{ key: { id: "same second" }, at: 20 }]);
  });

  it("of chats that are heard at the same time are all kept", async () => {
    const { open, stored } = world();
    const seen = await open();
    for (const chat of ["1", "2", "3"]) seen.heard(chat, key(chat), 10);
    await stored(["1", "2", "3"]);
    expect(seen.latest(9).map((chat) => chat.key.id)).toEqual(["1", "2", "3"]);
  });

  it("of fifty chats are kept, those heard last, and so many are given as are asked for", async () => {
    const { open, pass, stored } = world();
    const seen = await open();
    for (let n = 0; n < 51; n++) seen.heard(String(n), key(String(n)), n);
    seen.heard("1", key("1 again"), 99);
    await pass(5_000);
    await stored([...Array.from({ length: 49 }, (_, n) => String(n + 2)), "1 again"]);
    expect((await open()).latest(2).map((chat) => chat.key.id)).toEqual(["50", "1 again"]);
  });
});
