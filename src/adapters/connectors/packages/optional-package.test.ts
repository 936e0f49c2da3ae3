/** Optional packages against a registry: what is pinned, what is never run, and what happens without a network or after a kill. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FakeRegistry, fakeRegistry } from "../../../../test/kit/fake-registry.ts";
import { cliHome, runCommand } from "../../../app/cli/cli.test-kit.ts";
import { neededPackages } from "../../../app/node/configured-connectors.ts";
import { configSchema } from "../../../config/config-schema.ts";
import type { ConnectorKindDefinition } from "../accounts/connector-kind.ts";
import { TELEGRAM } from "../telegram/telegram-kind.ts";
import { installPackage } from "./install-package.ts";
import { findPackage, loadPackage, packageDirectory } from "./load-package.ts";
import { lockOf, OPTIONAL_PACKAGES, type OptionalPackage } from "./optional-package.ts";

let registry: FakeRegistry;
let toy: OptionalPackage;
let home: string;
const cli = cliHome();

beforeAll(async () => {
  registry = await fakeRegistry();
  const part = registry.publish(
    { name: "toy-part", version: "2.0.0", type: "module", main: "index.js" },
    { "index.js": "export const part = 2;" },
  );
  const scripts = { preinstall: "touch ../../ran", postinstall: "touch ../../ran" };
  const dependencies = { "toy-part": "^2.0.0" };
  const whole = registry.publish(
    { name: "toy", version: "1.2.3", type: "module", main: "index.js", scripts, dependencies },
    { "index.js": 'import { part } from "toy-part"; export const answer = 40 + part;' },
  );
  const locked = {
    "node_modules/toy": { version: whole.version, integrity: whole.integrity, dependencies, hasInstallScript: true },
    "node_modules/toy-part": { version: part.version, integrity: part.integrity },
    "node_modules/other-platform": { version: "1.0.0", integrity: whole.integrity, optional: true, os: ["none"] },
  };
  toy = { name: "toy", version: "1.2.3", use: "The toy channel", megabytes: 1, locked };
  home = mkdtempSync(join(tmpdir(), "rookery-packages-"));
});

afterAll(async () => {
  await registry.close();
  rmSync(home, { recursive: true, force: true });
});

const down = (): Readonly<Record<string, string>> => ({
  ...registry.env,
  npm_config_registry: "http://127.0.0.1:1",
  npm_config_cache: join(home, "no-cache"),
});

describe("the lock of each optional package", () => {
  it.each(Object.values(OPTIONAL_PACKAGES))("pins $name with everything it needs, by version and integrity", (one) => {
    const locked = lockOf(one);
    expect(locked[`node_modules/${one.name}`]?.version).toBe(one.version);
    for (const [place, { version, integrity }] of Object.entries(locked)) {
      expect([place, version, integrity]).toEqual([
        expect.stringMatching(/^node_modules\//u),
        expect.stringMatching(/^\d+\.\d+\.\d+/u),
        expect.stringMatching(/^sha512-/u),
      ]);
    }
    expect(JSON.stringify(locked)).not.toMatch(/https?:|resolved/u);
  });
});

describe("an optional package", () => {
  it("is missing at first, and says how to install it", async () => {
    expect(findPackage(toy, { home, env: {} })).toBeUndefined();
    await expect(loadPackage(toy, { home, env: {} })).rejects.toThrow("The toy channel needs the package toy 1.2.3");
  });

  it("is not installed without a network; the command is named", async () => {
    const result = await installPackage(toy, { home, env: down() });
    expect(result).toMatchObject({ status: "no-network" });
    expect((result as { command: string }).command).toBe(
      `npm ci --ignore-scripts --prefix ${JSON.stringify(packageDirectory(home, toy))}`,
    );
  });

  it("is installed in its version, without running its scripts, and loads", async () => {
    expect(await installPackage(toy, { home, env: registry.env })).toEqual({ status: "installed" });
    expect((await loadPackage(toy, { home, env: {} })).answer).toBe(42);
    expect(existsSync(join(packageDirectory(home, toy), "ran"))).toBe(false);
  });

  it("is found in the directory of an image", async () => {
    const env = { ROOKERY_PACKAGES: join(home, "packages") };
    expect(findPackage(toy, { home: "/nowhere", env })).toBe(packageDirectory(home, toy));
  });

  it("counts as missing if a part of it is missing or has another version, and is installed again", async () => {
    const part = join(packageDirectory(home, toy), "node_modules", "toy-part", "package.json");
    writeFileSync(part, '{"version":"2.0.1"}');
    expect(findPackage(toy, { home, env: {} })).toBeUndefined();
    rmSync(part);
    expect(findPackage(toy, { home, env: {} })).toBeUndefined();
    expect(await installPackage(toy, { home, env: registry.env })).toEqual({ status: "installed" });
  });
});

describe("an install that was killed", () => {
  it("counts as missing although every manifest is there: npm had not finished", async () => {
    expect(findPackage(toy, { home, env: {} })).toBeDefined();
    rmSync(join(packageDirectory(home, toy), "node_modules", ".package-lock.json"));
    expect(findPackage(toy, { home, env: {} })).toBeUndefined();
    expect(await installPackage(toy, { home, env: registry.env })).toEqual({ status: "installed" });
  });
});

describe("the commands", () => {
  const kind = TELEGRAM as { needs?: OptionalPackage } & ConnectorKindDefinition;
  const config = { connectors: { telegram: { token: "x", apiRoot: "http://127.0.0.1:1" } } };
  const run = (env: Readonly<Record<string, string>>, ...argv: readonly string[]) =>
    runCommand([...argv, "--home", cli.dir], { env, input: "123456:token\n" });

  it("doctor, channels add and setup install what a channel needs after a yes, and else print the command", async () => {
    expect(neededPackages(configSchema.parse(config))).toEqual([]);
    kind.needs = toy;
    try {
      expect(neededPackages(configSchema.parse(config))).toEqual([toy]);
      writeFileSync(join(cli.dir, "rookery.json5"), JSON.stringify(config));
      const command = `npm ci --ignore-scripts --prefix`;
      const read = await run(registry.env, "doctor");
      expect([read.code, read.out]).toEqual([1, expect.stringContaining("needs the package toy 1.2.3")]);
      const unasked = await run(registry.env, "channels", "add", "telegram", "--owner", "1");
      expect([unasked.code, unasked.err]).toEqual([3, expect.stringContaining(`Install it with: ${command}`)]);
      const offline = await run(down(), "doctor", "--fix", "--yes");
      expect([offline.code, offline.out]).toEqual([1, expect.stringContaining(command)]);
      expect(findPackage(toy, { home: cli.dir, env: {} })).toBeUndefined();
      const fixed = await run(registry.env, "doctor", "--fix", "--yes");
      expect(fixed.out).toContain("Installed toy 1.2.3 for The toy channel.");
      expect(findPackage(toy, { home: cli.dir, env: {} })).toBeDefined();
      for (const argv of [
        ["channels", "add", "telegram", "--owner", "1", "--yes", "--api-root", "http://127.0.0.1:1"],
        ["setup", "--yes", "--model", "offline"],
      ]) {
        rmSync(join(cli.dir, "packages"), { recursive: true, force: true });
        await run(registry.env, ...argv);
        expect(findPackage(toy, { home: cli.dir, env: {} }), argv[0]).toBeDefined();
      }
    } finally {
      kind.needs = undefined;
    }
  });
});

describe("a package whose content is not the pinned one", () => {
  it("is refused, and nothing of it is loaded", async () => {
    registry.tamper();
    const other = mkdtempSync(join(tmpdir(), "rookery-packages-"));
    const env = { ...registry.env, npm_config_cache: join(other, "cache") };
    expect(await installPackage(toy, { home: other, env })).toMatchObject({
      status: "failed",
      reason: expect.stringContaining("EINTEGRITY"),
    });
    await expect(loadPackage(toy, { home: other, env: {} })).rejects.toThrow("is not installed");
    expect(existsSync(join(packageDirectory(other, toy), "node_modules"))).toBe(false);
    rmSync(other, { recursive: true, force: true });
  });
});
