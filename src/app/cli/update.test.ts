/** `rookery engine update` as a command, with a registry and an npm of its own: what it prints for programs, and its exit codes. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type FakeRegistry, fakeRegistry } from "../../../test/kit/fake-registry.ts";
import { installationAt } from "../operations/update/update-program.ts";
import { runCommand } from "./cli.test-kit.ts";
import { printsDocumentsOf } from "./command-document.test-kit.ts";
import { EXIT } from "./exit-code.ts";

const directory = mkdtempSync(join(tmpdir(), "rookery-update-command-"));
const root = join(directory, "lib", "node_modules", "rookery");
const home = join(directory, "home");
let registry: FakeRegistry;

/** A program that starts, opens any home and finds these problems. */
const program = (version: string, problems: readonly string[] = []): string => `
const [command] = process.argv.slice(2);
if (command === "--version") console.log("rookery ${version}");
else if (command === "engine") console.log("{}");
else console.log(JSON.stringify({ items: ${JSON.stringify(problems.map((check) => ({ check, status: "problem" })))} }));
`;

function write(at: string, version: string, text: string): void {
  mkdirSync(at, { recursive: true });
  writeFileSync(join(at, "package.json"), JSON.stringify({ name: "rookery", version, bin: { rookery: "bin.js" } }));
  writeFileSync(join(at, "bin.js"), text);
}

/** An `npm` that knows and installs this version: the real one takes seconds. */
function quickNpm(version: string, text: string): Readonly<Record<string, string>> {
  const at = mkdtempSync(join(directory, "npm-"));
  write(at, version, text);
  const script = `if [ "$1" = view ]; then echo '"${version}"'; else cp ${at}/package.json ${at}/bin.js ${root}/; fi`;
  writeFileSync(join(at, "npm"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { PATH: `${at}:${process.env.PATH}` };
}

async function update(env: Readonly<Record<string, string>>, ...argv: readonly string[]) {
  const { code, out, err } = await runCommand(["engine", "update", ...argv, "--json", "--home", home], {
    env,
    root,
    input: "",
  });
  return { code, document: JSON.parse(out || (err.trim().split("\n").at(-1) ?? "")) };
}

beforeAll(async () => {
  registry = await fakeRegistry();
  registry.publish({ name: "rookery", version: "2.0.0", bin: { rookery: "bin.js" } }, { "bin.js": program("2.0.0") });
  write(root, "1.0.0", program("1.0.0"));
  mkdirSync(home);
});
afterAll(async () => {
  await registry.close();
  rmSync(directory, { recursive: true, force: true });
});

it("--check says which version is installed and which the registry has, and changes nothing", async () => {
  expect(await update(registry.env, "--check")).toEqual({
    code: EXIT.ok,
    document: { current: "1.0.0", available: "2.0.0" },
  });
  expect(installationAt(root).version).toBe("1.0.0");
  const unknown = await update(registry.env, "9.9.9", "--check");
  expect([unknown.code, unknown.document.error.code]).toEqual([EXIT.failure, "not_found"]);
});

it("exits with 1 and says why if the new program is put back, and with 0 if it works or is there already", async () => {
  const worse = await update(quickNpm("2.0.0", program("2.0.0", ["store"])), "--yes");
  expect([worse.code, worse.document]).toMatchObject([
    EXIT.failure,
    { status: "put back", from: "1.0.0", to: "2.0.0" },
  ]);
  expect(worse.document.reason).toContain("store");
  const env = quickNpm("2.0.0", program("2.0.0"));
  expect(await update(env, "--yes")).toMatchObject({ code: EXIT.ok, document: { status: "updated", to: "2.0.0" } });
  expect(await update(env)).toEqual({
    code: EXIT.ok,
    document: { current: "2.0.0", available: "2.0.0", status: "same" },
  });
});

it("refuses two sources and a checkout with an error document", async () => {
  const both = await update({}, "2.0.0", "--from", "x.tgz");
  expect([both.code, both.document.error.code]).toEqual([EXIT.usage, "usage"]);
  const { code, err } = await runCommand(["engine", "update", "--check", "--json", "--home", home]);
  expect([code, JSON.parse(err).error.hint]).toEqual([EXIT.configuration, expect.stringContaining("git")]);
});

printsDocumentsOf("engine update");
