/** A home whose database is lost, as `run`, `serve` and `repair` report it: real processes. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

let root: string;
let home: string;
let children: ChildProcess[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "rookery-rebuild-"));
  home = join(root, "home");
  children = [];
});
afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(root, { recursive: true, force: true });
});

function start(argv: readonly string[], input = "") {
  const child = spawn(process.execPath, ["src/main.ts", ...argv], { env: { ...process.env, ROOKERY_HOME: home } });
  children.push(child);
  const out = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].on("data", (chunk) => {
      out[name] += chunk;
    });
  child.stdin.end(input);
  const ended = once(child, "close").then(([status]) => ({ ...out, status: status as number | null }));
  return { child, out, ended };
}

const rookery = (argv: readonly string[], input?: string) => start(argv, input).ended;
const agentIds = (dir = home) => readdirSync(join(dir, "agents"));
const fileOf = (id: string, name: string) => join(home, "agents", id, name);
const logText = () => readFileSync(join(home, "logs", "rookery.log"), "utf8");
const loseDatabase = () => {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(join(home, `rookery.db${suffix}`), { force: true });
};

/** A conversation with a broken descriptor, and no database. Returns the agent. */
async function brokenHome(): Promise<string> {
  await rookery(["run"], "hello");
  const [id = ""] = agentIds();
  writeFileSync(fileOf(id, "descriptor.json"), "{}");
  loseDatabase();
  return id;
}

const expectReported = (stderr: string, id: string): void => {
  expect(stderr).toContain("The database was missing and was rebuilt from the plain files.");
  expect(stderr).toMatch(new RegExp(`^error: skipped an agent .*agents/${id}/descriptor.json, reason: .+`, "mu"));
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
    const { stderr, status } = await rookery(["run"], "again");
    expect(status).toBe(0);
    expectReported(stderr, id);
  });

  it("is reported by serve too", async () => {
    const id = await brokenHome();
    const { child, out, ended } = start(["serve", "--port", "0"]);
    while (!out.stderr.includes("was rebuilt") && child.exitCode === null)
      await new Promise((resolve) => setTimeout(resolve, 10));
    child.kill("SIGTERM");
    expectReported((await ended).stderr, id);
  });

  it("can be mended: the repaired directory is adopted, and its conversation continues", async () => {
    const id = await brokenHome();
    const [header = ""] = readFileSync(fileOf(id, "history.jsonl"), "utf8").split("\n");
    expect((await rookery(["repair"])).stdout).toContain(`agents/${id}/descriptor.json: agent skipped`);
    // The files of an agent that the database does not know may have been moved aside by now.
    const dir = agentIds().includes(id) ? join(home, "agents", id) : join(home, "agents-aside", id);
    const refused = await rookery(["repair", "--adopt", dir]);
    expect([refused.status, refused.stderr]).toEqual([
      expect.any(Number),
      expect.stringContaining("cannot be adopted"),
    ]);
    writeFileSync(
      join(dir, "descriptor.json"),
      JSON.stringify((JSON.parse(header) as { descriptor: object }).descriptor),
    );
    const adopted = await rookery(["repair", "--adopt", dir]);
    expect(adopted.stdout).toContain(`Adopted agent ${id} as `);
    expect(adopted.status).toBe(0);
    const { stdout } = await rookery(["history", id]);
    expect(stdout).toContain("hello");
  });
});

it("an agent of another home is adopted with its conversation", async () => {
  await rookery(["run"], "remember the milk");
  const [id = ""] = agentIds();
  const other = join(root, "other");
  renameSync(home, other);
  const { stdout, status } = await rookery(["repair", "--adopt", join(other, "agents", id), "--json"]);
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ id, waiting: 0, problems: [] });
  expect((await rookery(["run"], "and now?")).status).toBe(0);
  expect(agentIds()).toEqual([id]);
  const history = readFileSync(fileOf(id, "history.jsonl"), "utf8");
  expect(history.indexOf("remember the milk")).toBeLessThan(history.indexOf("and now?"));
});
