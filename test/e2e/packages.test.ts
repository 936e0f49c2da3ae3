/** The one yes for an optional package, as a person gives it in a real terminal, with a registry that fails in every way. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { findPackage, packageDirectory } from "../../src/adapters/connectors/packages/load-package.ts";
import type { OptionalPackage } from "../../src/adapters/connectors/packages/optional-package.ts";
import { type FakeRegistry, fakeRegistry } from "../kit/fake-registry.ts";
import { KEYS, MAIN, TestTerminal } from "../kit/terminal.ts";

const NEEDS_TOY = fileURLToPath(new URL("./needs-toy.ts", import.meta.url));
const QUESTION = /Install toy 1\.2\.3 for The toy channel \(1 MB\) into/u;
const root = mkdtempSync(join(tmpdir(), "rookery-one-yes-"));
const terminals: TestTerminal[] = [];
let registry: FakeRegistry;
let toy: OptionalPackage;

beforeAll(async () => {
  registry = await fakeRegistry();
  const part = registry.publish({ name: "toy-part", version: "2.0.0" }, { "index.js": "module.exports = 2;" });
  const dependencies = { "toy-part": "2.0.0" };
  const scripts = { postinstall: "touch ../../ran" };
  const whole = registry.publish(
    { name: "toy", version: "1.2.3", scripts, dependencies },
    { "index.js": "module.exports = 1;" },
  );
  const locked = {
    "node_modules/toy": { version: "1.2.3", integrity: whole.integrity, dependencies, hasInstallScript: true },
    "node_modules/toy-part": { version: "2.0.0", integrity: part.integrity },
  };
  toy = { name: "toy", version: "1.2.3", use: "The toy channel", megabytes: 1, locked };
});
afterEach(async () => {
  registry.release();
  for (const terminal of terminals.splice(0)) await terminal.close();
});
afterAll(async () => {
  await registry.close();
  rmSync(root, { recursive: true, force: true });
});

/** A home whose configuration has the channel that needs the package. */
function homeOf(name: string): string {
  const home = join(root, name);
  mkdirSync(home);
  const telegram = { token: "1:x", apiRoot: "http://127.0.0.1:1" };
  writeFileSync(
    join(home, "rookery.json5"),
    JSON.stringify({ connectors: { telegram }, models: { default: "offline" } }),
  );
  return home;
}

/** npm keeps what it fetched: every home has a cache of its own. */
function start(home: string, argv: readonly string[], env: Readonly<Record<string, string>> = {}): TestTerminal {
  const given = {
    ...registry.env,
    npm_config_cache: join(home, "npm-cache"),
    TOY_PACKAGE: JSON.stringify(toy),
    ...env,
  };
  const args = ["--import", NEEDS_TOY, MAIN, ...argv, "--home", home];
  const terminal = new TestTerminal({ args, env: given, cols: 200 });
  terminals.push(terminal);
  return terminal;
}

const isInstalled = (home: string): boolean => findPackage(toy, { home, env: {} }) !== undefined;
const modulesOf = (home: string): string => join(packageDirectory(home, toy), "node_modules");
const commandOf = (home: string): string => `npm ci --ignore-scripts --prefix "${packageDirectory(home, toy)}"`;
const YES = `${KEYS.down}${KEYS.enter}`;
const CONNECT = ["channels", "add", "telegram", "--name", "second"];
const SETUP = [
  ...["setup", "--model", "offline", "--name", "Ann", "--tz", "Europe/Berlin", "--daily-limit", "0"],
  ...["--briefing", "none", "--channel", "none", "--service", "no"],
];

it("a no installs nothing and prints the command; the next time a yes installs it, and the command goes on", async () => {
  const home = homeOf("connect");
  const refused = start(home, CONNECT);
  await refused.until(QUESTION);
  // A letter answers nothing, and Enter alone means no.
  refused.type(`y${KEYS.enter}`);
  expect(await refused.exited).toBe(3);
  expect(refused.written).toContain("The toy channel needs the package toy 1.2.3: it is not installed.");
  expect(refused.written).toContain(`Install it with: ${commandOf(home)}`);
  expect(existsSync(modulesOf(home))).toBe(false);

  const accepted = start(home, CONNECT);
  await accepted.until(QUESTION);
  accepted.type(YES);
  await accepted.until("Token of the bot");
  expect(isInstalled(home)).toBe(true);
  expect(existsSync(join(modulesOf(home), "..", "ran"))).toBe(false);
  accepted.type(KEYS.ctrlC);
  await accepted.exited;

  // What is there is not asked for again.
  const again = start(home, CONNECT);
  await again.until("Token of the bot");
  expect(again.written).not.toMatch(QUESTION);
});

it("without a network, doctor prints the command", async () => {
  const home = homeOf("offline");
  const terminal = start(home, ["doctor", "--fix"], { npm_config_registry: "http://127.0.0.1:1" });
  await terminal.until(QUESTION);
  terminal.type(YES);
  expect(await terminal.exited).toBe(1);
  expect(terminal.written).toContain(`Install it with: ${commandOf(home)}`);
  expect(terminal.written).toContain("ECONNREFUSED");
  expect(existsSync(modulesOf(home))).toBe(false);
});

it("setup that is killed during the install asks again, installs all of it, and goes on", async () => {
  const home = homeOf("killed");
  const asked = registry.hold("toy");
  const killed = start(home, SETUP);
  await killed.until(QUESTION);
  killed.type(YES);
  await asked;
  killed.pty.kill("SIGKILL");
  await killed.exited;
  registry.release();
  expect(isInstalled(home)).toBe(false);

  const again = start(home, SETUP);
  await again.until(QUESTION);
  again.type(YES);
  await again.until("Ready.");
  expect(isInstalled(home)).toBe(true);
});

it("a package whose content is not the pinned one is refused, and nothing of it stays", async () => {
  const home = homeOf("tampered");
  registry.tamper();
  const terminal = start(home, ["doctor", "--fix"]);
  await terminal.until(QUESTION);
  terminal.type(YES);
  expect(await terminal.exited).toBe(1);
  expect(terminal.written).toContain("EINTEGRITY");
  expect(isInstalled(home)).toBe(false);
  expect(readdirSync(packageDirectory(home, toy)).sort()).toEqual(["package-lock.json", "package.json"]);
});
