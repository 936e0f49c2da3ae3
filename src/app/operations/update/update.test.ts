/** Updates against a local registry with the real npm: a version that works, one that does not, and one that migrates before it fails. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type FakeRegistry, fakeRegistry } from "../../../../test/kit/fake-registry.ts";
import { openDatabaseSync } from "../../../adapters/store/sqlite/database-sync.ts";
import { migrate, migrations, versionOf } from "../../../adapters/store/sqlite/migrate.ts";
import { configSchema } from "../../../config/config-schema.ts";
import { homePaths } from "../../../config/paths.ts";
import { availableVersion, installationAt, updateProgram } from "./update-program.ts";

const directory = mkdtempSync(join(tmpdir(), "rookery-update-test-"));
const prefix = join(directory, "prefix");
const root = join(prefix, "lib", "node_modules", "rookery");
const home = join(directory, "home");
const paths = homePaths(home);
const OLD = migrations().length - 1;
let registry: FakeRegistry;

/** A program that answers as its version should: `open` is what it does with the home. */
const program = (version: string, problems: readonly string[], open = "") => `
const [command] = process.argv.slice(2);
const { DatabaseSync } = require("node:sqlite");
const home = process.argv.at(-1);
if (command === "--version") console.log("rookery ${version}");
else if (command === "engine") { ${open}; console.log("{}"); }
else console.log(JSON.stringify({ items: ${JSON.stringify(problems.map((check) => ({ check, status: "problem" })))} }));
`;

const scriptRan = join(directory, "script-ran");
const scripts = { preinstall: `touch ${scriptRan}`, postinstall: `touch ${scriptRan}` };

/** Publishes a version and a dependency of it. Both have scripts for their installation. */
const publish = (version: string, text: string): void => {
  registry.publish({ name: "dependency", version: "1.0.0", scripts }, {});
  const dependencies = { dependency: "1.0.0" };
  registry.publish({ name: "rookery", version, bin: { rookery: "bin.js" }, scripts, dependencies }, { "bin.js": text });
};

/** Puts a version where npm would install it. */
function place(version: string, text: string): void {
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, "package.json"), JSON.stringify({ name: "rookery", version, bin: { rookery: "bin.js" } }));
  writeFileSync(join(root, "bin.js"), text);
}

/** An `npm` that installs this program, or fails: the real one takes seconds. */
function quickNpm(version: string, text: string | undefined): Readonly<Record<string, string>> {
  const at = mkdtempSync(join(directory, "npm-"));
  const fields = JSON.stringify({ name: "rookery", version, bin: { rookery: "bin.js" } });
  writeFileSync(join(at, "package.json"), fields);
  writeFileSync(join(at, "bin.js"), text ?? "");
  const script =
    text === undefined ? "echo no such version >&2; exit 1" : `cp ${at}/package.json ${at}/bin.js ${root}/`;
  writeFileSync(join(at, "npm"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { ...registry.env, PATH: `${at}:${registry.env.PATH}` };
}

beforeAll(async () => {
  registry = await fakeRegistry();
  place("1.0.0", program("1.0.0", ["disk"]));
  mkdirSync(home, { recursive: true });
  const sql = openDatabaseSync(paths.database);
  migrate(sql, migrations().slice(0, -1));
  sql.exec("INSERT INTO facts (key, value) VALUES ('answer', '42')");
  sql.close();
});
afterAll(async () => {
  await registry.close();
  rmSync(directory, { recursive: true, force: true });
});

const schema = (): { version: number; fact: unknown } => {
  const sql = openDatabaseSync(paths.database, { readOnly: true });
  try {
    return { version: versionOf(sql), fact: sql.prepare("SELECT value FROM facts WHERE key = 'answer'").get()?.value };
  } finally {
    sql.close();
  }
};
const deps = () => ({ root, paths, config: configSchema.parse({}), env: registry.env, now: Date.now() });

it("puts the program and the database back if the new one migrates and then finds a problem", async () => {
  const migrates = `new DatabaseSync(home + "/rookery.db").exec("PRAGMA user_version = ${OLD + 1}; DELETE FROM facts")`;
  publish("2.0.0", program("2.0.0", ["disk", "store"], migrates));
  const said: string[] = [];
  const report = await updateProgram({ ...deps(), onProgress: (text) => said.push(text) }, "latest");
  expect(report).toMatchObject({ from: "1.0.0", to: "2.0.0", status: "put back" });
  expect(report.reason).toBe("The new program finds problems: store.");
  expect(installationAt(root).version).toBe("1.0.0");
  expect(schema()).toEqual({ version: OLD, fact: "42" });
  expect(existsSync(report.backup ?? "")).toBe(true);
  expect(said.join("\n")).toContain("Putting 1.0.0 back.");
  expect(readdirSync(join(prefix, "lib", "node_modules")).sort()).toEqual(["rookery"]);
});

it("puts the program back if the new one does not start or cannot open the home, and the database too", async () => {
  const broken = { ...deps(), env: quickNpm("2.1.0", "throw new Error('broken')") };
  expect(await updateProgram(broken, "latest")).toMatchObject({
    status: "put back",
    reason: expect.stringContaining("does not start"),
  });
  const closed = { ...deps(), env: quickNpm("2.2.0", program("2.2.0", ["disk"], "throw new Error('cannot open')")) };
  expect(await updateProgram(closed, "latest")).toMatchObject({
    reason: expect.stringContaining("cannot open the home"),
  });
  expect(installationAt(root).version).toBe("1.0.0");
  expect(schema()).toEqual({ version: OLD, fact: "42" });
});

it("changes nothing if npm finds no such version, and installs one that works", async () => {
  publish("3.0.0", program("3.0.0", ["disk"]));
  await expect(availableVersion(deps(), "9.9.9")).rejects.toMatchObject({
    code: "not_found",
    message: 'The registry has no version "9.9.9" of rookery.',
  });
  expect(await availableVersion(deps(), "latest")).toBe("3.0.0");
  const away = { ...registry.env, npm_config_registry: "http://127.0.0.1:9", npm_config_fetch_retries: "0" };
  await expect(availableVersion({ ...deps(), env: away }, "latest")).rejects.toMatchObject({
    code: "server_unavailable",
    message: expect.stringContaining("npm cannot ask the registry"),
    hint: expect.stringContaining("npm config get registry"),
  });
  expect(await updateProgram({ ...deps(), env: quickNpm("9.9.9", undefined) }, "9.9.9")).toMatchObject({
    status: "put back",
    reason: expect.stringContaining("npm could not"),
  });
  expect(installationAt(root).version).toBe("1.0.0");
  expect(await updateProgram(deps(), "3.0.0")).toMatchObject({
    from: "1.0.0",
    to: "3.0.0",
    status: "updated",
    reason: null,
  });
  expect(readFileSync(join(root, "bin.js"), "utf8")).toContain("3.0.0");
  expect([existsSync(join(root, "node_modules", "dependency")), existsSync(scriptRan)]).toEqual([true, false]);
});

it("depends on no package that needs a script for its installation", () => {
  const lock = JSON.parse(readFileSync(new URL("../../../../package-lock.json", import.meta.url), "utf8")) as {
    packages: Record<string, { hasInstallScript?: boolean; dev?: boolean }>;
  };
  const { allowScripts } = JSON.parse(readFileSync(new URL("../../../../package.json", import.meta.url), "utf8")) as {
    allowScripts: Record<string, boolean>;
  };
  const withScripts = Object.entries(lock.packages).filter(([, { hasInstallScript, dev }]) => hasInstallScript && !dev);
  const names = withScripts.map(([path]) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length));
  expect(names.filter((name) => allowScripts[name] !== false)).toEqual([]);
});

it("refuses a checkout and a project, and names the command that updates them", () => {
  expect(() => installationAt(new URL("../../../../", import.meta.url).pathname.replace(/\/$/u, ""))).toThrow(
    "npm did not install",
  );
});
