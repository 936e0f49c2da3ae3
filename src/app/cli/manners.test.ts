/**
 * Rules that hold for every command, checked over the whole registry: JSON and its shape, exit codes, help in 80 columns, no
 * control characters, errors that say what to do.
 */
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anyText } from "../../../test/kit/any-text.ts";
import { printable, printableJson } from "../../core/printable.ts";
import { type CommandResult, runCommand } from "./cli.test-kit.ts";
import { type Action, defineAction, type Options } from "./command.ts";
import { ADD_FLAGS, jobFrom } from "./commands/cron-add.ts";
import { EXIT } from "./exit-code.ts";
import { here, programOf } from "./here.ts";
import { REGISTRY } from "./registry.ts";

interface Known {
  readonly call: string;
  readonly action: Action;
}

const ACTIONS: readonly Known[] = (
  await Promise.all(
    Object.entries(REGISTRY).map(async ([name, { load }]) => {
      const command = await load();
      if (!("actions" in command)) return [{ call: name, action: command }];
      return Object.entries(command.actions).map(([word, action]) => ({ call: `${name} ${word}`, action }));
    }),
  )
).flat();

const MAIN = "agent:main:main";
/** Text of a person who does not mean well: escape sequences, C1 controls, a reversed line, a carriage return. */
const EVIL = "a\u001b[31mred\u001b]0;title\u0007\u009b2J\u202Eevil\rx\u0000";
const ENV = { ROOKERY_HOME: "", HOME: tmpdir() };

let home: string;
let ids: Readonly<Record<string, string>>;
const run = (...argv: readonly string[]): Promise<CommandResult> =>
  runCommand([...argv, "--home", home], { env: ENV, input: "secret-key-of-a-provider" });
const json = async (...argv: readonly string[]) => JSON.parse((await run(...argv, "--json")).out);

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "rookery-manners-"));
  writeFileSync(join(home, "rookery.json5"), '{ models: { default: "offline", detect: false } }');
  const said = await run("run", `remind ${EVIL}`);
  expect(said.code, said.err).toBe(0);
  const job = await json("cron", "add", "--name", EVIL, "--every", "1h", "--message", EVIL, "--description", EVIL);
  await run("people", "add", "ann", "--name", EVIL, "--account", "telegram:42");
  await run("tokens", "mint", EVIL, "--days", "1");
  await run("swarms", "create", "helpdesk", "--prompt", EVIL, "--bio", EVIL);
  await run("agents", "create", "archivist", "--description", EVIL, "--prompt", EVIL);
  ids = { job: job.id };
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** A command line for every action; `isList`: it prints `{ items, next }`. An action that is not here fails the test. */
const LINES: Readonly<Record<string, { readonly argv: () => readonly string[]; readonly isList?: true }>> = {
  chat: { argv: () => [] },
  // test/e2e/demo.test.ts runs it and checks its document.
  demo: { argv: () => ["extra"] },
  setup: { argv: () => ["--yes", "--name", "Ann"] },
  send: { argv: () => ["hello"] },
  status: { argv: () => [] },
  "remote list": { argv: () => [], isList: true },
  "remote add": { argv: () => ["server", "http://127.0.0.1:1"] },
  "remote remove": { argv: () => ["server"] },
  open: { argv: () => ["--print"] },
  run: { argv: () => ["hello"], isList: true },
  serve: { argv: () => ["--port", "x"] },
  "tokens list": { argv: () => [], isList: true },
  "tokens mint": { argv: () => ["other"] },
  "tokens revoke": { argv: () => ["000000000000"] },
  "people list": { argv: () => [], isList: true },
  "people show": { argv: () => ["ann"] },
  "people add": { argv: () => ["bob"] },
  "people set": { argv: () => ["ann", "--language", "de"] },
  "people link": { argv: () => ["ann", "telegram:43"] },
  "people unlink": { argv: () => ["ann", "telegram:43"] },
  "people grant": { argv: () => ["ann", "read"] },
  "people revoke": { argv: () => ["ann", "read"] },
  "people limits": { argv: () => ["ann"] },
  "people remove": { argv: () => ["bob"] },
  "people invite": { argv: () => ["ann"] },
  "people sessions": { argv: () => [], isList: true },
  "people sign-out": { argv: () => ["unknown"] },
  audit: { argv: () => [], isList: true },
  "models list": { argv: () => [] },
  "models test": { argv: () => [] },
  "models set": { argv: () => ["offline"] },
  "auth set": { argv: () => ["openai"] },
  "auth list": { argv: () => [], isList: true },
  "auth remove": { argv: () => ["openai"] },
  "auth login": { argv: () => ["anthropic"] },
  "auth logout": { argv: () => ["xai"] },
  "auth status": { argv: () => [], isList: true },
  "config path": { argv: () => [] },
  "config check": { argv: () => [] },
  "config get": { argv: () => ["gateway.port"] },
  "config set": { argv: () => ["log.level", "debug"] },
  "config explain": { argv: () => ["gateway"] },
  "config edit": { argv: () => [] },
  "config show": { argv: () => [] },
  "config init": { argv: () => [] },
  home: { argv: () => [] },
  "agents list": { argv: () => [], isList: true },
  "agents show": { argv: () => [MAIN] },
  "agents create": { argv: () => ["librarian", "--description", "d", "--prompt", "p"] },
  "agents reset": { argv: () => [MAIN] },
  "agents tree": { argv: () => [] },
  "agents set": { argv: () => [MAIN, "queueCap=5"] },
  "agents back": { argv: () => [MAIN, "unknown"] },
  "agents stop": { argv: () => [MAIN] },
  "agents start": { argv: () => [MAIN] },
  "agents remove": { argv: () => ["unknown"] },
  "subagents list": { argv: () => [], isList: true },
  "subagents info": { argv: () => ["unknown"] },
  "subagents log": { argv: () => ["unknown"] },
  "subagents send": { argv: () => ["unknown", "text"] },
  "subagents stop": { argv: () => ["unknown"] },
  "subagents release": { argv: () => ["unknown"] },
  "files list": { argv: () => [], isList: true },
  "files show": { argv: () => ["file_unknown"] },
  "files get": { argv: () => ["file_unknown"] },
  "files add": { argv: () => [join(import.meta.dirname, "manners.test.ts")] },
  "files remove": { argv: () => ["file_unknown"] },
  "swarms list": { argv: () => [], isList: true },
  "swarms show": { argv: () => ["helpdesk"] },
  "swarms create": { argv: () => ["other", "--prompt", "p"] },
  "swarms remove": { argv: () => ["other"] },
  tree: { argv: () => [] },
  "runs list": { argv: () => [], isList: true },
  "runs show": { argv: () => ["unknown"] },
  "runs replay": { argv: () => ["unknown"] },
  "runs wait": { argv: () => ["unknown"] },
  "runs abort": { argv: () => ["unknown"] },
  "sessions list": { argv: () => [], isList: true },
  "sessions show": { argv: () => [MAIN] },
  "sessions search": { argv: () => [MAIN, "remind"], isList: true },
  "sessions carry-over": { argv: () => [] },
  "sessions export": { argv: () => [MAIN, join(home, "exported")] },
  "sessions archive": { argv: () => [MAIN, join(home, "archived")] },
  "sessions branch": { argv: () => [MAIN, "unknown"] },
  usage: { argv: () => [], isList: true },
  logs: { argv: () => [], isList: true },
  hooks: { argv: () => [], isList: true },
  completion: { argv: () => ["bash"] },
  history: { argv: () => [MAIN], isList: true },
  inbox: { argv: () => [MAIN], isList: true },
  "cron list": { argv: () => [], isList: true },
  "cron show": { argv: () => [ids.job ?? ""] },
  "cron add": { argv: () => ["--name", "n", "--every", "1h", "--message", "m"] },
  "cron remove": { argv: () => ["unknown"] },
  "cron enable": { argv: () => [ids.job ?? ""] },
  "cron disable": { argv: () => [ids.job ?? ""] },
  "cron run": { argv: () => [ids.job ?? ""] },
  "cron runs": { argv: () => [ids.job ?? ""], isList: true },
  heartbeat: { argv: () => [], isList: true },
  "outbox list": { argv: () => ["--state", "sent"], isList: true },
  "outbox show": { argv: () => ["unknown"] },
  "outbox retry": { argv: () => ["unknown"] },
  "outbox drop": { argv: () => ["unknown"] },
  "connect telegram": { argv: () => [] },
  "connect whatsapp": { argv: () => ["--phone-number-id", "x"] },
  "connect whatsapp-web": { argv: () => ["--phone", "x"] },
  "connect webhook": { argv: () => ["--send-url", "x"] },
  connectors: { argv: () => [], isList: true },
  "mcp list": { argv: () => [], isList: true },
  "mcp check": { argv: () => ["unknown"] },
  "mcp pin": { argv: () => ["unknown"] },
  "mcp login": { argv: () => ["unknown"] },
  "mcp serve": { argv: () => ["extra"] },
  "skills list": { argv: () => [], isList: true },
  "skills show": { argv: () => ["unknown"] },
  "skills check": { argv: () => [], isList: true },
  "skills install": { argv: () => ["daily-briefing", "--yes"] },
  "skills update": { argv: () => ["--yes"], isList: true },
  "skills remove": { argv: () => ["unknown"] },
  "permissions list": { argv: () => [], isList: true },
  "permissions add": { argv: () => ["deny", "exec(git push *)"] },
  "permissions remove": { argv: () => ["unknown"] },
  "permissions test": { argv: () => ["exec(make)"] },
  "permissions explain": { argv: () => ["unknown"] },
  "changes list": { argv: () => [], isList: true },
  "changes show": { argv: () => ["1"] },
  "changes write": { argv: () => ["workspace/SOUL.md", "--from", "/nowhere", "--yes"] },
  "changes undo": { argv: () => ["1"] },
  "pair list": { argv: () => [], isList: true },
  "pair yes": { argv: () => ["unknown"] },
  "pair no": { argv: () => ["unknown"] },
  "pair block": { argv: () => ["unknown"] },
  "pair forget": { argv: () => ["unknown"] },
  "approvals list": { argv: () => [], isList: true },
  "approvals show": { argv: () => ["unknown"] },
  "approvals yes": { argv: () => ["unknown"] },
  "approvals no": { argv: () => ["unknown"] },
  "budget list": { argv: () => [], isList: true },
  "budget lift": { argv: () => ["unknown"] },
  forget: { argv: () => ["unknown", "--yes"] },
  prune: { argv: () => ["--dry-run"] },
  update: { argv: () => ["--check"] },
  backup: { argv: () => [] },
  restore: { argv: () => ["unknown.tar.gz"] },
  "service install": { argv: () => ["--no-start", "--no-keys"] },
  "service status": { argv: () => [] },
  "service remove": { argv: () => [] },
  doctor: { argv: () => [], isList: true },
  repair: { argv: () => [] },
  nodes: { argv: () => [] },
  "store copy": { argv: () => [] },
  version: { argv: () => [] },
  help: { argv: () => [], isList: true },
};

const words = (call: string): readonly string[] => call.split(" ");
const CONTROL = /[^\P{Cc}\n\t]|[\u202A-\u202E\u2066-\u2069]/u;

describe("every command", () => {
  it("has a line in the table", () => {
    const calls = ACTIONS.map(({ call }) => call);
    expect(calls.filter((call) => !(call in LINES))).toEqual([]);
    expect(Object.keys(LINES).filter((call) => !calls.includes(call))).toEqual([]);
  });

  it.each(ACTIONS)(
    "$call --json prints one document, a list as { items, next }; no control characters",
    async ({ call }) => {
      const line = LINES[call];
      const argv = [...words(call), ...(line?.argv() ?? [])];
      const result = await run(...argv, "--json");
      expect(`${result.out}${result.err}`).not.toMatch(CONTROL);
      if (result.code !== EXIT.ok && result.out === "") {
        expect(JSON.parse(result.err.trim().split("\n").at(-1) ?? "").error.message, result.err).toMatch(/\.$/);
        expect(line?.isList, result.err).toBeUndefined();
        return;
      }
      const document = JSON.parse(result.out);
      expect(result.out.trim().split("\n")).toHaveLength(1);
      expect(Array.isArray(document)).toBe(false);
      if (line?.isList) expect(document).toMatchObject({ items: expect.any(Array), next: document.next });
      if (line?.isList) expect("next" in document).toBe(true);
    },
    120_000,
  );

  it.each(ACTIONS.filter(({ call }) => LINES[call]?.isList))(
    "$call prints no control characters as text",
    async ({ call }) => {
      const { out, err } = await run(...words(call), ...(LINES[call]?.argv() ?? []));
      expect(`${out}${err}`).not.toMatch(CONTROL);
      expect(out).not.toBe("");
    },
    120_000,
  );

  it.each(ACTIONS)("$call: help fits 80 columns and describes every flag", async ({ call, action }) => {
    const { out, code } = await runCommand(["help", ...words(call)]);
    expect(code).toBe(EXIT.ok);
    for (const line of out.split("\n")) expect([...line].length, line).toBeLessThanOrEqual(80);
    for (const name of Object.keys(action.options ?? {})) expect(out).toContain(`--${name}`);
  });

  it.each(ACTIONS)(
    "$call: a wrong command line exits with 2",
    async ({ call, action }) => {
      const { min, max } = action.arguments ?? { min: 0, max: 0 };
      const lines = [
        [...words(call), "--no-such-flag"],
        ...(min > 0 ? [words(call)] : []),
        ...(max < 50 ? [[...words(call), ...Array.from({ length: max + 1 }, () => "x")]] : []),
        ...wrongNumbers(action.options ?? {}).map((flags) => [
          ...words(call),
          ...Array(min).fill(MAIN),
          ...required(call),
          ...flags,
        ]),
      ];
      for (const argv of lines) expect([argv, (await run(...argv)).code]).toEqual([argv, EXIT.usage]);
    },
    120_000,
  );
});

const wrongNumbers = (options: Options): readonly (readonly string[])[] =>
  Object.entries(options)
    .filter(([, { value }]) => value === "N")
    .flatMap(([name]) => ["x", "", "0x", "1e999"].map((value) => [`--${name}=${value}`]));

/** Flags without which an action would stop for another reason. */
const required = (call: string): readonly string[] =>
  call === "cron add" ? ["--name", "n", "--every", "1h", "--message", "m"] : [];

/** Read the database, and only that. */
const READERS = [
  ...[
    "status",
    "agents list",
    "agents show",
    "subagents list",
    "subagents info",
    "subagents log",
    "swarms list",
    "swarms show",
  ],
  ...["tree", "history", "inbox", "cron list", "cron show", "cron runs", "heartbeat", "outbox list", "budget list"],
  ...["files list", "files show", "files get"],
  ...[
    "people list",
    "people show",
    "people sessions",
    "connectors",
    "pair list",
    "approvals list",
    "approvals show",
    "audit",
  ],
];

describe("a command that only reads", () => {
  it.each(READERS)("%s says what to do about a missing and an unreadable database, and exits with 4", async (call) => {
    const other = mkdtempSync(join(tmpdir(), "rookery-manners-"));
    try {
      const argv = [...words(call), ...(LINES[call]?.argv() ?? []), "--home", other];
      const missing = await runCommand(argv, { env: ENV });
      expect([missing.code, missing.out], missing.err).toEqual([EXIT.store, ""]);
      expect(missing.err).toMatch(
        /There is no database in .*\n {2}Send a first message with `rookery run hello --home .*`/,
      );
      expect(statSync(join(other, "rookery.db"), { throwIfNoEntry: false })).toBeUndefined();
      writeFileSync(join(other, "rookery.db"), "this is not a database, and longer than a header of one".repeat(50));
      const broken = await runCommand(argv, { env: ENV });
      expect([broken.code, broken.out], broken.err).toEqual([EXIT.store, ""]);
      expect(broken.err).toMatch(/cannot be read: .*\n.*`rookery repair --home .*`/);
    } finally {
      rmSync(other, { recursive: true, force: true });
    }
  });

  it.each(["history", "inbox", "agents show", "tree"])("%s of an unknown agent says so", async (call) => {
    const { code, err } = await run(...words(call), "nobody");
    expect([code, err]).toEqual([EXIT.failure, expect.stringContaining('There is no agent "nobody".\n  Run `')]);
  });
});

describe("hints", () => {
  it.each([
    ["rookery", undefined, "Run `rookery help x` now."],
    ["npm start --", undefined, "Run `npm start -- help x` now."],
    ["npx rookery", "/a b", "Run `npx rookery help x --home '/a b'` now."],
    ["rookery", "/h", "Run `rookery help x --home /h` now."],
  ])("are commands that work for %s with home %s", (program, at, expected) => {
    expect(here("Run `rookery help x` now.", { program, home: at })).toBe(expected);
  });

  it("name the program as it was called", () => {
    expect(programOf({ npm_lifecycle_event: "start" }, "/x/src/main.ts")).toBe("npm start --");
    expect(programOf({ npm_command: "exec" }, "/x/dist/main.js")).toBe("npx rookery");
    expect(programOf({}, "/x/src/main.ts")).toBe("node src/main.ts");
    expect(programOf({}, "/x/dist/main.js")).toBe("rookery");
  });
});

describe("what reaches a terminal", () => {
  it("has no control characters, whatever a command writes", async () => {
    const load = async () =>
      defineAction({
        summary: "s",
        run({ stdout, stderr }) {
          stdout.write(EVIL);
          stderr.write(EVIL);
          return undefined;
        },
      });
    const { out, err } = await runCommand(["it"], { registry: { it: { summary: "s", load } } });
    for (const text of [out, err]) expect(text).not.toMatch(CONTROL);
    expect(out).toContain("red");
  });

  it("is the same value as JSON, and the same text without control characters", () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        expect(JSON.parse(printableJson(JSON.stringify(text)))).toBe(text);
        expect(printable(text)).not.toMatch(CONTROL);
        expect(printable(text).isWellFormed()).toBe(true);
      }),
    );
    expect(printable("👨‍👩‍👧 naïve\ttab\nline\r\n")).toBe("👨‍👩‍👧 naïve\ttab\nline\n");
  });
});

describe("cron add", () => {
  it("has a flag for every field of a job", () => {
    const flags = {
      ...{ name: "n", every: "30m", anchor: "2026-01-01T09:00", message: "m", session: "isolated", wake: "now" },
      ...{
        profile: "main",
        model: "a/b",
        thinking: "low",
        "timeout-seconds": "5",
        deliver: true,
        channel: "last",
        to: "1",
      },
      ...{
        "best-effort-deliver": true,
        "post-mode": "full",
        "post-prefix": "p",
        "post-max-chars": "9",
        missed: "once",
      },
      ...{
        "max-lateness": "2h",
        overlap: "skip",
        stagger: "10s",
        "gate-command": "true",
        "gate-cwd": "/",
        "gate-env": ["A=b=c"],
      },
      ...{ "gate-timeout": "10s", description: "d", "delete-after-run": true, disabled: true },
    };
    const rest = {
      at: "10m",
      cron: "* * * * *",
      tz: "UTC",
      "system-event": "e",
      "gate-url": "http://x",
      "gate-header": ["A=b"],
      "no-deliver": true,
    };
    expect([...Object.keys(flags), ...Object.keys(rest)].sort()).toEqual(Object.keys(ADD_FLAGS).sort());
    expect(jobFrom(flags)).toEqual({
      ...{ name: "n", sessionTarget: "isolated", wakeMode: "now", agentId: "main", missed: "once", overlap: "skip" },
      ...{ description: "d", deleteAfterRun: true, enabled: false, maxLatenessMs: 7_200_000, staggerMs: 10_000 },
      schedule: { kind: "every", everyMs: 1_800_000, anchor: "2026-01-01T09:00" },
      payload: {
        ...{ kind: "agentTurn", message: "m", model: "a/b", thinking: "low", timeoutSeconds: 5, deliver: true },
        ...{ channel: "last", to: "1", bestEffortDeliver: true },
      },
      isolation: { postToMainMode: "full", postToMainPrefix: "p", postToMainMaxChars: 9 },
      gate: { kind: "command", command: "true", cwd: "/", timeoutMs: 10_000, env: { A: "b=c" } },
    });
  });

  it.each([
    [[], "cron add needs --name, a schedule (--at, --every or --cron) and --message or --system-event."],
    [["--name", "n", "--every", "soon", "--message", "m"], "--every takes a duration: 30s, 30m, 2h or 1d."],
    [["--name", "n", "--every", "500ms", "--message", "m"], "everyMs must be at least 1000"],
    [["--name", "n", "--cron", "* * * * *", "--tz", "Europe/Rom", "--message", "m"], 'Did you mean "Europe/Rome"?'],
  ])("says what is wrong with %j", async (flags, message) => {
    const { code, err } = await run("cron", "add", ...flags);
    expect([code, err]).toEqual([EXIT.usage, expect.stringContaining(message)]);
  });

  it("reads a time without a zone in the configured zone", async () => {
    writeFileSync(
      join(home, "rookery.json5"),
      '{ models: { default: "offline", detect: false }, session: { timeZone: "America/New_York" } }',
    );
    const at = async (time: string) =>
      (await json("cron", "add", "--name", "n", "--at", time, "--message", "m")).schedule.atMs as number;
    expect(new Date(await at("2031-01-31T09:00")).toISOString()).toBe("2031-01-31T14:00:00.000Z");
    expect(new Date(await at("2031-07-31 09:00")).toISOString()).toBe("2031-07-31T13:00:00.000Z");
    expect(new Date(await at("2031-01-31T09:00Z")).toISOString()).toBe("2031-01-31T09:00:00.000Z");
    expect(new Date(await at("2031-01-31T09:00+02:00")).toISOString()).toBe("2031-01-31T07:00:00.000Z");
  });
});

it("the lock of a home is readable by its owner only", () => {
  expect(statSync(join(home, "rookery.lock")).mode & 0o777).toBe(0o600);
});
