/** `rookery channels add`: by flags, with what can be wrong, and as a person does it in a real terminal. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CommandResult, runCommand } from "../../src/app/cli/cli.test-kit.ts";
import { printsDocumentsOf } from "../../src/app/cli/command-document.test-kit.ts";
import { EXIT } from "../../src/app/cli/exit-code.ts";
import { serve } from "../../src/app/library/serve.ts";
import { loadConfig, secretDeps } from "../../src/config/load-config.ts";
import { homePaths } from "../../src/config/paths.ts";
import { KEYS, MAIN, TestTerminal } from "../kit/terminal.ts";
import { FakeTelegram } from "../telegram/fake-telegram.ts";
import { FakeWhatsapp } from "../whatsapp/fake-whatsapp.ts";
import { fakePackages } from "../whatsapp-web/fake-package.ts";

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
    ["channels", "add", "telegram", "--home", join(root, home), "--api-root", fake.url, "--token-env", "BOT", ...flags],
    { env: { BOT: token } },
  );

/** The document of a command that succeeds. The steps go to the other stream. */
function documentOf({ code, out, err }: CommandResult): Record<string, unknown> {
  expect([code, err]).toEqual([EXIT.ok, expect.stringContaining("Added connectors.")]);
  return JSON.parse(out);
}

/** The exit code and the error document of a command that fails. */
const failureOf = ({ code, out, err }: CommandResult) => [code, out, JSON.parse(err.trim().split("\n").at(-1) ?? "")];

describe("channels add telegram by flags", () => {
  it("tests the token, links the owner and adds the bot", async () => {
    const { code, out, err } = await connect("flags", fake.token, "--owner", "77", "--name", "work");
    expect([code, err, out]).toEqual([0, "", expect.stringContaining("The token is valid: @rook_bot")]);
    expect(out).toContain("telegram:77 is you");
    const { config } = await loadConfig(homePaths(join(root, "flags")), { BOT: fake.token });
    expect(config.connectors.work).toMatchObject({ kind: "telegram", apiRoot: fake.url, enabled: true });
    const shown = await runCommand(["channels", "list", "--home", join(root, "flags")], { env: { BOT: fake.token } });
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

  it("prints one document with --json, even for a failure", async () => {
    const done = await connect("telegram json", fake.token, "--owner", "77", "--json");
    expect(documentOf(done)).toMatchObject({
      ...{ name: "telegram", owner: "telegram:77" },
      state: expect.stringContaining("rookery serve"),
    });
    const failed = await connect("telegram json", "1:wrong", "--owner", "77", "--name", "other", "--json");
    expect(failureOf(failed)).toMatchObject([EXIT.configuration, "", { error: { code: "config" } }]);
  });

  it("says that another program receives the messages, and what to do", async () => {
    const description = "Conflict: terminated by other getUpdates request";
    fake.fail("getUpdates", { answer: { code: 409, description } });
    const { err } = await connect("conflict", fake.token);
    expect(err).toContain("Another program receives the messages of this bot.");
    expect(err).toContain("--owner");
  });
});

describe("channels add telegram in a terminal", () => {
  it("asks for the token, finds the owner by a code, and the first message is answered", async () => {
    const home = join(root, "wizard");
    const args = [MAIN, "channels", "add", "telegram", "--home", home, "--api-root", fake.url];
    const terminal = new TestTerminal({ args, cols: 200 });
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
    await fake.until(() => fake.textsTo(7).some((text) => text.includes("is it you?")));
    await fake.until(() => fake.textsTo(66).some((text) => text.includes("I do not know you yet")));
    await serving.close();
  });
});

describe("channels add whatsapp", () => {
  let graph: FakeWhatsapp;
  beforeAll(async () => {
    graph = await new FakeWhatsapp().start();
  });
  afterAll(() => graph.close());

  const byFlags = (home: string, token: string, ...flags: readonly string[]) =>
    runCommand(
      [
        ...["channels", "add", "whatsapp", "--home", join(root, home), "--api-root", graph.url],
        ...["--phone-number-id", graph.number, "--token-env", "TOKEN", "--app-secret-env", "APP", ...flags],
      ],
      { env: { TOKEN: token, APP: graph.appSecret } },
    );

  it("tests the token, adds the number, links the owner and says what to enter at Meta", async () => {
    const { code, out, err } = await byFlags("number", graph.token, "--owner", "+49 170 1234", "--template", "news");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("The token is valid: +1 555-000-1111 (Rook)");
    expect(out).toContain("whatsapp:491701234 is you");
    expect(out).toContain("/channels/whatsapp");
    const verifyToken = /Verify token: (\S+)/u.exec(out)?.[1] ?? "";
    expect(readFileSync(join(root, "number", "secrets/whatsapp.verify-token"), "utf8").trim()).toBe(verifyToken);
    const { config } = await loadConfig(homePaths(join(root, "number")), { TOKEN: graph.token, APP: "x" });
    expect(config.connectors.whatsapp).toMatchObject({
      phoneNumberId: graph.number,
      template: { name: "news", language: "en_US" },
    });
  });

  it.each([
    ["a wrong token", "wrong", ["--owner", "4917012"], "WhatsApp refuses the token or the number"],
    ["an owner that is no number", "", ["--owner", "ann"], "The owner's number has digits only"],
  ] as const)("says what is wrong with %s, and changes nothing", async (what, token, flags, expected) => {
    const { code, err } = await byFlags(`wa ${what}`, token || graph.token, ...flags);
    expect([code > 0, err]).toEqual([true, expect.stringContaining(expected)]);
    expect(existsSync(join(root, `wa ${what}`, "rookery.json5"))).toBe(false);
  });

  it("prints one document with --json, even for a failure", async () => {
    const done = await byFlags("whatsapp json", graph.token, "--owner", "+49 170 1234", "--json");
    expect(documentOf(done)).toMatchObject({
      ...{ name: "whatsapp", owner: "whatsapp:491701234" },
      ...{ address: expect.stringContaining("/channels/whatsapp"), secret: expect.any(String) },
    });
    const failed = await byFlags("whatsapp json", "wrong", "--owner", "491701", "--name", "other", "--json");
    expect(failureOf(failed)).toMatchObject([EXIT.configuration, "", { error: { code: "config" } }]);
  });

  it("asks in a terminal, and shows no secret", async () => {
    const home = join(root, "wa wizard");
    const args = [MAIN, "channels", "add", "whatsapp", "--home", home, "--api-root", graph.url];
    const terminal = new TestTerminal({ args, cols: 120 });
    await terminal.until("Phone number id");
    terminal.type(`${graph.number}${KEYS.enter}`);
    await terminal.until("Access token");
    terminal.type(`${graph.token}${KEYS.enter}`);
    await terminal.until("App secret");
    terminal.type(`${graph.appSecret}${KEYS.enter}`);
    await terminal.until("Your own phone number");
    terminal.type(`+49 170 1234${KEYS.enter}`);
    const screen = await terminal.until("Start the engine");
    expect(await terminal.exited).toBe(0);
    expect(screen).not.toContain(graph.token);
    expect(readFileSync(join(home, "rookery.json5"), "utf8")).not.toContain(graph.token);
    expect(readFileSync(join(home, "secrets/whatsapp.token"), "utf8").trim()).toBe(graph.token);
  });
});

describe("channels add webhook", () => {
  const byFlags = (home: string, ...flags: readonly string[]) =>
    runCommand(["channels", "add", "webhook", "--home", join(root, home), ...flags], { env: {} });

  it("makes a secret, adds the entry and says where messages are posted", async () => {
    const flags = ["--send-url", "http://127.0.0.1:9/answers", "--name", "door", "--owner", "ann"];
    const { code, out, err } = await byFlags("hook", ...flags);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("/channels/door");
    expect(out).toContain("webhook:ann is you");
    const secret = /The secret of both sides: (\S+)/u.exec(out)?.[1];
    expect(readFileSync(join(root, "hook", "secrets/door.secret"), "utf8").trim()).toBe(secret);
    const { config } = await loadConfig(homePaths(join(root, "hook")), {});
    expect(config.connectors.door).toMatchObject({ kind: "webhook", sendUrl: "http://127.0.0.1:9/answers" });
  });

  it("keeps the secret in the home, so that a backup restored elsewhere has it and asks nothing", async () => {
    const out = (await byFlags("moving", "--send-url", "http://127.0.0.1:9/answers")).out;
    const secret = /The secret of both sides: (\S+)/u.exec(out)?.[1];
    const archive = join(root, "moving.tar.gz");
    await runCommand(["send", "hello", "--home", join(root, "moving")], { env: {} });
    const made = await runCommand(["backup", "add", archive, "--home", join(root, "moving")], { env: {} });
    const moved = await runCommand(["backup", "restore", archive, "--home", join(root, "moved"), "--trust-files"], {
      env: {},
    });
    expect([made.code, moved.code, moved.err]).toEqual([0, 0, ""]);
    rmSync(join(root, "moving"), { recursive: true });
    const { config } = await loadConfig(homePaths(join(root, "moved")), {});
    const kept = config.connectors.webhook?.webhook?.secret;
    expect(kept?.reveal(secretDeps(join(root, "moved"), {}))).toBe(secret);
  });

  it("prints one document with --json, even for a failure", async () => {
    const flags = ["--send-url", "http://127.0.0.1:9/answers", "--json"];
    const done = documentOf(await byFlags("webhook json", ...flags, "--owner", "ann"));
    expect(done).toMatchObject({ name: "webhook", owner: "webhook:ann", secret: expect.any(String) });
    const failed = await byFlags("webhook json", ...flags);
    expect(failureOf(failed)).toMatchObject([EXIT.configuration, "", { error: { code: "config" } }]);
  });

  it("says what is wrong with an address, and changes nothing", async () => {
    const { code, err } = await byFlags("no hook", "--send-url", "ftp://x");
    expect([code > 0, err]).toEqual([true, expect.stringContaining('"ftp://x" is not an address.')]);
    expect(existsSync(join(root, "no hook", "rookery.json5"))).toBe(false);
  });

  it("asks in a terminal for the address, makes the secret, and takes no wrong one", async () => {
    const home = join(root, "hook wizard");
    const args = [MAIN, "channels", "add", "webhook", "--home", home, "--owner", "ann"];
    const terminal = new TestTerminal({ args, cols: 200 });
    await terminal.until("Address that gets the answers");
    terminal.type(`http://127.0.0.1:9/answers${KEYS.enter}`);
    const screen = await terminal.until("Start the engine");
    expect(await terminal.exited).toBe(0);
    expect(screen).toContain("webhook:ann is you");
    const secret = readFileSync(join(home, "secrets/webhook.secret"), "utf8").trim();
    expect(screen).toContain(`The secret of both sides: ${secret}`);
    expect(readFileSync(join(home, "rookery.json5"), "utf8")).not.toContain(secret);
    const again = new TestTerminal({ args: [...args, "--name", "other"], cols: 120 });
    await again.until("Address that gets the answers");
    again.type(`nowhere${KEYS.enter}`);
    await again.until('"nowhere" is not an address.');
    expect(await again.exited).toBe(2);
  });
});

describe("channels add whatsapp-web by flags", () => {
  let packages: string;
  beforeAll(() => {
    packages = fakePackages(new URL("../whatsapp-web/scripted-baileys.mjs", import.meta.url));
  });
  afterAll(() => rmSync(packages, { recursive: true, force: true }));
  const byFlags = (home: string, env: Record<string, string>, ...flags: readonly string[]) =>
    runCommand(["channels", "add", "whatsapp-web", "--home", join(root, home), ...flags], { env, input: "" });

  it("adds the phone, links the owner, and says how the code is shown", async () => {
    const flags = ["--owner", "+49 (170) 12-34.567", "--phone", "+49 170 7654321"];
    const { code, out, err } = await byFlags("web", { ROOKERY_PACKAGES: packages }, ...flags);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("whatsapp-web:491701234567 is you");
    expect(out).toMatch(/`rookery channels list --home \S+` then shows the code/);
    const { config } = await loadConfig(homePaths(join(root, "web")), {});
    expect(config.connectors["whatsapp-web"]).toMatchObject({ pairPhone: "491707654321", enabled: true });
    const more = await byFlags("web", { ROOKERY_PACKAGES: packages }, ...flags);
    expect(more.err).toContain("has connectors.whatsapp-web already");
    const second = await byFlags("web", { ROOKERY_PACKAGES: packages }, "--owner", "491701", "--name", "my.phone-2");
    expect([second.code, second.err]).toEqual([0, ""]);
    const both = await loadConfig(homePaths(join(root, "web")), {});
    expect(both.config.connectors["my.phone-2"]?.kind).toBe("whatsapp-web");
  });

  it("prints one document with --json, even for a failure", async () => {
    const done = await byFlags("web json", { ROOKERY_PACKAGES: packages }, "--owner", "491701234567", "--json");
    expect(documentOf(done)).toMatchObject({
      ...{ name: "whatsapp-web", file: homePaths(join(root, "web json")).config },
      ...{ owner: "whatsapp-web:491701234567", state: expect.stringContaining("shows the code") },
    });
    const failed = await byFlags("web json", {}, "--owner", "ann", "--name", "other", "--json");
    expect(failureOf(failed)).toMatchObject([EXIT.usage, "", { error: { code: "usage" } }]);
  });

  it.each([
    ["an owner that is no number", ["--owner", "ann"], "The owner's number has digits only"],
    ["a phone that is no number", ["--owner", "491701", "--phone", "mine"], "The phone's number has digits only"],
    ["no owner", [], "--owner is missing"],
    ["a package that is not installed", ["--owner", "491701"], "WhatsApp Web needs the package baileys 7.0.0-rc14"],
  ] as const)("says what is wrong with %s, and changes nothing", async (what, flags, expected) => {
    const { code, err } = await byFlags(`web ${what}`, {}, ...flags);
    expect([code > 0, err]).toEqual([true, expect.stringContaining(expected)]);
    expect(existsSync(join(root, `web ${what}`, "rookery.json5"))).toBe(false);
  });
});

printsDocumentsOf(
  "channels add telegram",
  "channels add whatsapp",
  "channels add whatsapp-web",
  "channels add webhook",
);
