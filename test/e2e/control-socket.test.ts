/** Commands beside an engine that starts, dies or comes back, and homes with long paths. Real processes, real kills. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openDatabase } from "../../src/adapters/store/sqlite/database.ts";
import { openSqliteStore } from "../../src/adapters/store/sqlite/open-store.ts";
import { readerOf } from "../../src/adapters/store/sqlite/reader.ts";
import { type RunOptions, runCommand } from "../../src/app/cli/cli.test-kit.ts";
import { withApi } from "../../src/app/cli/client/with-api.ts";
import type { CommandContext } from "../../src/app/cli/command.ts";
import { HomeLockedError } from "../../src/core/errors.ts";
import { echo, type FakeModel, fakeModel, type ModelCall, type Served, serve, writeServedConfig } from "./serving.ts";

let model: FakeModel;
let root: string;
beforeAll(async () => {
  model = await fakeModel();
});
afterAll(() => model.close());
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "rookery-control-"));
  model.script = echo;
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const homeIn = (...parts: readonly string[]): string => {
  const home = join(root, ...parts);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  writeServedConfig(home, model);
  return home;
};
const rookery = (home: string, argv: readonly string[], input?: string) =>
  runCommand([...argv, "--home", home], { env: { K: "k" }, input } satisfies RunOptions);
const addJob = (home: string, ...more: readonly string[]) =>
  rookery(home, ["schedules", "add", "--name", "tea", "--every", "1h", "--message", "tea", ...more]);
const jobsIn = async (home: string): Promise<number> =>
  JSON.parse((await rookery(home, ["schedules", "list", "--json"])).out).items.length;

describe("a command beside an engine", () => {
  let parent: string;
  let home: string;
  let served: Served;
  beforeAll(async () => {
    parent = mkdtempSync(join(tmpdir(), "rookery-long-"));
    home = join(parent, "l".repeat(90), "o".repeat(90));
    mkdirSync(home, { recursive: true, mode: 0o700 });
    writeServedConfig(home, model);
    served = await serve(model, { home });
  });
  afterAll(async () => {
    served.process.kill("SIGKILL");
    rmSync(parent, { recursive: true, force: true });
  });
  const place = (): string => readFileSync(join(home, "control.path"), "utf8").trim();

  it("finds it in a home with a long path", async () => {
    expect(lstatSync(place()).mode & 0o777).toBe(0o700);
    expect(existsSync(join(home, "control.sock"))).toBe(false);
    expect((await addJob(home)).code).toBe(0);
    expect(await rookery(home, ["send"], "hello")).toEqual({ code: 0, out: "echo: hello\n", err: "" });
  });

  it("ends at once on a signal, and the engine still answers", async () => {
    const asked = Promise.withResolvers<ModelCall>();
    model.script = asked.resolve;
    const terminal = spawn(process.execPath, ["src/main.ts", "send", "--home", home], { stdio: "pipe" });
    let errors = "";
    terminal.stderr.on("data", (chunk: Buffer) => {
      errors += chunk.toString();
    });
    terminal.stdin.end("take your time");
    const call = await asked.promise;
    terminal.kill("SIGINT");
    const [status] = await once(terminal, "close");
    expect(status).toBe(0);
    // The engine may ask the model before the terminal has its 202.
    expect(["", "rookery: the engine still answers; see `rookery sessions show`.\n"]).toContain(errors);
    echo(call);
    await expect
      .poll(async () => (await rookery(home, ["sessions", "show", "main"])).out)
      .toContain("echo: take your time");
  });

  it("prints the answer once if the engine is killed while it waits and comes back", async () => {
    const asked = Promise.withResolvers<ModelCall>();
    model.script = asked.resolve;
    const before = place();
    const answering = rookery(home, ["send"], "are you there");
    await asked.promise;
    model.script = echo;
    served = await served.crash();
    const { code, out, err } = await answering;
    expect([code, out]).toEqual([0, "echo: are you there\n"]);
    expect(err).toBe(
      "rookery: the engine stopped. Waiting until it is back; the message is not lost.\nrookery: the engine is back.\n",
    );
    const inbox = JSON.parse((await rookery(home, ["agents", "inbox", "main", "--json"])).out) as {
      items: { state: string }[];
    };
    expect(inbox.items.map(({ state }) => state)).toEqual(["answered", "answered", "answered"]);
    expect(place()).toBe(before);
  });

  it("opens the store if a killed engine left its socket behind, and the next engine replaces it", async () => {
    served.process.kill("SIGKILL");
    await once(served.process, "exit");
    const socket = join(place(), "control.sock");
    expect(existsSync(socket)).toBe(true);
    expect((await addJob(home)).code).toBe(0);
    expect(await jobsIn(home)).toBe(2);
    expect(await rookery(home, ["send"], "alone now")).toMatchObject({ code: 0, out: "echo: alone now\n" });
    expect(existsSync(socket)).toBe(false);
  });
});

describe("a command beside an engine that dies at the worst moment", () => {
  /** Answers what is read with `found`, takes one change and dies without an answer, as an engine does that is killed then. */
  const dying = async (home: string, found: object = {}): Promise<{ server: Server; requests: string[] }> => {
    const json = JSON.stringify(found);
    const answer = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${json.length}\r\nConnection: close\r\n\r\n${json}`;
    const requests: string[] = [];
    const server = createServer((connection) => {
      connection.on("error", () => undefined);
      connection.on("data", (chunk) => {
        requests.push(chunk.toString());
        if (chunk.toString().startsWith("GET ")) connection.end(answer);
        else {
          server.close();
          connection.destroy();
        }
      });
    });
    const before = process.umask(0o177);
    server.listen(join(home, "control.sock"));
    process.umask(before);
    await once(server, "listening");
    return { server, requests };
  };

  it("sends its request again with the same key, and it takes effect once", async () => {
    const home = homeIn("dying");
    openSqliteStore({ home }).close();
    const { requests } = await dying(home);
    expect((await addJob(home)).code).toBe(0);
    expect(requests.filter((text) => /idempotency-key: [0-9a-f-]{32,36}/i.test(text))).toHaveLength(1);
    expect(await jobsIn(home)).toBe(1);
  });

  it("says that a removal may have happened, and does not repeat it", async () => {
    const home = homeIn("removing");
    await addJob(home);
    const store = readerOf(openDatabase(join(home, "rookery.db"), { readOnly: true }));
    const [job] = await store.jobs({ limit: 1 });
    await dying(home, job);
    const { code, err } = await rookery(home, ["schedules", "remove", job?.id ?? ""]);
    expect(code).toBe(1);
    expect(err).toContain("It may have carried the command out. Check before you repeat it.");
    expect(await jobsIn(home)).toBe(1);
  });
});

describe("a command on a home that is locked", () => {
  const context = (home: string) => ({ home, paths: {}, env: {}, stderr: { write() {} } }) as unknown as CommandContext;

  it("waits for an engine that has the lock and no socket yet", async () => {
    const home = homeIn("starting");
    const holder = openSqliteStore({ home });
    const added = addJob(home);
    await holder.close();
    expect((await added).code).toBe(0);
  });

  it("gives up with the pid of a process that never answers", async () => {
    const home = homeIn("silent");
    const holder = openSqliteStore({ home });
    try {
      const { loadConfig } = await import("../../src/config/load-config.ts");
      const { homePaths } = await import("../../src/config/paths.ts");
      const paths = homePaths(home);
      const asking = withApi(
        { ...context(home), paths, loadConfig: () => loadConfig(paths, {}) },
        (api) => api.ask({ method: "GET", path: "/api/agents" }),
        { startingMs: 100 },
      );
      await expect(asking).rejects.toThrow(HomeLockedError);
      await expect(asking).rejects.toThrow(`pid ${process.pid}`);
      await expect(asking).rejects.toThrow("does not answer on its control socket");
    } finally {
      await holder.close();
    }
  });

  it("refuses a socket that others may use, and sends nothing to it", async () => {
    const home = homeIn("open");
    openSqliteStore({ home }).close();
    const heard: string[] = [];
    const server = createServer((connection) => connection.on("data", (chunk) => heard.push(chunk.toString())));
    const before = process.umask(0);
    server.listen(join(home, "control.sock"));
    process.umask(before);
    await once(server, "listening");
    try {
      const { code, err } = await addJob(home);
      expect([code, heard]).toEqual([3, []]);
      expect(err).toContain("can be used by other users");
    } finally {
      server.close();
    }
  });
});
