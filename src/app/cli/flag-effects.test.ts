/**
 * Flags have the effect that the help describes: a row for each sets the flag and reads the value back. A flag that neither a row nor
 * another test names fails.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { actionsOf } from "./choose-action.ts";
import { type CliHome, cliHome, runCommand } from "./cli.test-kit.ts";
import { EXIT } from "./exit-code.ts";
import { REGISTRY } from "./registry.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const home = cliHome({
  setup: async ({ dir }) => {
    writeFileSync(join(dir, "rookery.json5"), '{ models: { default: "offline" } }');
  },
});

/** Runs a command that must succeed, and returns its document. */
async function json(...argv: readonly string[]) {
  const { code, out, err } = await home.run(...argv, "--json");
  expect([code, out === ""], err).toEqual([EXIT.ok, false]);
  return JSON.parse(out);
}

const tokenWith = async (...flags: readonly string[]) =>
  (await json("people", "tokens", "add", "desk", ...flags)).record;
const swarmWith = async (...flags: readonly string[]) =>
  (await json("agents", "swarms", "add", "desk", "--prompt", "You help.", ...flags)).swarm;
const jobWith = async (...flags: readonly string[]) =>
  json("schedules", "add", "--name", "tea", "--message", "tea", ...flags);

/** The page that `--before` asks for begins after the page whose `next` it names. */
async function pages(count: number, ...argv: readonly string[]): Promise<void> {
  const all = (await json(...argv, "--limit", String(count))).items;
  expect(all.length).toBeGreaterThan(1);
  const first = await json(...argv, "--limit", "1");
  expect(first.items).toEqual(all.slice(0, 1));
  expect((await json(...argv, "--limit", "1", "--before", String(first.next))).items).toEqual(all.slice(1, 2));
}

const say = async (...texts: readonly string[]): Promise<void> => {
  const input = texts.join("\n");
  expect((await runCommand(["send", "--lines", "--home", home.dir], { input })).code).toBe(EXIT.ok);
};

const EFFECTS: Readonly<Record<string, (at: CliHome) => Promise<void>>> = {
  "people add --role": async () => {
    await json("people", "add", "ann", "--role", "contact");
    expect(await json("people", "show", "ann")).toMatchObject({ role: "contact" });
  },
  "people set --role": async () => {
    await json("people", "add", "ann");
    await json("people", "set", "ann", "--role", "contact");
    expect(await json("people", "show", "ann")).toMatchObject({ role: "contact" });
  },
  "people tokens add --scope": async () => {
    const { scopes } = await tokenWith("--scope", "read", "--scope", "chat");
    expect(scopes).toEqual(["read", "chat"]);
  },
  "people tokens add --app": async () => expect(await tokenWith("--app", "shop")).toMatchObject({ app: "shop" }),
  "people tokens add --requests-per-minute": async () =>
    expect((await tokenWith("--requests-per-minute", "7")).limits).toEqual({ requestsPerMinute: 7 }),
  "people tokens add --messages-per-day": async () =>
    expect((await tokenWith("--messages-per-day", "8")).limits).toEqual({ messagesPerDay: 8 }),
  "people tokens add --tokens-per-day": async () =>
    expect((await tokenWith("--tokens-per-day", "9000")).limits).toEqual({ tokensPerDay: 9000 }),
  "people tokens add --dollars-per-day": async () =>
    expect((await tokenWith("--dollars-per-day", "1.5")).limits).toEqual({ dollarsPerDay: 1.5 }),
  "agents swarms add --first-name": async () =>
    expect(await swarmWith("--first-name", "Front")).toMatchObject({ firstName: "Front" }),
  "agents swarms add --about": async () =>
    expect(await swarmWith("--about", "opening hours")).toMatchObject({ about: "opening hours" }),
  "agents swarms add --memory": async () => {
    expect(await swarmWith("--memory")).toMatchObject({ memory: true });
    const other = await json("agents", "swarms", "add", "door", "--prompt", "You help.");
    expect(other.swarm).toMatchObject({ memory: false });
  },
  "permissions add --untrusted": async () => {
    await json("permissions", "add", "deny", "exec(git push)", "--untrusted");
    const { items } = await json("permissions", "list");
    expect(items).toContainEqual(expect.objectContaining({ text: "exec(git push)", when: "untrusted", stored: true }));
  },
  "permissions test --untrusted": async () => {
    await json("permissions", "add", "deny", "exec(git push)", "--untrusted");
    const verdict = async (...flags: readonly string[]) =>
      (await json("permissions", "test", "exec(git push)", ...flags)).decision.verdict;
    expect([await verdict(), await verdict("--untrusted")]).toEqual(["ask", "deny"]);
  },
  "schedules add --anchor": async () => {
    const job = await jobWith("--every", "1h", "--anchor", "2026-01-01T09:00Z");
    expect(job.schedule.anchorMs).toBe(Date.parse("2026-01-01T09:00Z"));
  },
  "schedules add --stagger": async () =>
    expect(JSON.stringify(await jobWith("--every", "1h", "--stagger", "10s"))).toContain("10000"),
  "sessions show --before": async () => {
    await say("one", "two");
    const { items } = await json("sessions", "show", "main", "--limit", "100");
    const { position } = items.at(-1);
    expect((await json("sessions", "show", "main", "--limit", "100", "--before", String(position))).items).toEqual(
      items.slice(0, -1),
    );
  },
  "schedules runs --before": async () => {
    const { id } = await jobWith("--every", "1h");
    for (const text of ["one", "two"]) {
      await json("schedules", "run", id);
      await say(text);
    }
    await pages(10, "schedules", "runs", id);
  },
  "sessions list --before": async () => {
    for (const name of ["tea", "milk"]) await json("send", "hello", "--to", name, "--receipt");
    await pages(10, "sessions", "list");
  },
  "runs list --before": async () => {
    await say("one", "two");
    await pages(10, "runs", "list", "main");
  },
  "agents inbox --before": async () => {
    await say("one", "two");
    await pages(10, "agents", "inbox", "main");
  },
  "engine audit --before": async () => {
    await json("people", "add", "ann");
    await json("people", "set", "ann", "--language", "de");
    await pages(10, "engine", "audit");
  },
  "backup add --keep": async () => {
    await say("hello");
    const first = await json("backup", "add");
    const second = await json("backup", "add", "--keep", "1");
    expect(second.file).not.toBe(first.file);
    expect(second.removed).toEqual([first.file]);
  },
  "channels add webhook --secret-env": async () => {
    const flags = ["--send-url", "http://127.0.0.1:9/answers", "--owner", "ann", "--secret-env", "DOOR"];
    const { code, err } = await runCommand(["channels", "add", "webhook", ...flags, "--home", home.dir], {
      env: { DOOR: "a secret that both sides know" },
    });
    expect([code, err]).toEqual([EXIT.ok, ""]);
    expect(readFileSync(join(home.dir, "rookery.json5"), "utf8")).toMatch(/env: ?"DOOR"/u);
  },
};

/** Flags that have no row yet, and what a row would need. */
const WITHOUT_ROW: Readonly<Record<string, string>> = {
  "channels add whatsapp --app-secret-file": "a server that answers as Meta's does",
  "channels add whatsapp --verify-token-env": "a server that answers as Meta's does",
  "people requests yes --as": "someone who waits to be let in",
  "models login --browser": "a provider whose login opens a browser",
  "setup --telegram-token-file": "a server that answers as Telegram's does",
  "skills install --ref": "a git repository with two versions of a skill",
};

it.each(Object.entries(EFFECTS))("%s has its effect", (_, effect) => effect(home));

it("has a row for each flag that no other test names", async () => {
  const tests = globSync(["src/**/*.test.ts", "test/**/*.ts"], { cwd: ROOT })
    .filter((file) => !file.endsWith("flag-effects.test.ts"))
    .map((file) => readFileSync(join(ROOT, file), "utf8"));
  const commands = await Promise.all(
    Object.entries(REGISTRY).map(async ([name, { load }]) => actionsOf(name, await load())),
  );
  const flags = commands
    .flat()
    .flatMap(([path, { options = {} }]) => Object.keys(options).map((flag) => [`${path} --${flag}`, flag] as const));
  expect(flags.length).toBeGreaterThan(200);
  const missing = flags.filter(([key, flag]) => {
    const named = new RegExp(`--${flag}(?![a-z-])`, "u");
    // manners.test.ts sets every flag of a job.
    if (key.startsWith("schedules add ")) return false;
    return !(key in EFFECTS) && !(key in WITHOUT_ROW) && !tests.some((text) => named.test(text));
  });
  expect(missing.map(([key]) => key)).toEqual([]);
  const known: readonly string[] = flags.map(([key]) => key);
  expect([...Object.keys(EFFECTS), ...Object.keys(WITHOUT_ROW)].filter((key) => !known.includes(key))).toEqual([]);
});
