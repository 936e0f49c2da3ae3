/** Every command, alone and beside a real engine: the same output, the same exit code, and nothing has to be stopped. */
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSqliteStore } from "../../src/adapters/store/sqlite/open-store.ts";
import { systemClock as clock } from "../../src/adapters/system/system-clock.ts";
import { ids, type RunOptions, runCommand, TERMINAL } from "../../src/app/cli/cli.test-kit.ts";
import { REGISTRY } from "../../src/app/cli/registry.ts";
import { nodeChanges } from "../../src/app/node/node-changes.ts";
import { homePaths } from "../../src/config/paths.ts";
import { deliveryId } from "../../src/core/delivery/delivery.ts";
import type { RunId } from "../../src/core/ids.ts";
import { OWNER } from "../../src/core/people/person.ts";
import type { ApprovalId } from "../../src/core/rights/approval.ts";
import type { Op } from "../../src/core/store/change.ts";
import { seedAgent } from "../../src/engine/context/seed-agent.ts";
import { fileId } from "../../src/engine/files/file-service.ts";
import { peopleOf } from "../../src/engine/runtime/people.ts";
import { CronService } from "../../src/engine/triggers/cron/cron-service.ts";
import { type FakeModel, fakeModel, type Served, serve, writeServedConfig } from "./serving.ts";

const main = seedAgent(ids, TERMINAL, clock.now());
const child = seedAgent(ids, { type: "subagent", id: "c1", parentAgentId: main.id, name: "digger" }, clock.now());
const servant = seedAgent(ids, { type: "swarm", id: "desk", contact: main.id }, clock.now());
const other = seedAgent(ids, { ...TERMINAL, connector: "api", userId: "zoe", channelId: "zoe" }, clock.now());
const [openRun, endedRun] = [ids.uuid() as RunId, ids.uuid() as RunId];
const [failed, pending] = [deliveryId("x" as RunId, 0), deliveryId("y" as RunId, 0)];
let job = "";

const NOTE = "buy milk\n";
const note = fileId(OWNER, createHash("sha256").update(NOTE).digest("hex"), "note.txt");

type Line = readonly [name: string, ...argv: string[]] | { readonly line: readonly string[]; readonly input: string };

/** In the order in which they run: what reads comes first, because an engine carries a change out at once. */
const lines = (): readonly Line[] => [
  ["agents list"],
  ["agents show", "main"],
  ["agents show", "nobody"],
  ["tree"],
  ["history", "main"],
  ["inbox", "main"],
  ["sessions list"],
  ["sessions show", "main"],
  ["sessions search", "main", "nothing"],
  ["sessions carry-over"],
  ["sessions carry-over", "--to", "per-peer"],
  ["runs list", "main"],
  ["runs show", "00000000-0000-7000-8000-000000000000"],
  ["runs replay", "00000000-0000-7000-8000-000000000000"],
  ["runs wait", "00000000-0000-7000-8000-000000000000"],
  ["runs abort", "00000000-0000-7000-8000-000000000000"],
  ["usage"],
  ["usage", "--by", "model"],
  ["heartbeat"],
  ["cron list"],
  ["cron show", job],
  ["cron runs", job],
  ["outbox list", "--state", "failed"],
  ["budget list"],
  ["subagents list"],
  ["subagents info", "2"],
  ["subagents log", "digger"],
  ["swarms list"],
  ["swarms show", "desk"],
  ["tokens list"],
  ["config path"],
  ["auth list"],
  ["files add", join(root, "note.txt")],
  ["files add", join(root, "none.txt")],
  ["files list"],
  ["files list", "--user", "ann"],
  ["files show", note],
  ["files get", note],
  ["files remove", note],
  ["files remove", note],
  ["cron add", "--name", "tea", "--every", "30m", "--message", "tea"],
  ["cron add", "--name", "tea", "--every", "30m"],
  ["cron disable", job],
  ["cron enable", job],
  ["cron run", job],
  ["cron remove", job],
  ["cron remove", job],
  ["outbox show", failed],
  ["outbox show", "nope"],
  ["outbox retry", failed],
  ["outbox retry", "nope"],
  ["outbox drop", pending],
  ["budget lift", `agent:${main.id}`, "--tokens", "5"],
  ["budget lift", "nonsense"],
  ["subagents send", "digger", "hurry", "up"],
  ["subagents stop", "digger"],
  ["subagents release", endedRun],
  ["subagents release", "nobody"],
  ["swarms remove", "@Desk"],
  ["swarms remove", "desk"],
  ["agents create", "clerk", "--description", "files letters", "--prompt", "You file letters."],
  ["agents create", "clerk"],
  ["swarms create", "@Shop", "--prompt", "You sell."],
  ["swarms create", "shop", "--prompt", "You sell."],
  ["agents set", "main", "label=boss", "queueCap=5"],
  ["agents set", "main", "nonsense=1"],
  ["agents back", "main", "no-such-entry"],
  ["agents back", "main", main.leaf],
  ["agents stop", "main"],
  ["agents start", "main"],
  ["agents reset", "main"],
  ["agents reset", "nobody"],
  ["agents remove", other.id],
  ["agents remove", "nobody"],
  ["people add", "ann", "--name", "Ann", "--account", "telegram:42"],
  ["people add", "ann"],
  ["people list"],
  ["people set", "ann", "--tz", "Europe/Berlin"],
  ["people link", "ann", "api:ann"],
  ["people unlink", "ann", "nowhere:1"],
  ["people grant", "ann", "cron_add", "--ask"],
  ["people grant", "ann", "("],
  ["people show", "ann"],
  ["people revoke", "ann", "cron_add"],
  ["people limits", "ann", "--messages", "5"],
  ["people invite", "ann"],
  ["people sessions", "ann"],
  ["people sign-out", "0".repeat(12)],
  ["people remove", "ann"],
  ["people remove", "ann"],
  ["audit", "--person", "owner", "--limit", "3"],
  ["audit", "--decision", "maybe"],
  ["approvals list"],
  ["approvals list", "--all"],
  ["approvals show", "kmtb"],
  ["approvals no", "kmtb", "--reason", "not today"],
  ["approvals yes", "kmtb", "--always"],
  ["approvals yes", "zzzz"],
  ["changes list"],
  ["changes list", "--kind", "notes"],
  ["changes show", "1"],
  ["changes undo", "1"],
  ["changes undo", "1"],
  ["changes undo", "7"],
  ["changes show", "one"],
  ["permissions list"],
  ["permissions add", "deny", "exec(git push *)", "--because", "by hand"],
  ["permissions add", "allow", "exec(a && b)"],
  ["permissions list", "--for", "owner"],
  ["permissions test", "exec(git push origin)"],
  ["permissions test", "exec(make)", "--headless"],
  ["permissions explain", "nothing"],
  ["permissions remove", "exec(git push *)"],
  ["permissions remove", "exec(git push *)"],
  ["pair list"],
  ["pair yes", "nope"],
  ["pair no", "nope"],
  ["pair block", "telegram:9"],
  ["pair forget", "telegram:9"],
  ["tokens mint", "laptop"],
  ["tokens revoke", "0".repeat(12)],
  { line: ["run"], input: "hello there" },
  { line: ["run", "--lines", "--user", "ann"], input: "one\n\ntwo\nthree" },
  { line: ["run", "--user", "bob"], input: "/reset and begin" },
  { line: ["run", "--user", "bob"], input: "/queue collect" },
  { line: ["run", "--user", "bob"], input: "/subagents" },
  { line: ["run", "--user", "bob"], input: "stop" },
  { line: ["run", "--user", "bob"], input: " \n" },
];

/** Commands that do not depend on whether an engine runs, and those that need the home for themselves. */
const LOCAL: Readonly<Record<string, string>> = {
  "agents tree": "the same as tree",
  "sessions export": "the same as history --export",
  "sessions archive": "the same as history --archive",
  "sessions branch": "the same as agents back",
  "config get": "reads a file",
  "config set": "changes a file",
  "config explain": "shows text",
  "config edit": "needs a terminal",
  hooks: "reads the configuration",
  logs: "reads files",
  completion: "shows text",
  backup: "reads the store beside an engine: backup.test.ts",
  prune: "removes by age: prune.test.ts, with and without an engine",
  update: "replaces the program: update.test.ts",
  forget: "its receipt has a random name: forget.test.ts, with and without an engine",
  restore: "needs the home for itself: backup.test.ts",
  "service install": "writes files of the user's session: service.test.ts",
  "service status": "asks the user's session",
  "service remove": "removes files of the user's session: service.test.ts",
  doctor: "checks the engine that runs, or the home without one: doctor.test.ts, doctor-route.test.ts",
  "connect telegram": "asks the server of Telegram; the rest is rookery pair and the file",
  "connect whatsapp": "asks the server of WhatsApp; the rest is rookery pair and the file",
  "connect whatsapp-web": "installs a package; the rest is rookery pair and the file",
  "connect webhook": "writes the file that a running engine reads",
  connectors: "shows what the running engine is connected to",
  "mcp list": "reads files",
  "mcp check": "starts the server itself",
  "mcp pin": "writes a file that a running engine reads",
  "mcp login": "writes a file that a running engine reads",
  "mcp serve": "needs a running engine: test/mcp/server.test.ts",
  chat: "needs a terminal: chat.test.ts",
  demo: "has an engine and a home of its own: demo.test.ts",
  setup: "changes files, and tests the model of the engine: setup.test.ts",
  send: "answers with the engine: send.test.ts",
  status: "says whether an engine runs: send.test.ts",
  "remote list": "reads a file",
  "remote add": "writes a file",
  "remote remove": "writes a file",
  serve: "is the engine",
  open: "needs the gateway of a running engine; test/web uses it",
  "store copy": "needs both stores for itself",
  repair: "needs the home for itself",
  nodes: "reads a shared store",
  "models list": "reads files",
  "models test": "reads files and calls a model",
  "auth set": "writes a file that a running engine reads",
  "auth remove": "writes a file that a running engine reads",
  "auth login": "writes a file that a running engine reads",
  "auth status": "reads a file",
  "auth logout": "writes a file that a running engine reads",
  "config check": "reads a file",
  "config show": "reads a file",
  "config init": "writes a file",
  home: "shows paths",
  version: "shows text",
  help: "shows text",
};

let root: string;
let model: FakeModel;
let served: Served;
let alone: string;
const beside = () => served.home;

async function seedHome(home: string): Promise<void> {
  const store = openSqliteStore({ home, synchronous: "normal" });
  const at = clock.now();
  const commit = async (ops: readonly Op[], more: object = {}): Promise<void> =>
    expect(await store.commit({ id: ids.change(), site: "test", at, ops, ...more })).toMatchObject({ ok: true });
  const target = { channel: "nowhere", to: "ann" };
  const delivery = { agentId: main.id, target, payload: { text: "hi" }, createdAt: at };
  const record = {
    ...{ childSessionKey: child.sessionKey, requesterSessionKey: main.sessionKey, requesterDisplayKey: "main" },
    ...{ task: "dig", cleanup: "keep" as const, createdAt: at, childAgentId: child.id, requesterAgentId: main.id },
  };
  const ended = { endedAt: at, outcome: { status: "ok" as const } };
  const swarm = { nametag: "desk", owner: "o", profile: "main", firstName: "Front", lastName: "Desk", memory: false };
  for (const seed of [main, child, servant, other]) await commit([{ op: "agent.create", seed }]);
  await commit([
    {
      op: "subagent.put",
      record: { ...record, runId: endedRun, label: "done", ...ended },
    },
    { op: "subagent.put", record: { ...record, runId: openRun, label: "digger", createdAt: at + 1, ...ended } },
    { op: "swarm.put", swarm: { ...swarm, bio: "helps", systemPrompt: "Help.", createdAt: at } },
    { op: "swarm.contact", nametag: "desk", contact: main.id, agentId: servant.id, received: 2 },
    { op: "node.join", name: "t", leaseUntil: 9e15 },
    { op: "agent.claim", agentId: main.id, node: 1 },
  ]);
  const call = { prompt: 100, maxTokens: 50, leastTokens: 10, read: 1, write: 2 };
  const rows = [{ key: `agent:${main.id}`, limit: { tokens: 500_000 } }];
  const owner = { agentId: main.id, node: 1, epoch: 1 };
  await commit(
    [
      { op: "delivery.add", delivery: { ...delivery, id: failed, ended: { state: "failed", reason: "no" } } },
      { op: "delivery.add", delivery: { ...delivery, id: pending } },
    ],
    { owner },
  );
  const question = { id: "kmtb" as ApprovalId, agentId: main.id, runId: openRun, callId: "c", tool: "exec" };
  const about = { behalf: { person: OWNER }, arguments: { command: "date" }, digest: "d", prompt: "exec:\ndate" };
  await commit([{ op: "approval.ask", approval: { ...question, ...about, askedAt: at, dueAt: at + 3600_000 } }], {
    owner,
  });
  await commit([{ op: "budget.reserve", id: "r", runId: openRun, call, rows }], { owner });
  await commit([{ op: "budget.settle", id: "r", actual: { tokens: 120, micros: 140 } }]);
  const cron = new CronService({ people: peopleOf(store), store, ids, clock });
  const payload = { kind: "agentTurn", message: "news" };
  ({ id: job } = await cron.add({ name: "news", schedule: { kind: "every", everyMs: 3_600_000 }, payload }));
  await store.close();
  const changes = nodeChanges({ config: { profiles: {} }, paths: homePaths(home), clock });
  const text = readFileSync(join(home, "rookery.json5"), "utf8");
  await changes.write("rookery.json5", `${text}// Tea.\n`, { by: { person: OWNER, surface: "api" } });
}

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "rookery-beside-"));
  writeFileSync(join(root, "note.txt"), NOTE);
  model = await fakeModel();
  // No heartbeat: its next time exists only while an engine runs.
  const more = { budgets: { agent: { tokens: 500_000 } }, heartbeat: { every: "0" } };
  alone = join(root, "alone");
  mkdirSync(alone, { mode: 0o700 });
  writeServedConfig(alone, model, { more });
  await seedHome(alone);
  const home = join(root, "beside");
  cpSync(alone, home, { recursive: true });
  served = await serve(model, { home });
});
afterAll(async () => {
  await served?.stop();
  await model?.close();
  rmSync(root, { recursive: true, force: true });
});

/** What may differ: the path of the home, times, ids made by the command, positions in an inbox. */
const comparable = (text: string, home: string): string =>
  text
    .replaceAll(home, "HOME")
    .replaceAll(/\b(?:\d+ (?:s|min|h|days?) ago|now)\b/g, "AGO")
    .replaceAll(/\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?Z?)?/g, "TIME")
    .replaceAll(/\b1[78]\d{11}\b/g, "MS")
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "ID")
    .replaceAll(/\brk_[\w-]+/g, "TOKEN")
    .replaceAll(/"id":"[a-z0-9]{12}"/g, '"id":"TOKEN"')
    // A process that ends says that nobody is left to fire them.
    .replaceAll(/^\d+ scheduled jobs? waits?;.*\n/gm, "")
    // An engine has looked for a way to send it.
    .replaceAll(',"reason":"no connector \\"nowhere\\""', "")
    // A job that ran has posted its result in between.
    .replaceAll(/"seq":\d+|\/\d+"/g, "SEQ");

const namesOf = async (): Promise<readonly string[]> => {
  const all = await Promise.all(
    Object.entries(REGISTRY).map(async ([name, { load }]) => {
      const command = await load();
      return "actions" in command ? Object.keys(command.actions).map((action) => `${name} ${action}`) : [name];
    }),
  );
  return all.flat();
};

const nameOf = (line: Line): string => ("line" in line ? (line.line[0] ?? "") : line[0]);
const argvOf = (line: Line): readonly string[] =>
  "line" in line ? line.line : [...line[0].split(" "), ...line.slice(1)];

describe("every command", () => {
  it("is in the table, or does not depend on an engine", async () => {
    const tested = new Set(lines().map(nameOf));
    const names = await namesOf();
    expect(names.filter((name) => !tested.has(name) && !Object.hasOwn(LOCAL, name))).toEqual([]);
    expect(Object.keys(LOCAL).filter((name) => tested.has(name) || !names.includes(name))).toEqual([]);
  });

  it("does the same alone and beside a running engine", async () => {
    const results: string[] = [];
    // Every other line as JSON: both forms are printed from one answer.
    for (const [index, line] of lines().entries()) {
      const argv = [...argvOf(line), ...("line" in line || index % 2 === 0 ? [] : ["--json"])];
      const options: RunOptions = { env: { K: "k" }, input: "line" in line ? line.input : undefined };
      const [one, two] = [alone, beside()].map(async (home) => {
        const { code, out, err } = await runCommand([...argv, "--home", home], options);
        return { argv, code, out: comparable(out, home), err: comparable(err, home) };
      });
      expect(await two).toEqual(await one);
      results.push(`${argv.join(" ")} → ${(await one)?.code}`);
    }
    expect(results.filter((result) => result.endsWith("→ 4"))).toEqual([]);
    expect(readFileSync(join(beside(), "rookery.pid"), "utf8").trim()).toBe(String(served.pid));
  });
});
