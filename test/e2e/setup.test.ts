/** `rookery setup`: with flags, repeated, and with its questions in a real terminal. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { type AuthServer, PLANTED, startAuthServer } from "../../src/adapters/models/logins/auth-server.test-kit.ts";
import { runCommand } from "../../src/app/cli/cli.test-kit.ts";
import { KEYS, MAIN, TestTerminal } from "../kit/terminal.ts";
import { FakeTelegram } from "../telegram/fake-telegram.ts";
import { type FakeModel, fakeModel, writeServedConfig } from "./serving.ts";

const root = mkdtempSync(join(tmpdir(), "rookery-setup-"));
let model: FakeModel;
beforeAll(async () => {
  model = await fakeModel();
});
afterAll(async () => {
  await model.close();
  rmSync(root, { recursive: true, force: true });
});

const setup = (home: string, ...flags: string[]) =>
  runCommand(["setup", "--yes", "--home", home, ...flags], { env: { K: "k" } });
const user = (home: string): string => readFileSync(join(home, "workspace", "USER.md"), "utf8");

describe("setup with flags", () => {
  it("writes the answers of its flags, and changes only those when it is repeated", async () => {
    const home = join(root, "one");
    const all = [
      "--name",
      "Ann",
      "--tz",
      "Europe/Berlin",
      "--daily-limit",
      "5",
      "--briefing",
      "07:30",
      "--model",
      "offline",
    ];
    const first = await setup(home, ...all);
    expect(first).toMatchObject({ code: 0, out: expect.stringContaining("schedules remove") });
    expect(user(home)).toContain("- Call me: Ann\n- Time zone: Europe/Berlin\n");
    expect(existsSync(join(home, "workspace", "SOUL.md"))).toBe(true);
    writeFileSync(join(home, "workspace", "SOUL.md"), "my own");
    writeFileSync(join(home, "workspace", "USER.md"), `${user(home)}- Likes: tea\n`);
    await setup(home, ...all.with(1, "Bea").with(7, "08:15"));
    expect(user(home)).toContain("- Call me: Bea\n");
    expect(user(home)).toContain("- Likes: tea\n");
    expect(readFileSync(join(home, "workspace", "SOUL.md"), "utf8")).toBe("my own");
    const { out } = await runCommand(["schedules", "list", "--json", "--home", home]);
    const { items } = JSON.parse(out) as { items: { name: string; schedule: { expr: string; tz: string } }[] };
    expect(items).toMatchObject([{ name: "morning briefing", schedule: { expr: "15 8 * * *", tz: "Europe/Berlin" } }]);
    const { out: shown } = await runCommand(["config", "show", "--json", "--home", home]);
    expect(JSON.parse(shown)).toMatchObject({
      budgets: { day: { dollars: 5 } },
      session: { timeZone: "Europe/Berlin" },
    });
  });

  it("tests the model, keeps comments of the configuration, and says what to write by hand", async () => {
    const home = join(root, "two");
    writeServedConfig(home, model);
    const file = join(home, "rookery.json5");
    writeFileSync(file, `// mine {\n${readFileSync(file, "utf8")}`);
    const { out } = await setup(home, "--model", "local/other", "--daily-limit", "2");
    expect(out).toMatch(/local\/fake answers: tested, \d+ ms/u);
    expect(out).toContain('Your configuration has a section "models"');
    const text = readFileSync(file, "utf8");
    expect(text).toContain("// mine {");
    expect(text).toContain('budgets: {"day":{"dollars":2}}');
  });

  it("stores a key that is piped in for its owner only, and tests the model with it", async () => {
    const home = join(root, "key");
    writeServedConfig(home, model);
    const file = join(home, "rookery.json5");
    writeFileSync(file, readFileSync(file, "utf8").replace('"apiKey":{"env":"K"},', ""));
    const input = "sk-piped-in-0123456789\n";
    const { out, err } = await runCommand(["setup", "--yes", "--home", home, "--provider", "local"], { input });
    expect(out).toMatch(/local\/fake answers: tested, \d+ ms/u);
    expect(out + err).not.toContain("sk-piped-in");
    expect(statSync(join(home, "auth.json")).mode & 0o777).toBe(0o600);
    expect(model.keys.at(-1)).toBe("Bearer sk-piped-in-0123456789");
  });

  it("refuses a bad answer before it changes anything", async () => {
    const home = join(root, "three");
    mkdirSync(home);
    for (const flags of [
      ["--tz", "Mars/Base"],
      ["--daily-limit", "much"],
      ["--briefing", "25:00"],
      ["--channel", "pigeon"],
      ["--service", "maybe"],
    ]) {
      expect((await setup(home, ...flags)).code).toBe(2);
    }
    expect(existsSync(join(home, "workspace", "USER.md"))).toBe(false);
  });
});

describe("setup of a channel", () => {
  it("connects a Telegram bot with flags alone, once, however often it is repeated", async () => {
    const telegram = await new FakeTelegram().start();
    const home = join(root, "channel");
    const again = () =>
      runCommand(
        [
          ...["setup", "--yes", "--home", home, "--channel", "telegram", "--telegram-token-env", "BOT"],
          ...["--telegram-owner", "77", "--telegram-api-root", telegram.url],
        ],
        { env: { BOT: telegram.token } },
      );
    const first = await again();
    expect(first).toMatchObject({ code: 0, out: expect.stringContaining("telegram:77 is you") });
    const config = readFileSync(join(home, "rookery.json5"), "utf8");
    expect(config).toContain("telegram");
    const second = await again();
    expect(second).toMatchObject({ code: 0, out: expect.stringContaining("Telegram is connected already") });
    expect(readFileSync(join(home, "rookery.json5"), "utf8")).toBe(config);
    await telegram.close();
  });

  it("says what does not work yet, and keeps the rest", async () => {
    const telegram = await new FakeTelegram().start();
    const home = join(root, "refused");
    const { code, out, err } = await runCommand(
      [
        ...["setup", "--yes", "--home", home, "--name", "Ann", "--channel", "telegram", "--telegram-token-env", "BOT"],
        ...["--telegram-owner", "77", "--telegram-api-root", telegram.url],
      ],
      { env: { BOT: "1:wrong" } },
    );
    expect([code, err]).toEqual([1, expect.stringContaining("Telegram refuses the token")]);
    expect(out).toContain("The channel does not work yet");
    expect(user(home)).toContain("- Call me: Ann");
    await telegram.close();
  });
});

it("logs in with a flag, and keeps the rest if the person does not accept what the provider says", async () => {
  const home = join(root, "login");
  const { code, out, err } = await runCommand(
    ["setup", "--yes", "--home", home, "--name", "Ann", "--login", "openai-codex"],
    { input: "" },
  );
  expect([code, err]).toEqual([1, expect.stringContaining("OpenAI")]);
  expect(out).toContain("The login does not work yet");
  expect(user(home)).toContain("- Call me: Ann");
  expect(existsSync(join(home, "logins.json"))).toBe(false);
});

describe("a login that succeeds", () => {
  let server: AuthServer;
  beforeAll(async () => {
    server = await startAuthServer();
    vi.stubGlobal("fetch", server.redirected);
    // The library waits for five seconds between two polls.
    const real = globalThis.setTimeout;
    vi.stubGlobal("setTimeout", (callback: () => void, ms: number, ...rest: []) =>
      real(callback, ms === 5_000 ? 1 : ms, ...rest),
    );
  });
  afterAll(async () => {
    vi.unstubAllGlobals();
    await server.close();
  });

  it("stores its tokens for the owner only, and the model is tested with them", async () => {
    const home = join(root, "logged-in");
    mkdirSync(home);
    const xai = { baseUrl: `http://127.0.0.1:${model.port}/v1`, api: "openai-completions" };
    const models = { default: "xai/fake", providers: { xai } };
    writeFileSync(join(home, "rookery.json5"), JSON.stringify({ models }));
    server.polls = ["pending", "ok"];
    const flags = ["--login", "xai", "--accept-login", "--name", "Ann"];
    const { code, out, err } = await runCommand(["setup", "--yes", "--home", home, ...flags], { input: "" });
    expect([code, err]).toEqual([0, expect.stringContaining("enter the code ABCD-1234")]);
    expect(out).toMatch(/xai\/fake answers: tested, \d+ ms/u);
    expect(server.asked).toContain("POST auth.x.ai/oauth2/device/code");
    expect(model.keys.at(-1)).toMatch(new RegExp(`^Bearer ${PLANTED}-access`, "u"));
    expect(out + err).not.toContain(PLANTED);
    expect(statSync(join(home, "logins.json")).mode & 0o777).toBe(0o600);
    expect(user(home)).toContain("- Call me: Ann");
  });
});

it("installs the service with a flag, once, however often it is repeated", async () => {
  const [home, bin] = [join(root, "served"), join(root, "bin")];
  mkdirSync(bin);
  const calls = join(root, "systemctl.txt");
  writeFileSync(join(bin, "systemctl"), `#!/bin/sh\necho "$@" >> '${calls}'\n`, { mode: 0o755 });
  // The unit belongs to the person, whose directory is another one here.
  vi.stubEnv("PATH", `${bin}:${process.env.PATH}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const again = () => runCommand(["setup", "--yes", "--home", home, "--service", "yes"], { env: { HOME: root } });
  for (const { out } of [await again(), await again()]) {
    expect(out).toContain("engine remove");
    expect(out).toContain("Ready.");
  }
  expect(readFileSync(calls, "utf8")).toMatch(/--user enable --now rookery/u);
  const units = readdirSync(join(root, ".config", "systemd", "user"));
  expect(units).toHaveLength(1);
  expect(readFileSync(join(root, ".config", "systemd", "user", units[0] ?? ""), "utf8")).toContain(home);
});

it("asks its questions at a terminal, and a cancelled one changes nothing", async () => {
  const home = join(root, "four");
  const start = () =>
    new TestTerminal({ args: [MAIN, "setup", "--home", home], env: { PATH: process.env.PATH, HOME: root } });
  const cancelled = start();
  await cancelled.until("Which model answers?");
  cancelled.type(KEYS.ctrlC);
  expect(await cancelled.exited).toBe(2);
  expect(existsSync(join(home, "workspace", "USER.md"))).toBe(false);
  const terminal = start();
  await terminal.until("Which model answers?");
  // The list is longer than the screen: its end is above its beginning.
  terminal.type(KEYS.up);
  await terminal.until("a login: ");
  terminal.type(KEYS.down);
  terminal.type(KEYS.enter);
  await terminal.until("What shall it call you?");
  terminal.type(`Ann${KEYS.enter}`);
  await terminal.until("Your time zone?");
  terminal.type(KEYS.enter);
  await terminal.until("per day, in dollars?");
  terminal.type(KEYS.enter);
  await terminal.until("briefing every morning");
  terminal.type(KEYS.enter);
  await terminal.until("Talk to it from your phone?");
  terminal.type(KEYS.enter);
  await terminal.until("Keep it running in the background");
  terminal.type(KEYS.enter);
  await terminal.until("Ready.");
  expect(user(home)).toContain("- Call me: Ann");
  await terminal.close();
});
