/** Every command, alone and beside a real engine: the same output, the same exit code, and nothing has to be stopped. */

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSqliteStore } from "../../src/adapters/store/sqlite/open-store.ts";
import { systemClock as clock } from "../../src/adapters/system/system-clock.ts";
import { actionsOf } from "../../src/app/cli/choose-action.ts";
import { ids, type RunOptions, runCommand, TERMINAL } from "../../src/app/cli/cli.test-kit.ts";
import {
  commandsWithSchema,
  listCommands,
  validDocuments,
  withoutDocument,
} from "../../src/app/cli/command-document.test-kit.ts";
import { REGISTRY } from "../../src/app/cli/registry.ts";
import { nodeChanges } from "../../src/app/node/node-changes.ts";
import { homePaths } from "../../src/config/paths.ts";
import { deliveryId } from "../../src/core/delivery/delivery.ts";
import type { RunId, SessionKey } from "../../src/core/ids.ts";
import { OWNER, type PersonId } from "../../src/core/people/person.ts";
import type { ApprovalId } from "../../src/core/rights/approval.ts";
import type { Op } from "../../src/core/store/change.ts";
import { seedAgent } from "../../src/engine/context/seed-agent.ts";
import { peopleOf } from "../../src/engine/runtime/people.ts";
import { CronService } from "../../src/engine/triggers/cron/cron-service.ts";
import { idsIn } from "../kit/find-ids.ts";
import { testSettings } from "../kit/settings.ts";
import { ELSEWHERE, LOCAL_LINES, type Place } from "./local-commands.ts";
import { type FakeModel, fakeModel, type Served, serve, writeServedConfig } from "./serving.ts";

const main = seedAgent(ids, TERMINAL, clock.now());
const child = seedAgent(ids, { type: "subagent", id: "c1", parentAgentId: main.id, name: "digger" }, clock.now());
const servant = seedAgent(ids, { type: "swarm", id: "desk", contact: main.id }, clock.now());
const other = seedAgent(ids, { ...TERMINAL, connector: "api", userId: "zoe", channelId: "zoe" }, clock.now());
const ann = seedAgent(
  ids,
  { type: "user", connector: "telegram", userId: "77", channelId: "77" },
  clock.now(),
  undefined,
  "agent:main:telegram:dm:77" as SessionKey,
);
const group = seedAgent(
  ids,
  { type: "user", connector: "telegram", userId: "77", channelId: "-100", peerKind: "group" },
  clock.now(),
);
const twin = seedAgent(ids, { type: "subagent", id: "c2", parentAgentId: main.id, name: "digger" }, clock.now());
const [openRun, endedRun] = [ids.uuid() as RunId, ids.uuid() as RunId];
const [failed, pending] = [deliveryId("x" as RunId, 0), deliveryId("y" as RunId, 0)];
let job = "";

const NOTE = "buy milk\n";
/** The id of this content and name, uploaded for the owner, in every home. */
const note = "file_29661b0b011963df2c837391ea3fd35d";

type Line = readonly [name: string, ...argv: string[]] | { readonly line: readonly string[]; readonly input: string };

/** In the order in which they run: what reads comes first, because an engine carries a change out at once. */
const lines = (): readonly Line[] => [
  ["agents list"],
  ["agents show", "main"],
  ["agents show", "nobody"],
  ["agents tree"],
  ["sessions show", "main"],
  ["agents inbox", "main"],
  ["sessions list"],
  ["sessions status", "main"],
  ["sessions search", "main", "nothing"],
  ["sessions carry-over"],
  ["sessions carry-over", "--to", "per-peer"],
  ["runs list", "main"],
  ["runs show", "00000000-0000-7000-8000-000000000000"],
  ["runs replay", "00000000-0000-7000-8000-000000000000"],
  ["runs wait", "00000000-0000-7000-8000-000000000000"],
  ["runs abort", "00000000-0000-7000-8000-000000000000"],
  ["usage show"],
  ["usage show", "--by", "model"],
  ["schedules heartbeat"],
  ["schedules list"],
  ["schedules show", job],
  ["schedules runs", job],
  ["channels outbox list", "--state", "failed"],
  ["usage budgets"],
  ["agents subagents list"],
  ["agents subagents show", "2"],
  ["agents subagents log", "digger"],
  ["agents swarms list"],
  ["agents swarms show", "desk"],
  ["people tokens list"],
  ["models keys list"],
  ["people files add", join(root, "note.txt")],
  ["people files add", join(root, "none.txt")],
  ["people files list"],
  ["people files list", "--user", "ann"],
  ["people files show", note],
  ["people files get", note],
  ["people files remove", note],
  ["people files remove", note],
  ["schedules add", "--name", "tea", "--every", "30m", "--message", "tea"],
  ["schedules add", "--name", "tea", "--every", "30m"],
  ["schedules disable", job],
  ["schedules enable", job],
  ["schedules run", job],
  ["schedules remove", job],
  ["schedules remove", job],
  ["channels outbox show", failed],
  ["channels outbox show", "nope"],
  ["channels outbox retry", failed],
  ["channels outbox retry", "nope"],
  ["channels outbox drop", pending],
  ["usage lift", `agent:${main.id}`, "--tokens", "5"],
  ["usage lift", "nonsense"],
  ["agents subagents send", "digger", "hurry", "up"],
  ["agents subagents stop", "digger"],
  ["agents subagents release", endedRun],
  ["agents subagents release", "nobody"],
  ["agents swarms remove", "@Desk"],
  ["agents swarms remove", "desk"],
  ["agents add", "clerk", "--description", "files letters", "--prompt", "You file letters."],
  ["agents add", "clerk"],
  ["agents swarms add", "@Shop", "--prompt", "You sell."],
  ["agents swarms add", "shop", "--prompt", "You sell."],
  ["agents set", "main", "verboseLevel=on", "queueCap=5"],
  ["agents set", "main", "nonsense=1"],
  ["agents back", "main", main.leaf],
  ["agents back", "main", "no-such-entry"],
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
  ["people unlink", "ann", "api:ann"],
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
  ["engine audit", "--person", "owner", "--limit", "3"],
  ["engine audit", "--decision", "maybe"],
  ["approvals list"],
  ["approvals list", "--all"],
  ["approvals show", "kmtb"],
  ["approvals no", "kmtb", "--reason", "not today"],
  ["approvals yes", "kmtb", "--always"],
  ["approvals yes", "zzzz"],
  ["config changes list"],
  ["config changes list", "--kind", "notes"],
  ["config changes write", "workspace/SOUL.md", "--from", join(root, "tea/SKILL.md"), "--yes"],
  ["config changes write", "workspace/SOUL.md", "--from", join(root, "tea/SKILL.md")],
  ["config changes write", "workspace/SOUL.md", "--from", join(root, "none"), "--yes"],
  ["config changes show", "1"],
  ["config changes undo", "1"],
  ["config changes undo", "1"],
  ["config changes undo", "7"],
  ["config changes show", "one"],
  ["skills list"],
  ["skills install", join(root, "tea"), "--yes"],
  ["skills install", join(root, "tea")],
  ["skills install", join(root, "none"), "--yes"],
  ["skills list"],
  ["skills show", "tea"],
  ["skills show", "none"],
  ["skills check"],
  ["skills check", join(root, "tea")],
  ["skills update", "tea", "--yes"],
  ["skills update", "none"],
  ["config changes list", "--kind", "skill"],
  ["skills remove", "tea"],
  ["skills remove", "tea"],
  ["permissions list"],
  ["permissions add", "deny", "exec(git push *)", "--because", "by hand"],
  ["permissions add", "allow", "exec(a && b)"],
  ["permissions list", "--for", "owner"],
  ["permissions test", "exec(git push origin)"],
  ["permissions test", "exec(make)", "--headless"],
  ["permissions explain", "denied-call"],
  ["permissions explain", "nothing"],
  ["permissions remove", "exec(git push *)"],
  ["permissions remove", "exec(git push *)"],
  ["people requests list"],
  ["people requests yes", "nope"],
  ["people requests no", "nope"],
  ["people requests block", "telegram:9"],
  ["people requests forget", "telegram:9"],
  ["people tokens add", "laptop"],
  ["people tokens remove", "0".repeat(12)],
  { line: ["send"], input: "hello there" },
  { line: ["send", "--lines", "--user", "ann"], input: "one\n\ntwo\nthree" },
  { line: ["send", "--user", "bob"], input: "/reset and begin" },
  { line: ["send", "--user", "bob"], input: "/queue collect" },
  { line: ["send", "--user", "bob"], input: "/subagents" },
  { line: ["send", "--user", "bob"], input: "stop" },
  { line: ["send", "--user", "bob"], input: " \n" },
];

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
  const named = [
    { ...ann, person: "telegram:77" as PersonId, state: { ...ann.state, origin: { label: "Ann" } } },
    { ...group, state: { ...group.state, subject: "Family" } },
  ];
  for (const seed of [main, child, servant, other, twin, ...named]) await commit([{ op: "agent.create", seed }]);
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
  const denied = { at, person: OWNER, surface: "run", action: "exec", decision: "deny" as const, reason: "no" };
  await commit([{ op: "audit.add", entry: { ...denied, callId: "denied-call", agentId: main.id } }]);
  await commit([{ op: "budget.reserve", id: "r", runId: openRun, call, rows }], { owner });
  await commit([{ op: "budget.settle", id: "r", actual: { tokens: 120, micros: 140 } }]);
  const cron = new CronService({ people: peopleOf(store), store, ids, clock }, { settings: testSettings() });
  const payload = { kind: "agentTurn", message: "news", deliver: false };
  ({ id: job } = await cron.add({ name: "news", schedule: { kind: "every", everyMs: 3_600_000 }, payload }));
  await store.close();
  const changes = nodeChanges({ settings: { current: { profiles: {} } }, paths: homePaths(home), clock });
  const text = readFileSync(join(home, "rookery.json5"), "utf8");
  await changes.write("rookery.json5", `${text}// Tea.\n`, { by: { person: OWNER, surface: "api" } });
}

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "rookery-beside-"));
  writeFileSync(join(root, "note.txt"), NOTE);
  mkdirSync(join(root, "tea"));
  writeFileSync(join(root, "tea", "SKILL.md"), "---\nname: tea\ndescription: Makes tea.\n---\n\nBoil water.\n");
  model = await fakeModel();
  // No heartbeat: its next time exists only while an engine runs.
  const more = {
    ...{ budgets: { agent: { tokens: 500_000 } }, heartbeat: { every: "0" } },
    ...{ hooks: { bell: { token: { env: "K" } } }, mcp: { servers: { desk: { command: "true", enabled: false } } } },
  };
  const gateway = { publicUrl: "https://rookery.example.org" };
  alone = join(root, "alone");
  mkdirSync(alone, { mode: 0o700 });
  writeServedConfig(alone, model, { more, gateway });
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
    .replaceAll(/\b[a-z][a-z0-9]{23}\b/g, "AGENT")
    .replaceAll(/\br[ki]_[\w-]+/g, "TOKEN")
    .replaceAll(/"id":"[a-z0-9]{12}"/g, '"id":"TOKEN"')
    // The first process that runs agents after an update says it once.
    .replaceAll(/^warn: Other people.*\n/gm, "")
    // A process that ends says that nobody is left to fire them.
    .replaceAll(/^\d+ scheduled jobs? waits?;.*\n/gm, "")
    // An engine has looked for a way to send it.
    .replaceAll(',"reason":"no connector \\"nowhere\\""', "")
    // A job that ran has posted its result in between.
    .replaceAll(/"(?:n|next)":\d+/g, "N")
    .replaceAll(/"seq":\d+|\/\d+"/g, "SEQ");

const namesOf = async (): Promise<readonly string[]> => {
  const all = await Promise.all(
    Object.entries(REGISTRY).map(async ([name, { load }]) => actionsOf(name, await load()).map(([path]) => path)),
  );
  return all.flat();
};

const nameOf = (line: Line): string => ("line" in line ? (line.line[0] ?? "") : line[0]);
const argvOf = (line: Line): readonly string[] =>
  "line" in line ? line.line : [...line[0].split(" "), ...line.slice(1)];

/** What can be repeated is printed in both forms. Of what changes something, the first line is JSON, the others are text. */
function formsOf(line: Line, seen: Set<string>): readonly (readonly string[])[] {
  const name = nameOf(line);
  const isFirst = !seen.has(name);
  seen.add(name);
  if (READS.test(name)) return [[], ["--json"]];
  return isFirst ? [["--json"]] : [[]];
}

const PROMISED = /^printsDocumentsOf\(([^)]*)\);$/gmu;
const HOW_TO_ADD =
  "Add a line to the tables of test/e2e/commands-beside.test.ts or local-commands.ts, or run the command with --json in a test file that ends with printsDocumentsOf and that ELSEWHERE names.";

/** They show one thing in all its parts, with its ids. */
const DETAILS = / (?:show|log|replay|explain|get|status|add|export|archive)$/;

const READS =
  / (?:list|show|search|runs|log|paths|test|explain|replay|wait|get|sessions|tree|inbox|heartbeat|audit|status|budgets)$/;

const names = await namesOf();

describe("every command", () => {
  it("has a schema, and every schema a command", () => {
    expect([...commandsWithSchema].sort()).toEqual([...names].sort());
  });

  it.each(names)("%s: a test prints its document and holds it against the schema", (name) => {
    const isHere = lines().some((line) => nameOf(line) === name) || name in LOCAL_LINES;
    const file = ELSEWHERE[name];
    if (file === undefined) return expect(isHere || withoutDocument.includes(name), HOW_TO_ADD).toBe(true);
    const calls = readFileSync(join(import.meta.dirname, "..", "..", file), "utf8").matchAll(PROMISED);
    expect([...calls].map(([, names = ""]) => names).join(), `${file}: ${HOW_TO_ADD}`).toContain(`"${name}"`);
  });

  it("does the same alone and beside a running engine, and prints documents that their schemas allow", async () => {
    const results: string[] = [];
    const seen = new Set<string>();
    for (const line of lines()) {
      for (const form of formsOf(line, seen)) {
        const argv = [...argvOf(line), ...form];
        const options: RunOptions = { env: { K: "k" }, input: "line" in line ? line.input : undefined };
        const run = async (home: string) => {
          const { code, out, err } = await runCommand([...argv, "--home", home], options);
          if (form.length === 0 && !DETAILS.test(nameOf(line))) expect([argv, idsIn(out)]).toEqual([argv, []]);
          return { argv, code, out: comparable(out, home), err: comparable(err, home) };
        };
        const [one, two] = await Promise.all([run(alone), run(beside())]);
        expect(two).toEqual(one);
        results.push(`${argv.join(" ")} → ${one.code}`);
      }
    }
    expect(results.filter((result) => result.endsWith("→ 4"))).toEqual([]);
    expect(readFileSync(join(beside(), "rookery.pid"), "utf8").trim()).toBe(String(served.pid));
  });

  it("shows names in lists, and no session key, cuid2 or uuid", async () => {
    const place = await placeOf(beside(), "-names");
    const lists = listCommands.filter((name) => !NO_LIST.includes(name) && !withoutDocument.includes(name));
    expect(lists.length).toBeGreaterThan(30);
    const shown: string[] = [];
    for (const name of [...lists, ...MORE_LISTS]) {
      const argv = [...name.split(" "), ...(LISTED[name]?.(place) ?? [])];
      const { out, err } = await runCommand([...argv, "--home", beside()], { env: { K: "k", HOME: place.out } });
      expect([argv, idsIn(out + err)]).toEqual([argv, []]);
      shown.push(out);
    }
    for (const name of ["main", "Ann on Telegram", "Family group on Telegram", "clerk", "digger (task of main)"])
      expect(shown.join()).toContain(name);
    const { out } = await runCommand(["agents", "list", "--home", beside()]);
    const [first, second] = out.match(/digger \(task of main\) #\w+/gu) ?? [];
    expect(first).not.toBe(second);
    for (const name of [first ?? "", "ann on TELEGRAM", "Family"]) {
      const { code, out: details } = await runCommand(["agents", "show", name, "--home", beside()]);
      expect([code, details]).toEqual([0, expect.stringMatching(/^name +/u)]);
    }
    const { code, err } = await runCommand(["agents", "show", "digger", "--home", beside()]);
    expect([code, err]).toEqual([2, expect.stringContaining(`digger (task of main) (${child.id})`)]);
  });

  it("prints a document that its schema allows, if it does not depend on an engine", async () => {
    const run = async (name: string, place: Place): Promise<void> => {
      const env = { K: "k", HOME: place.out, XDG_CONFIG_HOME: join(place.out, "config") };
      for (const argv of LOCAL_LINES[name]?.(place) ?? []) {
        const home = argv.includes("--home") ? [] : ["--home", place.home];
        const { err } = await runCommand([...name.split(" "), ...argv, ...home, "--json"], { env, input: "key" });
        expect([name, ...argv, err]).not.toContainEqual(expect.stringContaining("unexpected"));
      }
    };
    const places = await Promise.all([alone, beside()].map((home) => placeOf(home)));
    for (const name of Object.keys(LOCAL_LINES)) await Promise.all(places.map((place) => run(name, place)));
    const known = [...new Set([...lines().map(nameOf), ...Object.keys(LOCAL_LINES)])];
    expect(known.filter((name) => !validDocuments().has(name) && !(name in ELSEWHERE))).toEqual([]);
  });
});

/** The arguments of commands that print a list; the others need none. */
const LISTED: Readonly<Record<string, (place: Place) => readonly string[]>> = {
  "runs list": () => ["main"],
  "agents inbox": () => ["main"],
  "sessions search": () => ["main", "hello"],
  "schedules runs": () => ["news"],
  "permissions explain": () => ["denied-call"],
  "agents subagents log": () => ["digger"],
  "skills check": () => [join(root, "tea")],
  "sessions carry-over": () => ["--to", "per-peer"],
};
/** They print what was asked for in detail, or change something. */
const NO_LIST = [
  "agents show",
  "sessions show",
  "send",
  "skills update",
  "engine prune",
  "engine logs",
  "config completion",
];
/** Lists without `items`, and the screens with several of them. */
const MORE_LISTS = [
  "agents tree",
  "status",
  "usage show --by agent",
  "usage show --by person",
  "agents inbox --failed",
];

/** What commands name in this home. */
async function placeOf(home: string, suffix = ""): Promise<Place> {
  const json = async (...argv: readonly string[]) => {
    const { out, err } = await runCommand([...argv, "--json", "--home", home], { env: { K: "k" } });
    expect(out, err).not.toBe("");
    return JSON.parse(out);
  };
  const out = `${home}-out${suffix}`;
  mkdirSync(out);
  await json("send", "hello");
  const run = (await json("runs", "list", "main")).items[0].id as string;
  const entry = (await json("sessions", "show", "main")).items.at(-1).entry.id as string;
  const { record } = await json("people", "tokens", "add", "phone");
  return { home, out, run, entry, token: record.id };
}
