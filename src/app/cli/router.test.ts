import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tries } from "../../../test/kit/share.ts";
import {
  ConfigError,
  HomeLockedError,
  NotFoundError,
  StoreFullError,
  StoreUnreadableError,
  UsageError,
} from "../../core/errors.ts";
import { actionsOf } from "./choose-action.ts";
import { type CommandResult, cliHome, type RunOptions, runCommand } from "./cli.test-kit.ts";
import { type CommandContext, defineAction } from "./command.ts";
import { EXIT } from "./exit-code.ts";
import { OTHER_NAMES } from "./other-names.ts";
import { REGISTRY, type Registry } from "./registry.ts";

const run = (argv: readonly string[], { piped = false, ...around }: RunOptions & { piped?: boolean } = {}) =>
  runCommand(argv, { ...around, input: piped ? "" : undefined });

const fails = (error: unknown): Registry[string] => ({
  summary: "fails",
  load: async () =>
    defineAction({
      summary: "fails",
      run: () => {
        throw error;
      },
    }),
});

describe("the router", () => {
  it.each([[["help"]], [["--help"]], [["-h"]]])("shows the commands for %j", async (argv) => {
    const { code, out } = await run(argv);
    expect(code).toBe(EXIT.ok);
    expect(out).toContain("usage: rookery <command>");
    for (const name of Object.keys(REGISTRY)) expect(out).toContain(`  ${name} `);
  });

  it.each([[["--version"]], [["-V"]], [["-hV"]], [["config", "--version"]]])(
    "shows the version for %j",
    async (argv) => {
      const { version } = JSON.parse(readFileSync("package.json", "utf8"));
      expect(await run(argv)).toEqual({ code: EXIT.ok, out: `${version}\n`, err: "" });
    },
  );

  it("has help for every command and every action, by name and by flag", async () => {
    for (const [name, { load }] of Object.entries(REGISTRY)) {
      const command = await load();
      const byName = await run(["help", name]);
      expect(byName).toEqual(await run([name, "--help"]));
      expect(byName.code).toBe(EXIT.ok);
      expect(byName.out).toContain(`usage: rookery ${name}`);
      for (const [path] of actionsOf(name, command)) {
        const help = await run(["help", ...path.split(" ")]);
        expect(help).toEqual(await run([...path.split(" "), "--help"]));
        expect(help.out).toContain(`usage: rookery ${path}`);
      }
    }
  });

  it("describes a group for --help, even with flags of its fallback", async () => {
    expect((await run(["people", "tokens", "--help"])).out).toContain("usage: rookery people tokens <action>");
    expect((await run(["usage", "--by", "model", "--help"])).out).toContain("usage: rookery usage <action>");
  });

  it("has at most 24 commands", () => {
    expect(Object.keys(REGISTRY).length).toBeLessThanOrEqual(24);
  });

  it("shows the commands on one screen of 80 x 24, and says where the rest is", async () => {
    const lines = (await run(["help"])).out.trimEnd().split("\n");
    // The last line is for the prompt.
    expect(lines.length).toBeLessThanOrEqual(23);
    for (const line of lines) expect([...line].length, line).toBeLessThanOrEqual(80);
    expect(lines.at(-1)).toMatch(/rookery help --all$/);
  });

  it("lists every action with help --all", async () => {
    const { out } = await run(["help", "--all"]);
    for (const [name, { load }] of Object.entries(REGISTRY))
      for (const [path] of actionsOf(name, await load())) expect(out).toMatch(new RegExp(`^  ${path} `, "m"));
    expect(out).toContain("--store URL");
    for (const line of out.split("\n")) expect([...line].length, line).toBeLessThanOrEqual(80);
  });

  it("has the same summary of a command in the registry and in its file", async () => {
    for (const { summary, load } of Object.values(REGISTRY)) expect((await load()).summary).toBe(summary);
  });

  it.each([
    [["confg"], 'Unknown command "confg"', 'Did you mean "config"?'],
    [["xyzzy"], 'Unknown command "xyzzy"', "Run `rookery help`"],
    [["__proto__"], 'Unknown command "__proto__"', "Run `rookery help`"],
    [["config", "chek"], 'Unknown action "chek" of config', 'Did you mean "check"?'],
    [["config", "toString"], 'Unknown action "toString"', "`rookery help config`"],
    [["config", "paths", "--jsno"], "Unknown flag --jsno", "Did you mean --json?"],
    [["config", "paths", "-x"], "Unknown flag -x", "--help"],
    [["config", "paths", "--home"], "--home needs a value", "--home DIR"],
    [["config", "paths", "--home", "--json"], "--home needs a value", "--home DIR"],
    [["config", "paths", "--json=yes"], "--json takes no value", ""],
    [["config", "paths", "extra"], 'does not take the argument "extra"', "Usage: rookery config paths"],
    [["help", "confg"], 'Unknown command "confg"', 'Did you mean "config"?'],
    [["help", "config", "chek"], 'Unknown action "chek" of config', 'Did you mean "check"?'],
    [["people", "tokens", "lst"], 'Unknown action "lst" of people tokens', 'Did you mean "list"?'],
  ])("refuses %j and suggests what was meant", async (argv, message, hint) => {
    const { code, out, err } = await run(argv);
    expect(code).toBe(EXIT.usage);
    expect(out).toBe("");
    expect(err).toContain(message);
    expect(err).toContain(hint);
  });

  it.each(Object.entries(OTHER_NAMES))("suggests for rookery %s what it is called here: %s", async (name, here) => {
    const { code, err } = await run([name]);
    expect(code).toBe(EXIT.usage);
    expect(err).toContain(`Did you mean "${here}"?`);
    expect((await run([...here.split(" "), "--help"])).code).toBe(EXIT.ok);
  });

  it.each([
    [["conect", "telegram"], "channels add"],
    [["agents", "create"], "add"],
    [["people", "tokens", "mint"], "add"],
    [["people", "requests", "approve"], "yes"],
    [["models", "keys", "set"], "add"],
    [["schedules", "delete"], "remove"],
  ])("suggests for %j the word that is used here: %s", async (argv, here) => {
    expect((await run(argv)).err).toContain(`Did you mean "${here}"?`);
  });

  it.each([
    [new UsageError("m"), EXIT.usage],
    [new ConfigError("m"), EXIT.configuration],
    [new HomeLockedError("m"), EXIT.store],
    [new StoreUnreadableError("m"), EXIT.store],
    [new StoreFullError("m"), EXIT.store],
    [new NotFoundError("m"), EXIT.failure],
    [new TypeError("m"), EXIT.failure],
    ["a text", EXIT.failure],
  ])("exits with the code of %o", async (error, code) => {
    expect((await run(["it"], { registry: { it: fails(error) } })).code).toBe(code);
  });

  it("prints message and hint, and a stack only for ROOKERY_DEBUG", async () => {
    const registry = { it: fails(new ConfigError("It is wrong.", { hint: "Make it right." })) };
    expect((await run(["it"], { registry })).err).toBe("rookery: It is wrong.\n  Make it right.\n");
    expect((await run(["it"], { registry, env: { ROOKERY_DEBUG: "1" } })).err).toContain("router.test.ts");
  });

  it("prints errors as JSON", async () => {
    const registry = { it: fails(new HomeLockedError("Taken.", { hint: "Wait." })) };
    const { out, err } = await run(["it", "--json"], { registry });
    expect(out).toBe("");
    expect(JSON.parse(err)).toEqual({
      error: { code: "home_locked", message: "Taken.", hint: "Wait.", retryable: true },
    });
  });

  it("passes a command its arguments, typed flags and home, wherever the flags are written", async () => {
    let seen: CommandContext | undefined;
    const registry: Registry = {
      say: {
        summary: "says",
        load: async () =>
          defineAction({
            summary: "says",
            arguments: { min: 1, max: 2 },
            options: {
              to: { type: "string", short: "t", description: "the recipient" },
              loud: { type: "boolean", description: "loudly" },
              tag: { type: "string", multiple: true, description: "tags" },
            },
            run(context) {
              const typed: readonly [string | undefined, boolean | undefined, readonly string[] | undefined] = [
                context.flags.to,
                context.flags.loud,
                context.flags.tag,
              ];
              expect(typed).toEqual(["me", true, ["a", "b"]]);
              seen = context;
              return 7;
            },
          }),
      },
    };
    const argv = [
      "--home",
      "/h",
      "say",
      "--loud",
      "hi",
      "-t",
      "me",
      "--tag",
      "a",
      "--tag=b",
      "--json",
      "--",
      "--there",
    ];
    expect((await run(argv, { registry })).code).toBe(7);
    expect(seen).toMatchObject({
      args: ["hi", "--there"],
      json: true,
      home: "/h",
      paths: { database: "/h/rookery.db" },
    });
    expect((await run(["say"], { registry })).err).toContain("needs more arguments");
  });

  it.each([
    [true, "send"],
    [false, "chat"],
  ])("without arguments (piped: %s) starts %s if it is registered", async (piped, name) => {
    const { send: _send, chat: _chat, ...others } = REGISTRY;
    const registry: Registry = {
      ...others,
      [name]: {
        summary: "talks",
        load: async () =>
          defineAction({
            summary: "talks",
            run({ stdout }) {
              stdout.write(name);
              return undefined;
            },
          }),
      },
    };
    expect((await run([], { registry, piped })).out).toBe(name);
    expect((await run([], { registry, piped: !piped })).out).toContain("usage:");
  });

  it("returns an exit code for any arguments and never throws", async () => {
    const word = fc.oneof(
      fc.constantFrom("help", "config", "paths", "--json", "--help", "--", "-", "--home", "/nowhere", "-hV"),
      fc.string({ maxLength: 6 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 5 }), async (argv) => {
        // `config init` would write into the home that the arguments name.
        fc.pre(!argv.includes("init"));
        const { code } = await run(argv);
        expect([EXIT.ok, EXIT.usage]).toContain(code);
      }),
      { numRuns: tries(300), examples: [[["help", "-hV", "--json"]]] },
    );
  });
});

describe("rookery config", () => {
  const home = cliHome();
  const file = (): string => join(home.dir, "rookery.json5");
  const config = (...argv: readonly string[]): Promise<CommandResult> => home.run("config", ...argv);

  it("init writes a valid file that only its owner can read", async () => {
    expect(await config("init")).toMatchObject({ code: EXIT.ok, out: `Wrote ${file()}\n` });
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(await config("check")).toEqual({ code: EXIT.ok, out: `${file()} is valid.\n`, err: "" });
  });

  it("init never changes an existing file", async () => {
    writeFileSync(file(), "{ mine: true }");
    const { code, err } = await config("init");
    expect(code).toBe(EXIT.configuration);
    expect(err).toContain("already exists and was not changed");
    expect(readFileSync(file(), "utf8")).toBe("{ mine: true }");
  });

  it("init fails with a typed error if the home cannot be created", async () => {
    writeFileSync(join(home.dir, "taken"), "");
    const { code, err } = await run(["config", "init", "--home", join(home.dir, "taken")]);
    expect(code).toBe(EXIT.configuration);
    expect(err).toContain("cannot be created");
  });

  it("init fails with a typed error if the file cannot be written", async () => {
    // This fails for root too: the directories fit into the longest possible path, the file does not.
    const length = 4_084;
    let deep = home.dir;
    while (deep.length < length) deep = join(deep, "d".repeat(Math.min(200, Math.max(1, length - deep.length - 1))));
    const { code, err } = await run(["config", "init", "--home", deep]);
    expect(err).toContain("cannot be written");
    expect(code).toBe(EXIT.configuration);
  });

  it("check lists every error and warning, as text and as JSON", async () => {
    writeFileSync(file(), "{\n  gatway: {},\n  log: { level: 3 },\n}");
    const checked = await config("check");
    expect(checked.code).toBe(EXIT.configuration);
    expect(checked.out).toContain(`error: ${file()}:3:17: log.level: expected one of`);
    expect(checked.out).toContain(`warning: ${file()}:2:3: gatway: unknown key`);
    const { out, code } = await config("check", "--json");
    expect(code).toBe(EXIT.configuration);
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      exists: true,
      errors: [{ line: 3, column: 17, key: "log.level" }],
      warnings: [{ line: 2, column: 3, key: "gatway" }],
    });
  });

  it("show prints every default and masks secrets", async () => {
    writeFileSync(file(), `{ store: { url: "postgres://me:pw@db" } }`);
    const { code, out, err } = await config("show");
    expect(code).toBe(EXIT.ok);
    expect(JSON.parse(out)).toMatchObject({ gateway: { port: 7717 }, store: { synchronous: "full", url: "***" } });
    expect(err).toContain("rookery: warning: ");
    expect(out + err).not.toContain("pw@db");
  });

  it("show exits with 3 if the configuration has errors", async () => {
    writeFileSync(file(), "{ gateway: ");
    expect(await config("show")).toMatchObject({ code: EXIT.configuration, out: "" });
  });
});

describe("rookery config paths", () => {
  it("lists the paths, as text and as JSON", async () => {
    expect((await run(["config", "paths", "--home", "/h"])).out).toContain("/h/rookery.db  (does not exist yet)");
    expect(JSON.parse((await run(["config", "paths", "--home", "/h", "--json"])).out)).toMatchObject({
      agents: "/h/agents",
    });
  });
});
