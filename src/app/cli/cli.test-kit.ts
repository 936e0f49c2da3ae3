/** What tests of the command line share: commands with their output caught, over a home that is fresh for each test. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { openSqliteStore } from "../../adapters/store/sqlite/open-store.ts";
import { systemIds } from "../../adapters/system/system-ids.ts";
import type { AgentSeed } from "../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import type { CommitResult, Op } from "../../core/store/change.ts";
import type { Store } from "../../core/store/store.ts";
import { seedAgent } from "../../engine/context/seed-agent.ts";
import type { Registry } from "./registry.ts";
import { runCli } from "./router.ts";

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  /** What is piped in. Absent: a terminal at which nobody types. */
  readonly input?: string;
  readonly registry?: Registry;
}

/** Runs a command as the shell would. */
export async function runCommand(
  argv: readonly string[],
  { env = {}, input, registry }: Surroundings = {},
): Promise<Ran> {
  let [out, err] = ["", ""];
  const stdin = {
    isTTY: input === undefined,
    async *[Symbol.asyncIterator]() {
      if (input) yield input;
    },
  };
  const stdout = { write: (text: string) => (out += text) };
  const stderr = { write: (text: string) => (err += text) };
  const code = await runCli(argv, { env, stdin: () => stdin, stdout, stderr }, registry);
  return { code, out, err };
}

export const AT = Date.parse("2026-01-22T10:00:00Z");
export const ids = systemIds();
export const TERMINAL = { type: "user", connector: "terminal", userId: "owner", channelId: "owner" } as const;

export interface CliHome {
  /** Where it is, from the beginning of a test on. */
  readonly dir: string;
  /** Runs a command over this home. */
  run(...argv: readonly string[]): Promise<Ran>;
  /** The store, held open or opened for a moment. */
  inStore<T>(work: (store: Store) => Promise<T>): Promise<T>;
  commit(ops: readonly Op[]): Promise<CommitResult>;
  /** Makes an agent, as it is seeded or with other lines. */
  make(descriptor: AgentDescriptor, more?: Partial<AgentSeed>): Promise<AgentSeed>;
  /** Lets the store go that was held open. */
  leave(): Promise<void>;
}

export interface HomeOptions {
  /** Whether a node works in the home all the while. Commands that change something want the home for themselves. */
  readonly busy?: boolean;
  /** Done in each home before its test. */
  begin?(home: CliHome): Promise<unknown>;
}

/** Call it once at the top of a file. */
export function cliHome({ busy = false, begin }: HomeOptions = {}): CliHome {
  let dir = "";
  let held: Store | undefined;
  const inStore: CliHome["inStore"] = async (work) => {
    if (held) return work(held);
    const store = openSqliteStore({ home: dir, synchronous: "normal" });
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  };
  const commit: CliHome["commit"] = (ops) =>
    inStore((store) => store.commit({ id: ids.change(), site: "test", at: AT, ops }));
  const home: CliHome = {
    get dir() {
      return dir;
    },
    run: (...argv) => runCommand([...argv, "--home", dir]),
    inStore,
    commit,
    async make(descriptor, more = {}) {
      const seed = { ...seedAgent(ids, descriptor, AT), ...more };
      await commit([{ op: "agent.create", seed }]);
      return seed;
    },
    async leave() {
      await held?.close();
      held = undefined;
    },
  };
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), "rookery-cli-"));
    if (busy) held = openSqliteStore({ home: dir, synchronous: "normal" });
    await begin?.(home);
  });
  afterEach(async () => {
    await home.leave();
    rmSync(dir, { recursive: true, force: true });
  });
  return home;
}
