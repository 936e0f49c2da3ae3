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
import { actionsOf } from "./choose-action.ts";
import { type CommandResult, runCommand } from "./cli.test-kit.ts";
import { type Action, defineAction, type Options } from "./command.ts";
import { JOB_FLAGS, jobFrom } from "./commands/job-flags.ts";
import { EXIT } from "./exit-code.ts";
import { here, programOf } from "./here.ts";
import { REGISTRY } from "./registry.ts";

interface Known {
  readonly call: string;
  readonly action: Action;
}

const ACTIONS: readonly Known[] = (
  await Promise.all(
    Object.entries(REGISTRY).map(async ([name, { load }]) =>
      actionsOf(name, await load()).map(([call, action]) => ({ call, action })),
    ),
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
  writeFileSync(join(home, "rookery.json5"), '{ models: { default: "offline" } }');
  const said = await run("send", `remind ${EVIL}`);
  expect(said.code, said.err).toBe(0);
  const job = await json("schedules", "add", "--name", EVIL, "--every", "1h", "--message", EVIL, "--description", EVIL);
  await run("people", "add", "ann", "--name", EVIL, "--account", "telegram:42");
  await run("people", "tokens", "add", EVIL, "--days", "1");
  await run("agents", "swarms", "add", "helpdesk", "--prompt", EVIL, "--bio", EVIL);
  await run("agents", "add", "archivist", "--description", EVIL, "--prompt", EVIL);
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
  "engine remotes list": { argv: () => [], isList: true },
  "engine remotes add": { argv: () => ["server", "http://127.0.0.1:1"] },
  "engine remotes remove": { argv: () => ["server"] },
  open: { argv: () => ["--print"] },
  serve: { argv: () => ["--port", "x"] },
  "people tokens list": { argv: () => [], isList: true },
  "people tokens add": { argv: () => ["other"] },
  "people tokens remove": { argv: () => ["000000000000"] },
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
  "engine audit": { argv: () => [], isList: true },
  "models list": { argv: () => [] },
  "models test": { argv: () => [] },
  "models set": { argv: () => ["offline"] },
  "models keys add": { argv: () => ["openai"] },
  "models keys list": { argv: () => [], isList: true },
  "models keys remove": { argv: () => ["openai"] },
  "models login": { argv: () => ["anthropic"] },
  "models logout": { argv: () => ["xai"] },
  "models logins": { argv: () => [], isList: true },
  "config check": { argv: () => [] },
  "config get": { argv: () => ["gateway.port"] },
  "config set": { argv: () => ["log.level", "debug"] },
  "config explain": { argv: () => ["gateway"] },
  "config edit": { argv: () => [] },
  "config show": { argv: () => [] },
  "config init": { argv: () => [] },
  "config paths": { argv: () => [] },
  "agents list": { argv: () => [], isList: true },
  "agents show": { argv: () => [MAIN] },
  "agents add": { argv: () => ["librarian", "--description", "d", "--prompt", "p"] },
  "agents reset": { argv: () => [MAIN] },
  "agents set": { argv: () => [MAIN, "queueCap=5"] },
  "agents back": { argv: () => [MAIN, "unknown"] },
  "agents stop": { argv: () => [MAIN] },
  "agents start": { argv: () => [MAIN] },
  "agents remove": { argv: () => ["unknown"] },
  "agents subagents list": { argv: () => [], isList: true },
  "agents subagents show": { argv: () => ["unknown"] },
  "agents subagents log": { argv: () => ["unknown"] },
  "agents subagents send": { argv: () => ["unknown", "text"] },
  "agents subagents stop": { argv: () => ["unknown"] },
  "agents subagents release": { argv: () => ["unknown"] },
  "people files list": { argv: () => [], isList: true },
  "people files show": { argv: () => ["file_unknown"] },
  "people files get": { argv: () => ["file_unknown"] },
  "people files add": { argv: () => [join(import.meta.dirname, "manners.test.ts")] },
  "people files remove": { argv: () => ["file_unknown"] },
  "agents swarms list": { argv: () => [], isList: true },
  "agents swarms show": { argv: () => ["helpdesk"] },
  "agents swarms add": { argv: () => ["other", "--prompt", "p"] },
  "agents swarms remove": { argv: () => ["other"] },
  "agents tree": { argv: () => [] },
  "runs list": { argv: () => [], isList: true },
  "runs show": { argv: () => ["unknown"] },
  "runs replay": { argv: () => ["unknown"] },
  "runs wait": { argv: () => ["unknown"] },
  "runs abort": { argv: () => ["unknown"] },
  "sessions list": { argv: () => [], isList: true },
  "sessions status": { argv: () => [MAIN] },
  "sessions search": { argv: () => [MAIN, "remind"], isList: true },
  "sessions carry-over": { argv: () => [] },
  "sessions export": { argv: () => [MAIN, join(home, "exported")] },
  "sessions archive": { argv: () => [MAIN, join(home, "archived")] },
  "sessions branch": { argv: () => [MAIN, "unknown"] },
  "usage show": { argv: () => [], isList: true },
  "engine logs": { argv: () => [], isList: true },
  "schedules webhooks": { argv: () => [], isList: true },
  "config completion": { argv: () => ["bash"] },
  "sessions show": { argv: () => [MAIN], isList: true },
  "agents inbox": { argv: () => [MAIN], isList: true },
  "schedules list": { argv: () => [], isList: true },
  "schedules show": { argv: () => [ids.job ?? ""] },
  "schedules add": { argv: () => ["--name", "n", "--every", "1h", "--message", "m"] },
  "schedules remove": { argv: () => ["unknown"] },
  "schedules enable": { argv: () => [ids.job ?? ""] },
  "schedules disable": { argv: () => [ids.job ?? ""] },
  "schedules run": { argv: () => [ids.job ?? ""] },
  "schedules runs": { argv: () => [ids.job ?? ""], isList: true },
  "schedules heartbeat": { argv: () => [], isList: true },
  "channels outbox list": { argv: () => ["--state", "sent"], isList: true },
  "channels outbox show": { argv: () => ["unknown"] },
  "channels outbox retry": { argv: () => ["unknown"] },
  "channels outbox drop": { argv: () => ["unknown"] },
  "channels add telegram": { argv: () => [] },
  "channels add whatsapp": { argv: () => ["--phone-number-id", "x"] },
  "channels add whatsapp-web": { argv: () => ["--phone", "x"] },
  "channels add webhook": { argv: () => ["--send-url", "x"] },
  "channels list": { argv: () => [], isList: true },
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
  "config changes list": { argv: () => [], isList: true },
  "config changes show": { argv: () => ["1"] },
  "config changes write": { argv: () => ["workspace/SOUL.md", "--from", "/nowhere", "--yes"] },
  "config changes undo": { argv: () => ["1"] },
  "people requests list": { argv: () => [], isList: true },
  "people requests yes": { argv: () => ["unknown"] },
  "people requests no": { argv: () => ["unknown"] },
  "people requests block": { argv: () => ["unknown"] },
  "people requests forget": { argv: () => ["unknown"] },
  "approvals list": { argv: () => [], isList: true },
  "approvals show": { argv: () => ["unknown"] },
  "approvals yes": { argv: () => ["unknown"] },
  "approvals no": { argv: () => ["unknown"] },
  "usage budgets": { argv: () => [], isList: true },
  "usage lift": { argv: () => ["unknown"] },
  "people forget": { argv: () => ["unknown", "--yes"] },
  "engine prune": { argv: () => ["--dry-run"] },
  "engine update": { argv: () => ["--check"] },
  "backup add": { argv: () => [] },
  "backup restore": { argv: () => ["unknown.tar.gz"] },
  "engine install": { argv: () => ["--no-start", "--no-keys"] },
  "engine status": { argv: () => [] },
  "engine remove": { argv: () => [] },
  doctor: { argv: () => [], isList: true },
  "engine repair": { argv: () => [] },
  "engine nodes": { argv: () => [] },
  "engine copy": { argv: () => [] },
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
  call === "schedules add" ? ["--name", "n", "--every", "1h", "--message", "m"] : [];

/** Read the database, and only that. */
const READERS = [
  ...[
    "status",
    "agents list",
    "agents show",
    "agents subagents list",
    "agents subagents show",
    "agents subagents log",
    "agents swarms list",
    "agents swarms show",
  ],
  ...[
    "agents tree",
    "sessions show",
    "agents inbox",
    "schedules list",
    "schedules show",
    "schedules runs",
    "schedules heartbeat",
    "channels outbox list",
    "usage budgets",
  ],
  ...["people files list", "people files show", "people files get"],
  ...[
    "people list",
    "people show",
    "people sessions",
    "channels list",
    "people requests list",
    "approvals list",
    "approvals show",
    "engine audit",
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
        /There is no database in .*\n {2}Send a first message with `rookery send hello --home .*`/,
      );
      expect(statSync(join(other, "rookery.db"), { throwIfNoEntry: false })).toBeUndefined();
      writeFileSync(join(other, "rookery.db"), "this is not a database, and longer than a header of one".repeat(50));
      const broken = await runCommand(argv, { env: ENV });
      expect([broken.code, broken.out], broken.err).toEqual([EXIT.store, ""]);
      expect(broken.err).toMatch(/cannot be read: .*\n.*`rookery engine repair --home .*`/);
    } finally {
      rmSync(other, { recursive: true, force: true });
    }
  });

  it.each(["sessions show", "agents inbox", "agents show", "agents tree"])(
    "%s of an unknown agent says so",
    async (call) => {
      const { code, err } = await run(...words(call), "nobody");
      expect([code, err]).toEqual([EXIT.failure, expect.stringContaining('There is no agent "nobody".\n  Run `')]);
    },
  );
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

describe("schedules add", () => {
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
    expect([...Object.keys(flags), ...Object.keys(rest)].sort()).toEqual(Object.keys(JOB_FLAGS).sort());
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
    [[], "schedules add needs --name, a schedule (--at, --every or --cron) and --message or --system-event."],
    [["--name", "n", "--every", "soon", "--message", "m"], "--every takes a duration: 30s, 30m, 2h or 1d."],
    [["--name", "n", "--every", "500ms", "--message", "m"], "everyMs must be at least 1000"],
    [["--name", "n", "--cron", "* * * * *", "--tz", "Europe/Rom", "--message", "m"], 'Did you mean "Europe/Rome"?'],
  ])("says what is wrong with %j", async (flags, message) => {
    const { code, err } = await run("schedules", "add", ...flags);
    expect([code, err]).toEqual([EXIT.usage, expect.stringContaining(message)]);
  });

  it("reads a time without a zone in the configured zone", async () => {
    writeFileSync(
      join(home, "rookery.json5"),
      '{ models: { default: "offline" }, session: { timeZone: "America/New_York" } }',
    );
    const at = async (time: string) =>
      (await json("schedules", "add", "--name", "n", "--at", time, "--message", "m")).schedule.atMs as number;
    expect(new Date(await at("2031-01-31T09:00")).toISOString()).toBe("2031-01-31T14:00:00.000Z");
    expect(new Date(await at("2031-07-31 09:00")).toISOString()).toBe("2031-07-31T13:00:00.000Z");
    expect(new Date(await at("2031-01-31T09:00Z")).toISOString()).toBe("2031-01-31T09:00:00.000Z");
    expect(new Date(await at("2031-01-31T09:00+02:00")).toISOString()).toBe("2031-01-31T07:00:00.000Z");
  });
});

it("the lock of a home is readable by its owner only", () => {
  expect(statSync(join(home, "rookery.lock")).mode & 0o777).toBe(0o600);
});
