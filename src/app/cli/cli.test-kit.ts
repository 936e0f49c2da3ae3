/** Runs commands in tests: captures their output, and gives each test a fresh home. */
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
import { checkDocument } from "./command-document.test-kit.ts";
import type { Registry } from "./registry.ts";
import { runCli } from "./router.ts";

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** The piped input. Absent: a terminal without input. */
  readonly input?: string;
  readonly registry?: Registry;
  /** Called with each text of standard error, while the command runs. */
  readonly onError?: (text: string) => void;
  /** Where the program is installed. */
  readonly root?: string;
}

/** Runs a command line. A document that its schema does not allow is an error. */
export async function runCommand(
  argv: readonly string[],
  { env = {}, input, registry, onError, root }: RunOptions = {},
): Promise<CommandResult> {
  let [out, err] = ["", ""];
  const stdin = {
    isTTY: input === undefined,
    async *[Symbol.asyncIterator]() {
      if (input) yield input;
    },
  };
  const stdout = { write: (text: string) => (out += text) };
  const stderr = {
    write(text: string) {
      err += text;
      onError?.(text);
    },
  };
  const code = await runCli(argv, { env, stdin: () => stdin, stdout, stderr, root }, registry);
  if (registry === undefined) await checkDocument(argv, { code, out, err });
  return { code, out, err };
}

export const AT = Date.parse("2026-01-22T10:00:00Z");
export const ids = systemIds();
export const TERMINAL = { type: "user", connector: "terminal", userId: "owner", channelId: "owner" } as const;

export interface CliHome {
  /** The path. Valid inside a test. */
  readonly dir: string;
  /** Runs a command with this home. */
  run(...argv: readonly string[]): Promise<CommandResult>;
  /** Uses the open store, or opens it for this call. */
  inStore<T>(work: (store: Store) => Promise<T>): Promise<T>;
  commit(ops: readonly Op[]): Promise<CommitResult>;
  /** Creates an agent. `more` replaces fields of its seed. */
  make(descriptor: AgentDescriptor, more?: Partial<AgentSeed>): Promise<AgentSeed>;
  /** Closes the store that `busy` holds open. */
  release(): Promise<void>;
}

export interface HomeOptions {
  /** Holds the store open during the test, as a running node does. */
  readonly busy?: boolean;
  /** Runs before each test. */
  setup?(home: CliHome): Promise<unknown>;
}

/** Call it once per test file. */
export function cliHome({ busy = false, setup }: HomeOptions = {}): CliHome {
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
    async release() {
      await held?.close();
      held = undefined;
    },
  };
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), "rookery-cli-"));
    if (busy) held = openSqliteStore({ home: dir, synchronous: "normal" });
    await setup?.(home);
  });
  afterEach(async () => {
    await home.release();
    rmSync(dir, { recursive: true, force: true });
  });
  return home;
}
