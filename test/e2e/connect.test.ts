/** `rookery connect telegram`: by flags, with what can be wrong, and as a person does it in a real terminal. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../../src/app/cli/cli.test-kit.ts";
import { serve } from "../../src/app/library/serve.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { homePaths } from "../../src/config/paths.ts";
import { KEYS, MAIN, TestTerminal } from "../kit/terminal.ts";
import { FakeTelegram } from "../telegram/fake-telegram.ts";

const root = mkdtempSync(join(tmpdir(), "rookery-connect-"));
let fake: FakeTelegram;

beforeAll(async () => {
  fake = await new FakeTelegram().start();
});
afterAll(async () => {
  await fake.close();
  rmSync(root, { recursive: true, force: true });
});

const connect = (home: string, token: string, ...flags: readonly string[]) =>
  runCommand(
    ["connect", "telegram", "--home", join(root, home), "--api-root", fake.url, "--token-env", "BOT", ...flags],
    { env: { BOT: token } },
  );

describe("connect telegram by flags", () => {
  it("tests the token, links the owner and adds the bot", async () => {
    const { code, out, err } = await connect("flags", fake.token, "--owner", "77", "--name", "work");
    expect([code, err, out]).toEqual([0, "", expect.stringContaining("The token is valid: @rook_bot")]);
    expect(out).toContain("telegram:77 is you");
    const { config } = await loadConfig(homePaths(join(root, "flags")), { BOT: fake.token });
    expect(config.connectors.work).toMatchObject({ kind: "telegram", apiRoot: fake.url, enabled: true });
    const shown = await runCommand(["connectors", "--home", join(root, "flags")], { env: { BOT: fake.token } });
    expect(shown.out).toMatch(/telegram\s+work\s+off/u);
  });

  it.each([
    ["a wrong token", "1:wrong", ["--owner", "7"], "Telegram refuses the token"],
    ["an owner that is no number", "", ["--owner", "@ann"], "The owner's id is a number"],
    ["a name that cannot be used", "", ["--owner", "7", "--name", "default"], "cannot be the name of an entry"],
  ] as const)("says what is wrong with %s, and changes nothing", async (what, token, flags, expected) => {
    const { code, err } = await connect(what, token || fake.token, ...flags);
    expect([code > 0, err]).toEqual([true, expect.stringContaining(expected)]);
    expect(existsSync(join(root, what, "rookery.json5"))).toBe(false);
  });

  it("says that another program receives the messages, and what to do", async () => {
    const description = "Conflict: terminated by other getUpdates request";
    fake.fail("getUpdates", { answer: { code: 409, description } });
    const { err } = await connect("conflict", fake.token);
    expect(err).toContain("Another program receives the messages of this bot.");
    expect(err).toContain("--owner");
  });
});

describe("connect telegram in a terminal", () => {
  it("asks for the token, finds the owner by a code, and the first message is answered", async () => {
    const home = join(root, "wizard");
    const args = [MAIN, "connect", "telegram", "--home", home, "--api-root", fake.url];
    const terminal = new TestTerminal({ args, cols: 120 });
    await terminal.until("Token of the bot");
    terminal.type(`${fake.token}${KEYS.enter}`);
    const asked = await terminal.until(/start=[0-9a-f]{10}/u);
    expect(asked).not.toContain(fake.token);
    const code = /start=([0-9a-f]{10})/u.exec(asked)?.[1] ?? "";
    // Someone else writes too; only who has the code is the owner.
    fake.say(66, "hello?");
    fake.say(7, `/start ${code}`);
    await terminal.until("telegram:7 is you");
    expect(await terminal.exited).toBe(0);
    expect(readFileSync(join(home, "rookery.json5"), "utf8")).not.toContain(fake.token);
    // No update was confirmed: the engine gets them all.
    expect(fake.pending).toBe(2);
    const paths = homePaths(home);
    const { config } = await loadConfig(paths, {});
    const serving = await serve({
      ...{ paths, config, env: {}, port: 0, errors: { write: () => true } },
      onFatal: (error: unknown) => {
        throw error;
      },
    });
    fake.say(7, "is it you?");
    await fake.until(() => fake.textsTo(7).some((text) => text.includes("is it you?")), 30_000);
    await fake.until(() => fake.textsTo(66).some((text) => text.includes("I do not know you yet")), 30_000);
    await serving.close();
  });
});
