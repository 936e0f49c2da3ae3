/** A clean install works on every platform, and its output has only warnings that a reader can act on. */
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FakeRegistry, fakeRegistry } from "../test/kit/fake-registry.ts";
import { checkEngines, completeLock, completePackages, platformEntry } from "./complete-lock.ts";

const ROOT = join(import.meta.dirname, "..");
const readJson = (...path: readonly string[]) => JSON.parse(readFileSync(join(...path), "utf8"));

describe("platformEntry", () => {
  it("reads cpu, os and libc from the name of a package", () => {
    expect(platformEntry("@x/cli-linux-arm64-musl", "1.0.0", true)).toEqual({
      version: "1.0.0",
      cpu: ["arm64"],
      dev: true,
      libc: ["musl"],
      optional: true,
      os: ["linux"],
    });
    expect(platformEntry("@x/binding-wasm32-wasi", "1.0.0", false)).toEqual({
      version: "1.0.0",
      cpu: ["wasm32"],
      optional: true,
    });
  });
});

describe("completePackages", () => {
  it("adds an entry for a missing optional package", () => {
    const packages = { "node_modules/a": { version: "1.0.0", optionalDependencies: { "a-linux-x64": "1.0.0" } } };
    expect(completePackages(packages)).toHaveProperty(["node_modules/a-linux-x64", "os"], ["linux"]);
  });
});

describe("checkEngines", () => {
  const node = { version: "24.1.0" };

  it("rejects a required package that does not support the installed Node", () => {
    const packages = { "node_modules/node": node, "node_modules/a": { version: "1.0.0", engines: { node: "<24" } } };
    expect(() => checkEngines(packages, "/nowhere")).toThrow("node_modules/a 1.0.0 needs Node <24");
  });

  it("reads the engines of an installed package whose entry has none", () => {
    const root = mkdtempSync(join(tmpdir(), "rookery-lock-"));
    try {
      mkdirSync(join(root, "node_modules", "a"), { recursive: true });
      writeFileSync(join(root, "node_modules", "a", "package.json"), '{ "engines": { "node": "<24" } }');
      const packages = { "node_modules/node": node, "node_modules/a": { version: "1.0.0" } };
      expect(() => checkEngines(packages, root)).toThrow("node_modules/a 1.0.0 needs Node <24");
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });

  it("keeps the engines of an optional package that does not support it, and other engines", () => {
    const packages = {
      "node_modules/node": node,
      "node_modules/a": { version: "1.0.0", optional: true, engines: { node: "<24" } },
      "node_modules/b": { version: "1.0.0", engines: { node: ">=20", npm: ">=9" } },
    };
    expect(checkEngines(packages, "/nowhere")).toEqual({
      ...packages,
      "node_modules/b": { version: "1.0.0", engines: { npm: ">=9" } },
    });
  });
});

describe("package-lock.json", () => {
  const { packages } = readJson(ROOT, "package-lock.json");

  it('is complete; if not, run "npm run tool -- lock"', () => {
    const completed = completeLock(packages);
    expect(completed).toEqual(packages);
    expect(Object.keys(completed)).toEqual(Object.keys(packages));
  });

  it("has no package with an install script that package.json neither allows nor denies", () => {
    const { allowScripts } = readJson(ROOT, "package.json");
    const withScripts = Object.keys(packages).filter((place) => packages[place].hasInstallScript);
    const names = withScripts.map((place) => place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length));
    expect(names.filter((name) => !(name in allowScripts))).toEqual([]);
  });

  it("belongs to a manifest that any Node can install", () => {
    expect(readJson(ROOT, "package.json")).not.toHaveProperty("engines");
  });
});

describe("npm ci with the settings of this repository", () => {
  let registry: FakeRegistry;
  let project: string;

  beforeAll(async () => {
    registry = await fakeRegistry();
    project = mkdtempSync(join(tmpdir(), "rookery-install-"));
  });

  afterAll(async () => {
    await registry.close();
    rmSync(project, { recursive: true, force: true });
  });

  it("warns about a deprecated package, and not about one that the installed Node supports", async () => {
    const manifests = [
      // Newer than the Node that runs npm here.
      { name: "node", version: "99.0.0" },
      { name: "modern", version: "1.0.0", engines: { node: ">=99" } },
      { name: "outdated", version: "1.0.0", deprecated: "Use modern." },
    ];
    const dependencies = Object.fromEntries(manifests.map(({ name, version }) => [name, version]));
    const root = { name: "project", version: "1.0.0", dependencies };
    const entries = manifests.map(({ name, ...entry }) => {
      const { integrity } = registry.publish({ name, ...entry }, {});
      return [`node_modules/${name}`, { ...entry, integrity }];
    });
    const packages = completeLock({ "": root, ...Object.fromEntries(entries) }, project);
    writeFileSync(join(project, "package.json"), JSON.stringify(root));
    writeFileSync(join(project, "package-lock.json"), JSON.stringify({ ...root, lockfileVersion: 3, packages }));
    copyFileSync(join(ROOT, ".npmrc"), join(project, ".npmrc"));
    const { npm_config_loglevel: _, ...env } = registry.env;
    const { stderr } = await promisify(execFile)("npm", ["ci"], { cwd: project, env });
    expect(stderr.split("\n").filter((line) => /^npm warn/i.test(line))).toEqual([
      expect.stringMatching(/deprecated outdated@1\.0\.0: Use modern\.$/),
    ]);
  });
});
