/** A home whose database is lost, as `run`, `serve` and `repair` report it. Only `serve` is a process of its own. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CommandResult, runCommand } from "./cli.test-kit.ts";

let root: string;
let home: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "rookery-rebuild-"));
  home = join(root, "home");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const rookery = (argv: readonly string[], input?: string): Promise<CommandResult> =>
  runCommand([...argv, "--home", home], { input });
const agentIds = (dir = home) => readdirSync(join(dir, "agents"));
const fileOf = (id: string, name: string) => join(home, "agents", id, name);
const logText = () => readFileSync(join(home, "logs", "rookery.log"), "utf8");
const loseDatabase = () => {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(join(home, `rookery.db${suffix}`), { force: true });
};

/** A conversation with a broken descriptor, and no database. Returns the agent. */
async function brokenHome(): Promise<string> {
  await rookery(["send"], "hello");
  const [id = ""] = agentIds();
  writeFileSync(fileOf(id, "descriptor.json"), "{}");
  loseDatabase();
  return id;
}

const expectReported = (errors: string, id: string): void => {
  expect(errors).toContain("The database was missing and was rebuilt from the plain files.");
  expect(errors).toMatch(new RegExp(`^error: skipped an agent .*agents/${id}/descriptor.json, reason: .+`, "mu"));
  const lines = logText()
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.filter(({ file }) => file === `agents/${id}/descriptor.json`)).toMatchObject([
    { level: "error", reason: expect.stringContaining("descriptor") },
  ]);
};

describe("a rebuild with an agent that cannot be used", () => {
  it("is reported by run, with the agent and the reason, there and in the log", async () => {
    const id = await brokenHome();
    const { err, code } = await rookery(["send"], "again");
    expect(code).toBe(0);
    expectReported(err, id);
  });

  it("is reported by serve too", async () => {
    const id = await brokenHome();
    const child = spawn(process.execPath, ["src/main.ts", "serve", "--port", "0", "--home", home]);
    try {
      const ended = once(child, "close");
      let errors = "";
      child.stderr.on("data", (chunk) => {
        errors += chunk;
        if (errors.includes("was rebuilt")) child.kill("SIGTERM");
      });
      await ended;
      expectReported(errors, id);
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("can be mended: the repaired directory is adopted, and its conversation continues", async () => {
    const id = await brokenHome();
    const [header = ""] = readFileSync(fileOf(id, "history.jsonl"), "utf8").split("\n");
    expect((await rookery(["engine", "repair"])).out).toContain(`agents/${id}/descriptor.json: agent skipped`);
    // The files of an agent that the database does not know may have been moved aside by now.
    const dir = agentIds().includes(id) ? join(home, "agents", id) : join(home, "agents-aside", id);
    const refused = await rookery(["engine", "repair", "--adopt", dir]);
    expect([refused.code, refused.err]).toEqual([expect.any(Number), expect.stringContaining("cannot be adopted")]);
    writeFileSync(
      join(dir, "descriptor.json"),
      JSON.stringify((JSON.parse(header) as { descriptor: object }).descriptor),
    );
    const adopted = await rookery(["engine", "repair", "--adopt", dir]);
    expect(adopted.out).toContain(`Adopted agent ${id} as `);
    expect(adopted.code).toBe(0);
    const { out } = await rookery(["sessions", "show", id]);
    expect(out).toContain("hello");
  });
});

it("an agent of another home is adopted with its conversation", async () => {
  await rookery(["send"], "remember the milk");
  const [id = ""] = agentIds();
  const other = join(root, "other");
  renameSync(home, other);
  const { out, code } = await rookery(["engine", "repair", "--adopt", join(other, "agents", id), "--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ id, waiting: 0, problems: [] });
  expect((await rookery(["send"], "and now?")).code).toBe(0);
  expect(agentIds()).toEqual([id]);
  const history = readFileSync(fileOf(id, "history.jsonl"), "utf8");
  expect(history.indexOf("remember the milk")).toBeLessThan(history.indexOf("and now?"));
});
