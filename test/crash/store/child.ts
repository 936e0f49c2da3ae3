/**
 * The process that is killed: a store with its plain files, people who post and agents that answer, as fast as they can.
 * It prints a promise only after the commit has resolved.
 *
 * It prints `ready` when the plain files have caught up with the database, waits for `go`, and then works until it dies.
 */
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { startMirror } from "../../../src/adapters/store/files/start-mirror.ts";
import { DATABASE_FILE, openSqliteStore } from "../../../src/adapters/store/sqlite/open-store.ts";
import { systemIds } from "../../../src/adapters/system/system-ids.ts";
import { silentLog } from "../../../src/core/ports/log.ts";
import { randomOf } from "../../kit/random.ts";
import { answerAll } from "./answering.ts";
import type { ActorRegistry } from "./crowd.ts";
import { postForever } from "./posting.ts";

const { values } = parseArgs({
  options: {
    home: { type: "string" },
    seed: { type: "string", default: "1" },
    /** Which life of the home this is. */
    life: { type: "string", default: "0" },
    writers: { type: "string", default: "24" },
    agents: { type: "string", default: "8" },
    /** Ends after this many promises, and checkpoints the log now and then. Does not wait for `go`. */
    promises: { type: "string" },
    synchronous: { type: "string", default: "full" },
    mutation: { type: "string" },
  },
});
const { home, seed, life } = values;
if (home === undefined) throw new Error("Which home?");
const most = values.promises === undefined ? undefined : Number(values.promises);
const databasePath = join(home, DATABASE_FILE);

const CHECKPOINT_EVERY = 40;

let said = 0;
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
  said += 1;
  if (most === undefined) return;
  if (said % CHECKPOINT_EVERY === 0) checkpoint();
  if (said >= most) process.exit(0);
};

/** On a separate connection, so that the store restarts its log from the beginning. */
function checkpoint(): void {
  const other = new DatabaseSync(databasePath);
  other.exec("PRAGMA wal_checkpoint(PASSIVE)");
  other.close();
}

const synchronous = values.synchronous as Parameters<typeof openSqliteStore>[0]["synchronous"];
const store = openSqliteStore({ home, synchronous, onCommitted: () => mirror?.nudge() });
const mirror = startMirror({ home, databasePath, log: silentLog });
await mirror.flush();
if (most === undefined) {
  say("ready");
  for await (const line of createInterface({ input: process.stdin })) if (line === "go") break;
}

const ids = systemIds();
const joined = await store.commit({
  id: ids.change(),
  site: "crash.join",
  at: Date.now(),
  ops: [{ op: "node.join", name: life, leaseUntil: Number.MAX_SAFE_INTEGER }],
});
const node = joined.ok && joined.results[0]?.op === "node.join" ? joined.results[0].node : 0;
let onNewAgent = (): void => {};
const crowd: ActorRegistry = {
  store,
  ids,
  node,
  round: life,
  random: randomOf(`${seed}/${life}`),
  agents: Number(values.agents),
  say,
  wake: new Map(),
  onNewAgent: (callback) => {
    onNewAgent = callback;
  },
  newAgent: () => onNewAgent(),
  ackEarly: values.mutation === "ack-early",
};
await Promise.all([
  answerAll(crowd),
  ...Array.from({ length: Number(values.writers) }, (_, writer) => postForever(crowd, writer)),
]);
