import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createId } from "@paralleldrive/cuid2";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  ConflictError,
  CorruptDataError,
  HomeLockedError,
  InvalidInputError,
  NotFoundError,
} from "../../../core/errors.ts";
import type { AgentId, ChangeId, DeliveryId, Ids, SessionKey } from "../../../core/ids.ts";
import { openDatabase } from "../sqlite/database.ts";
import { lockHome } from "../sqlite/home-lock.ts";
import { readerOf } from "../sqlite/reader.ts";
import { adopt } from "./adopt.ts";
import { diskFiles } from "./disk-files.ts";
import { expectFilesMatch } from "./matches-database.test-kit.ts";
import { openMirror } from "./mirror.ts";
import { sqliteSource } from "./sqlite-source.ts";
import { Workload } from "./workload.test-kit.ts";

const NOW = 1_800_000_000_000;
const ann = "ann".padEnd(24, "0") as AgentId;
const bob = "bob".padEnd(24, "0") as AgentId;
const carl = "carl".padEnd(24, "0") as AgentId;
const ANN_KEY = "agent:main:telegram:dm:ann" as SessionKey;
let root: string;
let home: string;
let other: string;
let ids: Ids;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "rookery-adopt-"));
  [home, other] = [join(root, "home"), join(root, "other")];
  for (const dir of [home, other]) mkdirSync(dir);
  let count = 0;
  const uuid = () => `00000000-0000-7000-9000-${(++count).toString(16).padStart(12, "0")}`;
  ids = { agent: () => createId() as AgentId, uuid, change: () => `adopt-${++count}` as ChangeId };
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const databaseOf = (dir: string) => join(dir, "rookery.db");

function lives(dir: string, live: (work: Workload) => void): void {
  const db = openDatabase(databaseOf(dir), { synchronous: "off" });
  live(new Workload(db));
  const mirror = openMirror({ source: sqliteSource(db.sql), files: diskFiles(dir), now: () => NOW });
  while (mirror.step().more);
  mirror.sync();
  mirror.close();
  db.close();
}

/** Ann had a conversation, an open run, a message that waits and a delivery that was not sent. */
const annLives = (work: Workload): void => {
  work.agent("ann");
  work.post(ann, "first");
  work.answer(ann, work.take(ann, [1]), [1]);
  work.post(ann, "second");
  const runId = work.take(ann, [2]);
  work.commit(
    [
      {
        op: "delivery.add",
        delivery: {
          id: `${runId}.9` as DeliveryId,
          agentId: ann,
          runId,
          target: { channel: "telegram", to: "ann" },
          payload: { text: "unsent" },
          createdAt: 1,
        },
      },
    ],
    work.owner(ann),
  );
  work.post(ann, "third");
};

const annDir = (): string => join(other, "agents", ann);
const take = (dir = annDir()) => adopt({ home, databasePath: databaseOf(home), dir, ids, now: NOW });

async function reading<T>(read: (reader: ReturnType<typeof readerOf>) => Promise<T>): Promise<T> {
  const db = openDatabase(databaseOf(home));
  try {
    return await read(readerOf(db));
  } finally {
    db.close();
  }
}

const agents = () => reading(async (store) => (await store.agents({ limit: 10 })).map(({ id }) => id));

describe("adopting an agent", () => {
  beforeEach(() => {
    lives(other, annLives);
    lives(home, (work) => {
      work.agent("bob");
      work.post(bob, "hello");
      work.take(bob, [1]);
    });
  });

  test("brings its history, inbox and key, and leaves the directory unchanged", async () => {
    const before = readdirSync(annDir()).map((name) => readFileSync(join(annDir(), name), "utf8"));
    expect(take()).toMatchObject({ id: ann, sessionKey: ANN_KEY, waiting: 1, problems: [] });
    expect(readdirSync(annDir()).map((name) => readFileSync(join(annDir(), name), "utf8"))).toEqual(before);
    await reading(async (store) => {
      expect((await store.agentByKey(ANN_KEY))?.id).toBe(ann);
      const waiting = await store.waiting(ann, { limit: 10 });
      expect(waiting.map(({ body }) => "text" in body && body.text)).toEqual([
        "third",
        expect.stringContaining("lost"),
      ]);
    });
  });

  test("ends its unfinished work and touches no other agent", async () => {
    expect(take().lost).toEqual({ runs: 1, messages: 1, deliveries: 2 });
    await reading(async (store) => {
      expect((await store.runs(ann, { limit: 10 })).map(({ outcome }) => outcome)).toEqual(["lost"]);
      expect(await store.message(ann, 2)).toMatchObject({ state: "failed" });
      expect(await store.deliveries({ limit: 10, states: ["unconfirmed"], agentId: ann })).toHaveLength(2);
      expect(await store.message(bob, 1)).toMatchObject({ state: "taken" });
      expect((await store.agent(bob))?.runId).toBeDefined();
    });
  });

  test("takes over no setting that widens rights, and those that narrow them", async () => {
    const path = join(annDir(), "state.json");
    const file = JSON.parse(readFileSync(path, "utf8"));
    const wide = { execHost: "gateway", elevatedLevel: "full", execAsk: "always" };
    const rules = [{ allow: "exec" }, { deny: "web" }];
    writeFileSync(path, JSON.stringify({ ...file, ...wide, rules }));
    expect(take().reset.toSorted()).toEqual(["elevatedLevel", "execHost", "rules"]);
    await reading(async (store) => {
      const { state } = (await store.agent(ann)) ?? {};
      expect([state?.execHost, state?.elevatedLevel, state?.execAsk]).toEqual([undefined, undefined, "always"]);
      expect(state?.rules).toEqual([{ deny: "web" }]);
    });
  });

  test("the plain files of the home follow", () => {
    take();
    const db = openDatabase(databaseOf(home));
    const mirror = openMirror({ source: sqliteSource(db.sql), files: diskFiles(home), now: () => NOW });
    while (mirror.step().more);
    mirror.close();
    expectFilesMatch(db, diskFiles(home));
    db.close();
  });

  test("works for a directory that was set aside, with a number behind its id", async () => {
    const aside = join(home, "agents-aside", `${ann}-2`);
    mkdirSync(join(home, "agents-aside"));
    renameSync(annDir(), aside);
    take(aside);
    expect(await agents()).toEqual(expect.arrayContaining([ann, bob]));
  });

  test("works for a home without a database, and without a state.json", async () => {
    rmSync(home, { recursive: true });
    mkdirSync(home);
    rmSync(join(annDir(), "state.json"));
    expect(take().problems).toMatchObject([{ consequence: "state-lost" }]);
    expect(await agents()).toEqual([ann]);
  });

  test("an agent at rest gets its files from the mirror too, with the keys of messages that were settled long ago", () => {
    rmSync(other, { recursive: true });
    mkdirSync(other);
    lives(other, (work) => {
      work.agent("ann");
      work.post(ann, "first");
      work.answer(ann, work.take(ann, [1]), [1]);
      work.post(ann, "second");
      work.answer(ann, work.take(ann, [2]), [2]);
      work.db.sql.exec("UPDATE deliveries SET state = 'sent'");
    });
    expect(take().lost).toEqual({ runs: 0, messages: 0, deliveries: 0 });
    const db = openDatabase(databaseOf(home));
    const mirror = openMirror({ source: sqliteSource(db.sql), files: diskFiles(home), now: () => NOW });
    while (mirror.step().more);
    mirror.close();
    expectFilesMatch(db, diskFiles(home));
    db.close();
    const keys = (dir: string): unknown =>
      JSON.parse(readFileSync(join(dir, "agents", ann, "pending.json"), "utf8")).dedupe;
    expect(keys(home)).toEqual(keys(other));
    expect(keys(home)).toHaveLength(2);
  });

  test("leaves a pending.json that this home has, and makes none that the agent does not have", () => {
    const pending = join(home, "agents", ann, "pending.json");
    mkdirSync(join(home, "agents", ann), { recursive: true });
    writeFileSync(pending, "of this home");
    take();
    expect(readFileSync(pending, "utf8")).toBe("of this home");
    rmSync(home, { recursive: true });
    mkdirSync(home);
    rmSync(join(annDir(), "pending.json"));
    expect(take().problems).toMatchObject([{ consequence: "file-skipped" }]);
    expect(existsSync(pending)).toBe(false);
  });

  test("refuses an agent that exists, and a key that another agent has", async () => {
    take();
    expect(() => take()).toThrow(ConflictError);
    expect(() => take()).toThrow(`This home has an agent ${ann} already.`);
    const copy = join(root, createId());
    cpSync(annDir(), copy, { recursive: true });
    expect(() => take(copy)).toThrow(/has the session key agent:main:telegram:dm:ann already/);
    expect(await agents()).toHaveLength(2);
  });

  test("changes nothing if a part of it exists already", async () => {
    lives(home, (work) => {
      work.agent("carl");
      work.commit([{ op: "agent.claim", agentId: carl, node: work.node }]);
      const pending = JSON.parse(readFileSync(join(annDir(), "pending.json"), "utf8"));
      const delivery = { ...pending.deliveries[0], agentId: carl, runId: undefined };
      work.commit([{ op: "delivery.add", delivery }], work.owner(carl));
    });
    expect(() => take()).toThrow(ConflictError);
    expect(await agents()).not.toContain(ann);
    expect(await reading((store) => store.message(ann, 3))).toBeUndefined();
  });

  test("refuses while the program runs, and a home whose database is missing or unreadable", () => {
    const lock = lockHome(home);
    expect(() => take()).toThrow(HomeLockedError);
    lock.release();
    rmSync(databaseOf(home));
    expect(() => take()).toThrow(/`?missing/);
    writeFileSync(databaseOf(home), "not a database");
    expect(() => take()).toThrow(/cannot be read/);
    expect(readFileSync(databaseOf(home), "utf8")).toBe("not a database");
  });
});

describe("a directory that cannot be adopted", () => {
  beforeEach(() => lives(other, annLives));
  const secret = () => {
    const path = join(root, "secret");
    writeFileSync(path, '{ "type": "user" }');
    return path;
  };
  const inAnn = (name: string) => join(annDir(), name);

  test.each(["descriptor.json", "state.json", "pending.json", "history.jsonl"])(
    "%s is a link: nothing outside the directory is read",
    (name) => {
      rmSync(inAnn(name));
      symlinkSync(secret(), inAnn(name));
      expect(() => take()).toThrow(/is a link/);
    },
  );

  test("a file is a pipe or a directory", () => {
    rmSync(inAnn("pending.json"));
    execFileSync("mkfifo", [inAnn("pending.json")]);
    expect(() => take()).toThrow(/not a regular file/);
    rmSync(inAnn("pending.json"));
    mkdirSync(inAnn("pending.json"));
    expect(() => take()).toThrow(/not a regular file/);
  });

  test("a file or a line is too large", () => {
    const history = readFileSync(inAnn("history.jsonl"));
    truncateSync(inAnn("history.jsonl"), 5 * 2 ** 30);
    expect(() => take()).toThrow(/the limit is/);
    writeFileSync(inAnn("history.jsonl"), Buffer.concat([history, Buffer.alloc(17 << 20, "a")]));
    expect(() => take()).toThrow(/a line of more than/);
  });

  test("its descriptor, history or name is not valid", async () => {
    const history = readFileSync(inAnn("history.jsonl"));
    writeFileSync(inAnn("history.jsonl"), "no\nhistory\n");
    expect(() => take()).toThrow(/does not begin with a session/);
    expect(() => take()).toThrow(CorruptDataError);
    // The lines of a history without its first one.
    writeFileSync(inAnn("history.jsonl"), history.subarray(history.indexOf("\n") + 1));
    expect(() => take()).toThrow(/does not begin with a session/);
    writeFileSync(inAnn("history.jsonl"), history);
    writeFileSync(inAnn("descriptor.json"), '{ "type": "nobody" }');
    expect(() => take()).toThrow(/cannot be adopted/);
    rmSync(inAnn("descriptor.json"));
    expect(() => take()).toThrow(/descriptor.json is missing/);
    expect(() => take(other)).toThrow(InvalidInputError);
    expect(() => take(join(other, "nothing"))).toThrow(NotFoundError);
    expect(() => take(inAnn("state.json"))).toThrow(InvalidInputError);
    expect(existsSync(databaseOf(home)) ? await agents() : []).toEqual([]);
  });
});
