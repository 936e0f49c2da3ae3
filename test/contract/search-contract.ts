/**
 * The contract of search indexes: the same tests on SQLite and on PostgreSQL. What is committed is found, no one finds what is
 * someone else's, every text is a query, and the index is the same after it was built again (M35).
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AgentId, EntryId } from "../../src/core/ids.ts";
import type { PersonId } from "../../src/core/people/person.ts";
import type { SearchIndex, SearchRequest } from "../../src/core/search/search-index.ts";
import type { Store } from "../../src/core/store/store.ts";
import { anyText } from "../kit/any-text.ts";
import { conversations } from "../memory/conversations.ts";
import { QUESTIONS } from "../memory/questions.ts";
import { type Held, userDescriptor, type World, worldOn } from "./fixture.ts";

export interface OpenedSearch {
  readonly store: Store;
  readonly search: SearchIndex;
  dispose(): Promise<void>;
}

interface SearchWorld extends World {
  readonly search: SearchIndex;
  /** Makes an agent of a person and says these texts in turn. */
  say(person: string, name: string, ...texts: readonly string[]): Promise<Held>;
  more(held: Held, position: number, ...texts: readonly string[]): Promise<void>;
  find(query: string, request?: Partial<SearchRequest>): Promise<readonly string[]>;
}

const line = (text: string, n: number, more: object = {}): string =>
  JSON.stringify({
    type: "message",
    id: `e${n}`,
    parentId: null,
    role: n % 2 === 0 ? "user" : "assistant",
    content: [{ type: "text", text }],
    timestamp: 1_750_000_000_000 + n * 60_000,
    ...more,
  });

export async function searchWorldFor({ store, search }: OpenedSearch): Promise<SearchWorld> {
  const world = await worldOn(store);
  const more: SearchWorld["more"] = async (held, position, ...texts) => {
    const lines = texts.map((text, index) => line(text, position + index));
    await world.done([{ op: "entries.append", position, lines, leaf: `e${position}` as EntryId }], held.owner);
  };
  return Object.assign(world, {
    search,
    more,
    async say(person: string, name: string, ...texts: readonly string[]) {
      const seed = { ...world.seed(name, userDescriptor(name)), person: person as PersonId };
      await world.done([{ op: "agent.create", seed }]);
      const [claimed] = await world.done([{ op: "agent.claim", agentId: seed.id, node: world.node }]);
      const epoch = claimed?.op === "agent.claim" ? (claimed.epoch ?? 0) : 0;
      const held = { id: seed.id, owner: { agentId: seed.id, node: world.node, epoch } };
      if (texts.length > 0) await more(held, 2, ...texts);
      return held;
    },
    async find(query: string, request: Partial<SearchRequest> = {}) {
      const hits = await search.search({ query, people: ["owner"], notes: [], limit: 5, ...request });
      return hits.map(({ snippet }) => snippet);
    },
  });
}

export function searchContract(name: string, open: () => Promise<OpenedSearch>): void {
  const searchTest = (title: string, body: (world: SearchWorld) => Promise<void>): void =>
    test(title, async () => {
      const opened = await open();
      try {
        await body(await searchWorldFor(opened));
      } finally {
        await opened.dispose();
      }
    });

  describe(`search on ${name}`, () => {
    searchTest("finds what was said, with snippet, date, speaker and source", async (world) => {
      const held = await world.say("owner", "a", "The dentist is on Friday.", "Noted: dentist, Friday.", "Thanks!");
      const [hit, second] = await world.search.search({
        query: "dentist friday",
        people: ["owner"],
        notes: [],
        limit: 5,
      });
      expect(hit).toMatchObject({ source: "conversation", agentId: held.id, untrusted: undefined });
      expect(new Set([hit?.snippet, second?.snippet])).toEqual(
        new Set(["The dentist is on Friday.", "Noted: dentist, Friday."]),
      );
      const said = [hit, second].find((each) => each?.position === 2);
      expect(said).toMatchObject({ speaker: "user", at: 1_750_000_120_000, ref: `chat:${held.id}#2` });
      expect(said?.sessionKey).toBe("agent:main:test:dm:a");
    });

    searchTest("follows commits: what is committed before a search is found by it", async (world) => {
      const held = await world.say("owner", "a", "first walrus");
      expect(await world.find("walrus")).toEqual(["first walrus"]);
      await world.more(held, 3, "second walrus");
      expect(await world.find("walrus")).toHaveLength(2);
      await world.say("owner", "b", "third walrus");
      expect(await world.find("walrus")).toHaveLength(3);
    });

    searchTest("finds only what belongs to the people it is asked for", async (world) => {
      await world.say("owner", "a", "the secret is heron");
      await world.say("ann", "b", "the secret is otter");
      await world.say("an", "c", "the secret is newt");
      for (const query of ["secret", '"the secret"', "sec*", "heron otter newt", "the"]) {
        expect(await world.find(query, { people: ["ann"] })).toEqual(["the secret is otter"]);
        expect(await world.find(query, { people: ["an"] })).toEqual(["the secret is newt"]);
        expect(await world.find(query, { people: ["nobody"] })).toEqual([]);
      }
      expect(await world.find("secret", { people: ["ann", "an"] })).toHaveLength(2);
      expect(await world.find("secret", { people: "all" })).toHaveLength(3);
      await world.say("app:shop/bob", "d", "the secret is crab");
      await world.say("app:shopping/bob", "e", "the secret is eel");
      expect(await world.find("secret", { people: { app: "shop" } })).toEqual(["the secret is crab"]);
    });

    searchTest("searches in one conversation only", async (world) => {
      const a = await world.say("owner", "a", "walrus in a");
      await world.say("owner", "b", "walrus in b");
      expect(await world.find("walrus", { agentId: a.id })).toEqual(["walrus in a"]);
      expect(await world.find("walrus", { agentId: "x".repeat(24) as AgentId })).toEqual([]);
    });

    searchTest("finds phrases, beginnings of words, plurals, accents and scripts without spaces", async (world) => {
      await world.say(
        "owner",
        "a",
        "red green blue",
        "green red blue",
        "two stories about cafés",
        "京都の天気は晴れです",
        "東京タワーに行きました",
        "비가 오는 서울",
        "สวัสดีชาวโลก",
      );
      expect(await world.find('"red green"')).toEqual(["red green blue"]);
      expect(await world.find('blue "green red"')).toEqual(["green red blue"]);
      expect(await world.find("stor*")).toEqual(["two stories about cafés"]);
      expect(await world.find("story")).toEqual(["two stories about cafés"]);
      expect(await world.find("CAFE")).toEqual(["two stories about cafés"]);
      expect(await world.find("京都")).toEqual(["京都の天気は晴れです"]);
      expect(await world.find("京")).toHaveLength(2);
      expect(await world.find("東京タワー")).toEqual(["東京タワーに行きました"]);
      expect(await world.find('"の天気"')).toEqual(["京都の天気は晴れです"]);
      expect(await world.find("서울")).toEqual(["비가 오는 서울"]);
      expect(await world.find("ชาวโลก")).toEqual(["สวัสดีชาวโลก"]);
    });

    searchTest("has no syntax errors: every text is a query", async (world) => {
      await world.say("owner", "a", "walrus OR otter AND NOT heron's (NEAR) text:col");
      const nasty = [
        '"',
        '""',
        '"a',
        "*",
        "a*",
        "AND",
        "OR NOT",
        "NEAR(",
        "^x",
        "text:walrus",
        "'",
        "\\",
        "a & b | !c",
        "<->",
        ":*",
        "%_",
        "\u0000",
        "\ud800",
      ];
      // At the same time: all of them end, and none is in the way of another.
      await Promise.all([...nasty, ...nasty.map((each) => `walrus ${each}`)].map((query) => world.find(query)));
      expect(await world.find("walrus AND (")).toHaveLength(1);
      const any = anyText({ maxLength: 60 });
      const words = fc.array(fc.oneof(fc.constantFrom(...nasty, "walrus", "京都", "stor*"), any), { maxLength: 6 });
      await fc.assert(
        fc.asyncProperty(fc.array(words, { minLength: 5, maxLength: 5 }), async (queries) => {
          const found = await Promise.all(queries.map((parts) => world.find(parts.join(" "))));
          for (const hits of found) expect(hits.length).toBeLessThanOrEqual(1);
        }),
        { numRuns: 5 },
      );
    });

    searchTest("stores any text that was said", async (world) => {
      const long = `${"a".repeat(5_000)} ${"京".repeat(3_000)} needle ${"é b\u0000c\ud800 ".repeat(3_000)} haystack`;
      await world.say("owner", "a", "", "\u0000", "'quoted' \\ :1 & | !", long, "last words");
      expect(await world.find("needle")).toHaveLength(1);
      expect(await world.find("haystack")).toHaveLength(1);
      expect(await world.find("quoted")).toHaveLength(1);
      expect(await world.find("last words")).toHaveLength(1);
    });

    searchTest(
      "leaves out results of tools, markers and silent answers, and keeps the mark of untrusted text",
      async (world) => {
        const held = await world.say("owner", "a", "walrus");
        const lines = [
          line("walrus of a tool", 3, { role: "tool" }),
          line("NO_REPLY", 5),
          JSON.stringify({ type: "custom", id: "x", parentId: null, name: "walrus", data: "walrus" }),
          line("walrus from a page", 6, { untrusted: { from: "tool:web_fetch" } }),
          "not json walrus",
        ];
        await world.done([{ op: "entries.append", position: 3, lines, leaf: "x" as EntryId }], held.owner);
        const hits = await world.search.search({ query: "walrus", people: ["owner"], notes: [], limit: 9 });
        expect(Object.fromEntries(hits.map(({ snippet, untrusted }) => [snippet, untrusted]))).toEqual({
          walrus: undefined,
          "walrus from a page": "tool:web_fetch",
        });
      },
    );

    searchTest("forgets the conversation of a removed agent", async (world) => {
      const held = await world.say("owner", "a", "walrus");
      expect(await world.find("walrus")).toHaveLength(1);
      await world.done([{ op: "agent.remove", agentId: held.id, reason: "test" }], held.owner);
      expect(await world.find("walrus")).toEqual([]);
    });

    searchTest("finds notes of the given directories, and follows their files", async (world) => {
      const directory = mkdtempSync(join(tmpdir(), "rookery-notes-"));
      const other = mkdtempSync(join(tmpdir(), "rookery-notes-"));
      try {
        mkdirSync(join(directory, "memory"));
        writeFileSync(join(directory, "MEMORY.md"), "# People\n\nAnn likes walruses.\n\nBob likes otters.\n");
        writeFileSync(join(directory, "memory", "2026-11-01.md"), "Met a walrus at the zoo.\n");
        writeFileSync(join(other, "MEMORY.md"), "A walrus that is someone else's.\n");
        await world.say("owner", "a", "walrus said");
        const notes = [directory];
        const hits = await world.search.search({ query: "walrus", people: ["owner"], notes, limit: 9 });
        expect(hits.map(({ source, path, line: at, speaker }) => [source, path, at, speaker]).sort()).toEqual([
          ["conversation", undefined, undefined, "user"],
          ["note", "MEMORY.md", 3, "note"],
          ["note", "memory/2026-11-01.md", 1, "note"],
        ]);
        writeFileSync(join(directory, "memory", "2026-11-01.md"), "Met nothing at all.\n");
        rmSync(join(directory, "MEMORY.md"));
        writeFileSync(join(directory, "memory", "2026-11-02.md"), "Another walrus.\n");
        expect(await world.find("walrus", { people: [], notes })).toEqual(["Another walrus."]);
        expect(await world.find("nothing", { people: [], notes })).toEqual(["Met nothing at all."]);
      } finally {
        rmSync(directory, { recursive: true, force: true });
        rmSync(other, { recursive: true, force: true });
      }
    });

    searchTest("is the same after it was built again", async (world) => {
      await world.say("owner", "a", "walrus one", "otter", "walrus two");
      await world.say("ann", "b", "walrus three");
      const all = async () => [
        (await world.find("walrus")).toSorted(),
        await world.find("walrus", { people: ["ann"] }),
        await world.find("otter"),
      ];
      const before = await all();
      await world.search.rebuild();
      expect(await all()).toEqual(before);
      expect(before[0]).toEqual(["walrus one", "walrus two"]);
    });

    searchTest("answers the exact-word questions over generated conversations", async (world) => {
      const texts = [...conversations(1_500)].map(({ text }) => text);
      const held = await world.say("owner", "a");
      for (let at = 0; at < texts.length; at += 500) await world.more(held, 2 + at, ...texts.slice(at, at + 500));
      const answers = await Promise.all(
        QUESTIONS.map(async ({ exact, fact }) => {
          const hits = await world.search.search({ query: exact, people: ["owner"], notes: [], limit: 5 });
          return hits.some(({ position = 2 }) => texts[position - 2]?.includes(fact));
        }),
      );
      expect(answers.filter(Boolean).length).toBeGreaterThanOrEqual(95);
    });
  });
}
