/**
 * The search index of a world: the real follower and the real index, on the database of the world. It works in portions at any moment,
 * dies inside them with its node, is built again, falls behind until changes are missing from the log, and forgets. Whenever it has
 * caught up, everything that is committed is found exactly once, and nothing that was removed (M35).
 */
import { findDocuments } from "../../../src/adapters/search/find-documents.ts";
import { OtherDatabase, type StoreFollower, storeFollower } from "../../../src/adapters/search/sqlite/follow-store.ts";
import { type IndexFile, openIndexFile } from "../../../src/adapters/search/sqlite/index-file.ts";
import { sqliteSource } from "../../../src/adapters/store/files/sqlite-source.ts";
import type { AgentId, ChangeId } from "../../../src/core/ids.ts";
import { personSpace } from "../../../src/core/search/search-index.ts";
import type { Random } from "../../kit/random.ts";
import type { World } from "./build-world.ts";
import type { Nodes } from "./nodes.ts";

export type IndexSource = Parameters<typeof storeFollower>[1];

/** What the follower works with. Mutations break it. */
export interface IndexParts {
  readonly index: IndexFile;
  readonly source: IndexSource;
}

export interface IndexActor {
  /** After all nodes have ended: forgets an agent, and compares for the last time. */
  end(): Promise<void>;
  readonly counts: Readonly<Record<string, number>>;
}

class Killed extends Error {}

const MAX_WRITES = 10;
/** Changes that stay in the log when older ones are pruned. */
const KEPT_CHANGES = 20;

export function startIndex(world: World, nodes: Nodes, random: Random, faultsEnd: number): IndexActor {
  const { scheduler, database, options, log } = world;
  const counts = {
    "index steps": 0,
    "index deaths": 0,
    "index builds": 1,
    "index comparisons": 0,
    "entries compared": 0,
  };
  let file = openIndexFile(":memory:");
  let at: { readonly life: string; readonly follower: StoreFollower } | undefined;
  let isHeld = false;
  /** The process dies at the write with this number. */
  let writesLeft = Number.POSITIVE_INFINITY;

  const dying = (): void => {
    if (--writesLeft < 0) throw new Killed();
  };
  const parts = (): IndexParts => {
    const { db } = file;
    const counted: IndexFile = {
      ...file,
      db: Object.assign(Object.create(db), {
        run: (...given: Parameters<typeof db.run>) => {
          dying();
          return db.run(...given);
        },
      }),
      putMeta(key, value) {
        dying();
        file.putMeta(key, value);
      },
      add(...given) {
        dying();
        file.add(...given);
        dying();
      },
      removeWhere(...given) {
        dying();
        file.removeWhere(...given);
        dying();
      },
    };
    const sound = { index: counted, source: sqliteSource(database.db.sql) };
    return options.mutateIndex?.(sound) ?? sound;
  };
  const lifeNow = (): string | undefined => nodes.living.find(({ process }) => process.state === "up")?.process.name;
  const opened = (): StoreFollower => {
    try {
      const { index, source } = parts();
      return storeFollower(index, source);
    } catch (error) {
      if (!(error instanceof OtherDatabase)) throw error;
      rebuild();
      const { index, source } = parts();
      return storeFollower(index, source);
    }
  };
  const follower = (life: string): StoreFollower => {
    if (at?.life !== life) {
      at = { life, follower: opened() };
    }
    return at.follower;
  };
  const caughtUp = (life: string): void => {
    for (let n = 0; n < 10_000 && follower(life).step().more; n++) counts["index steps"] += 1;
  };
  const compare = async (): Promise<void> => {
    counts["index comparisons"] += 1;
    const found = await problemsOf(world, file, random, (entries) => {
      counts["entries compared"] += entries;
    });
    for (const what of found.slice(0, 5)) world.violations.push({ law: "M35", what });
  };
  const act = async (): Promise<void> => {
    const life = lifeNow();
    if (life === undefined || isHeld) return;
    const isDying = world.faults.active && random.chance(0.1);
    writesLeft = isDying ? random.int(0, MAX_WRITES) : Number.POSITIVE_INFINITY;
    try {
      if (random.chance(0.15)) {
        caughtUp(life);
        writesLeft = Number.POSITIVE_INFINITY;
        await compare();
      } else {
        counts["index steps"] += 1;
        follower(life).step();
      }
    } catch (error) {
      if (!(error instanceof Killed)) return world.failed("the index", error);
      counts["index deaths"] += 1;
      log.write("index", "dies inside a portion");
      at = undefined;
      for (const node of world.names) nodes.kill(node);
    } finally {
      writesLeft = Number.POSITIVE_INFINITY;
    }
  };
  const rebuild = (): void => {
    counts["index builds"] += 1;
    log.write("index", "is built again");
    file.close();
    file = openIndexFile(":memory:");
    at = undefined;
  };
  /** It does nothing for so long that retention removes changes which it has not read. */
  const fallBehind = (): void => {
    isHeld = true;
    log.write("index", "falls behind");
    scheduler.after(random.int(5_000, 15_000), () => {
      isHeld = false;
      database.db.sql.exec(`DELETE FROM changes WHERE n <= (SELECT max(n) FROM changes) - ${KEPT_CHANGES}`);
    });
  };
  const tick = (): void => {
    // Mostly soon after a commit, sometimes long after it.
    const ms = random.chance(0.97) ? random.int(1, 300) : random.int(2_000, 20_000);
    scheduler.after(ms, () => void act().finally(tick));
  };
  const { search } = options.scenario;
  for (let n = random.int(...(search?.rebuilds ?? [0, 0])); n > 0; n--)
    scheduler.after(random.int(500, faultsEnd), rebuild);
  for (let n = random.int(...(search?.prunes ?? [0, 0])); n > 0; n--)
    scheduler.after(random.int(500, faultsEnd), fallBehind);
  tick();

  return {
    counts,
    async end() {
      caughtUp("the end");
      await compare();
      const [agent] = [agentsOf(world)].flatMap((all) => (all.length === 0 ? [] : [random.pick(all)]));
      if (agent) {
        log.write("index", `forgets ${agent.id}`);
        const erase = { op: "agent.erase", agentId: agent.id as AgentId, tombstone: "forgotten" } as const;
        const change = { id: "forget" as ChangeId, site: "forget", at: nodes.wall("a"), ops: [erase] };
        await world.backend.apply([change]);
        // Another process, before and after it forgets.
        if (random.chance(0.5)) caughtUp("forgets");
        file.forget({ people: [], directories: [], agents: [agent.id as AgentId] });
        caughtUp("has forgotten");
        await compare();
      }
      file.close();
    },
  };
}

interface IndexedAgent {
  readonly no: number;
  readonly id: string;
  readonly person: string;
}

const AGENTS = `SELECT no, id, person FROM agents WHERE person IS NOT NULL AND kind <> 'heartbeat'
  AND (stopped IS NULL OR instr(stopped, '"removed":true') = 0)`;
const agentsOf = ({ database }: World): IndexedAgent[] => database.db.all<IndexedAgent>(AGENTS);

/** Compares the index with the history, by its rows and by searching. */
async function problemsOf(
  world: World,
  index: IndexFile,
  random: Random,
  count: (entries: number) => void,
): Promise<readonly string[]> {
  const problems: string[] = [];
  const rows = index.db.all<{ agent: number; pos: number; count: number }>(
    "SELECT agent, pos, count(*) AS count FROM docs GROUP BY agent, pos",
  );
  const indexed = new Map(rows.map(({ agent, pos, count }) => [`${agent}#${pos}`, count]));
  for (const { no, id, person } of agentsOf(world)) {
    const said = world.database.db
      .all<{ pos: number; line: string }>("SELECT pos, line FROM entries WHERE agent = ? ORDER BY pos", no)
      .flatMap(({ pos, line }) => ({ pos, text: saidIn(line) }))
      .filter((entry): entry is { pos: number; text: string } => entry.text !== undefined);
    count(said.length);
    for (const { pos } of said) {
      const times = indexed.get(`${no}#${pos}`) ?? 0;
      if (times !== 1) problems.push(`entry ${pos} of ${id} is in the index ${times} times`);
      indexed.delete(`${no}#${pos}`);
    }
    if (said.length === 0) continue;
    const { pos, text } = random.pick(said);
    const word = random.pick(text.split(/[^\p{L}\p{N}]+/u).filter((one) => one !== ""));
    const hits = await findDocuments(index.inSpaces([personSpace(person)], id), `"${word}"`, { limit: 1_000, now: 0 });
    const same = hits.filter(({ ref }) => ref === `chat:${id}#${pos}`).length;
    // More than the best are not listed.
    if (same !== 1 && hits.length < 80) problems.push(`"${word}" finds entry ${pos} of ${id} ${same} times`);
  }
  for (const [where] of indexed) problems.push(`the index has ${where}, which is not there or was removed`);
  return problems;
}

/** What a person or an agent said; undefined for other lines. */
function saidIn(line: string): string | undefined {
  const { type, role, content } = JSON.parse(line) as {
    type: string;
    role?: string;
    content?: readonly { type: string; text?: string }[];
  };
  if (type !== "message" || (role !== "user" && role !== "assistant")) return undefined;
  const text = (content ?? [])
    .flatMap((block) => (block.type === "text" ? [block.text ?? ""] : []))
    .join("\n")
    .trim();
  return text === "" || text === "NO_REPLY" || !/[\p{L}\p{N}]/u.test(text) ? undefined : text;
}
