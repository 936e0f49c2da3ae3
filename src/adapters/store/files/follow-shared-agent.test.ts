/** What a node reads of an agent in a shared database, for its plain files: what it knows of them is not read again. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { entryId } from "../../../core/ids.ts";
import { silentLog } from "../../../core/ports/log.ts";
import type { Statement } from "../postgres/batched-reads.ts";
import type { PostgresStore } from "../postgres/open-store.ts";
import { followShared, type SharedMirror } from "./follow-shared.ts";

const idOf = (n: number): string => `a${String(n).padStart(23, "0")}`;
const line = (n: number): string => JSON.stringify({ type: "someday", n });

let home = "";
let running: SharedMirror[] = [];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-follow-"));
});
afterEach(async () => {
  for (const mirror of running) await mirror.stop();
  running = [];
  rmSync(home, { recursive: true, force: true });
});

/** Agents with some lines and messages. Each read takes a turn of the event loop, as one over a network does. */
function world(count: number) {
  const agents = new Map(
    Array.from({ length: count }, (_none, n) => [idOf(n + 1), { lines: [line(0), line(1)], messages: 0 }]),
  );
  const touched = new Map<string, number>();
  const asked: string[] = [];
  const keys: string[][] = [];
  const warned: string[] = [];
  const later = async <T>(value: T): Promise<T> => {
    await new Promise((resolve) => setImmediate(resolve));
    return value;
  };
  const rowOf = (id: string) => {
    const agent = agents.get(id);
    return (
      agent && {
        ...{ no: 1, id, session_key: "k", profile: "main", person: null, descriptor: "{}", created_at: 1 },
        ...{ session_id: "s", next_seq: agent.messages + 1, cursor: 0, next_pos: agent.lines.length, leaf: "l" },
        ...{ run_id: null, last_human_at: null, stopped: null, state: "{}", asks: false },
      }
    );
  };
  const messageOf = (seq: number) => ({
    ...{ seq, state: "waiting", run_id: null },
    message: JSON.stringify({
      ...{ body: { kind: "user", text: "hi" }, acceptedAt: 1 },
      source: { connector: "test", channelId: "c", messageId: `m${seq}` },
    }),
  });
  const rows = (name: string, id: string, from: number): unknown[] => {
    const agent = agents.get(id);
    if (name === "mirror-lines") {
      asked.push(`lines of ${Number(id.slice(1))} from ${from}`);
      return (agent?.lines ?? []).slice(from).map((text, index) => ({ pos: from + index, line: text }));
    }
    if (name === "mirror-messages") return Array.from({ length: agent?.messages ?? 0 }, (_none, n) => messageOf(n + 1));
    if (name === "touched-since") return [...touched].map(([word, changes]) => ({ word, changes }));
    return [];
  };
  const store = {
    connections: {
      use: () => later(undefined),
      one: (statement: Statement, id: string) => later(statement.name === "changes-xmin" ? { before: "1" } : rowOf(id)),
      all(statement: Statement, id: string | readonly string[], from: number) {
        if (statement.name !== "mirror-dedupe") return later(rows(statement.name, String(id), from));
        keys.push([...id]);
        return later((id as readonly string[]).map((key, index) => ({ key, seq: index + 1, keep_until: 9 })));
      },
    },
    agents: ({ after }: { after?: string }) =>
      later(after === undefined ? [...agents.keys()].map((id) => ({ id })) : []),
    ...Object.fromEntries(
      ["jobs", "subagentRuns", "budgets", "reservations", "swarms", "people", "files"].map((name) => [
        name,
        () => later([]),
      ]),
    ),
    rightsRevision: () => later(0),
  } as unknown as PostgresStore;
  const follow = async (archiveAbove?: number): Promise<SharedMirror> => {
    const log = { ...silentLog, warn: (text: string) => void warned.push(text) };
    const mirror = await followShared({ home, store, log, everyMs: 3_600_000, archiveAbove });
    running.push(mirror);
    return mirror;
  };
  const touch = (n: number, change: (agent: { lines: string[]; messages: number }) => void): void => {
    const agent = agents.get(idOf(n));
    if (agent) change(agent);
    touched.set(idOf(n), (touched.get(idOf(n)) ?? 0) + 1);
  };
  const history = (n: number): string => join(home, "agents", idOf(n), "history.jsonl");
  const expectSame = (): void => {
    for (const [n, { lines }] of [...agents.values()].entries())
      expect(readFileSync(history(n + 1), "utf8"), `agent ${n + 1}`).toBe(lines.map((text) => `${text}\n`).join(""));
  };
  return { agents, asked, keys, warned, follow, touch, history, expectSame };
}

describe("the history of an agent in a shared database", () => {
  test("is read from its beginning once, and then from where the file ends, for any number of agents", async () => {
    const { asked, follow, touch, expectSame } = world(5);
    const mirror = await follow();
    await mirror.flush();
    expectSame();
    expect(asked).toEqual([1, 2, 3, 4, 5].map((n) => `lines of ${n} from 0`));
    asked.length = 0;
    for (const n of [1, 2, 3, 4, 5]) touch(n, ({ lines }) => lines.push(line(2)));
    await mirror.flush();
    expectSame();
    expect(asked).toEqual([1, 2, 3, 4, 5].map((n) => `lines of ${n} from 2`));
    asked.length = 0;
    touch(3, ({ lines }) => lines.push(line(3), line(4)));
    await mirror.flush();
    expectSame();
    expect(asked).toEqual(["lines of 3 from 3"]);
  });

  test("is archived above the set size, followed from there, and written whole again without its .bak", async () => {
    const { agents, asked, warned, follow, touch, history, expectSame } = world(1);
    const lines = Array.from({ length: 20 }, (_none, n) =>
      JSON.stringify({ type: "someday", id: entryId(n, "00000000-0000-7000-8000-000000000001"), pad: "x".repeat(50) }),
    );
    const kept = entryId(15, "00000000-0000-7000-8000-000000000001");
    lines.push(JSON.stringify({ type: "compaction", firstKeptEntryId: kept }));
    agents.set(idOf(1), { lines, messages: 0 });
    const mirror = await follow(1_000);
    await mirror.flush();
    const read = (path: string) => readFileSync(path, "utf8").split("\n").slice(0, -1);
    expect([...read(`${history(1)}.bak`), ...read(history(1)).slice(3)]).toEqual(lines);
    expect(read(`${history(1)}.bak`)).toHaveLength(15);
    touch(1, (agent) => agent.lines.push(line(21)));
    await mirror.flush();
    expect(read(history(1)).slice(3)).toEqual(lines.slice(15));
    expect(asked).toEqual(["lines of 1 from 0", "lines of 1 from 21"]);
    rmSync(`${history(1)}.bak`);
    await (await follow(1_000_000)).flush();
    expectSame();
    expect(warned).toHaveLength(1);
  });

  test("is read from its beginning again if the file is not as it was left, and says what it moved aside", async () => {
    const { asked, warned, follow, touch, history, expectSame } = world(1);
    const mirror = await follow();
    await mirror.flush();
    writeFileSync(history(1), `${line(0)}\n{"strange":1}\nand torn`);
    asked.length = 0;
    touch(1, ({ lines }) => lines.push(line(2)));
    await mirror.flush();
    expectSame();
    expect(asked).toEqual(["lines of 1 from 0"]);
    expect(warned).toHaveLength(2);
    expect(readFileSync(`${history(1)}.orphaned-0`, "utf8")).toBe('{"strange":1}\n');
  });

  test("is complete when the last look is, and one that is gone is left alone", async () => {
    const { follow, touch, agents, warned, expectSame } = world(2);
    const mirror = await follow();
    touch(1, ({ lines }) => lines.push(line(2)));
    await mirror.stop();
    running = [];
    expectSame();
    const again = await follow();
    await again.flush();
    agents.delete(idOf(2));
    touch(2, () => {});
    await again.flush();
    touch(1, ({ lines }) => lines.push(line(3)));
    await again.flush();
    expectSame();
    expect(warned).toEqual([]);
  });

  test("comes with the keys of its messages, and after a restart with those that only the file has", async () => {
    const { keys, follow, touch } = world(1);
    touch(1, (agent) => {
      agent.messages = 2;
    });
    const pending = (): { dedupe: [string][] } =>
      JSON.parse(readFileSync(join(home, "agents", idOf(1), "pending.json"), "utf8"));
    const first = await follow();
    await first.flush();
    expect(keys.at(-1)).toHaveLength(2);
    expect(pending().dedupe).toHaveLength(2);
    // The messages are pruned; their keys are not.
    touch(1, (agent) => {
      agent.messages = 0;
    });
    await first.stop();
    running = [];
    const [one] = pending().dedupe;
    keys.length = 0;
    const second = await follow();
    await second.flush();
    expect(keys.at(0)).toContain(one?.[0]);
    touch(1, (agent) => {
      agent.messages = 1;
    });
    await second.flush();
    // What the node knows it does not look up in the file again.
    expect(keys.at(-1)).toHaveLength(1);
  });
});
