/**
 * What a command loads decides how fast it starts, so the sets are bounded here: by what may not be in them, and by their size.
 * `npm run bench -- cli` measures the time.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createRookery } from "./app/library/create-rookery.ts";

const SOURCES = new URL("./", import.meta.url);
const LIST_MODULES = new URL("../test/kit/list-modules.ts", import.meta.url).href;

/** What only an engine or its gateway needs. */
const HEAVY = [
  /^engine\//,
  /^adapters\/(?:connectors|files|sandbox|search|tools|workspace)\//,
  /^adapters\/models\/(?:open-models|providers|router|catalogue)/,
  /^adapters\/store\/postgres\//,
  /^app\/gateway\/(?:api|events|in-process|mcp|messages|openai|page|routing)\//,
  /^app\/(?:library|operations)\//,
  /^app\/node\/open-/,
  /^config\/config-schema/,
];

let home = "";
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "rookery-start-"));
  const engine = await createRookery({ home, model: "offline" });
  await engine.agent("ann").ask("hello");
  await engine.close();
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Importing these by name takes longer than most commands need them for. */
const HEAVY_BUILTINS = ["node:crypto", "node:util", "node:http", "node:child_process", "node:worker_threads"];

interface Loaded {
  /** Of this program, below `src`. */
  readonly own: readonly string[];
  readonly packages: ReadonlySet<string>;
  readonly builtins: readonly string[];
}

async function loadedBy(...argv: readonly string[]): Promise<Loaded> {
  const file = join(home, "loaded.txt");
  const main = fileURLToPath(new URL("main.ts", SOURCES));
  const child = spawn(process.execPath, ["--import", LIST_MODULES, main, ...argv], {
    env: { ...process.env, LOADED_MODULES: file },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [code] = await once(child, "exit");
  expect(code, argv.join(" ")).toBe(0);
  const urls = readFileSync(file, "utf8").split("\n");
  rmSync(file);
  return {
    own: urls.filter((url) => url.startsWith(SOURCES.href)).map((url) => url.slice(SOURCES.href.length)),
    builtins: urls.filter((url) => url.startsWith("node:")),
    packages: new Set(urls.flatMap((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/u.exec(url)?.[1] ?? [])),
  };
}

/** Throws the names of what should not be there. */
function expectLean({ own, builtins }: Loaded, most: number): void {
  expect(builtins.filter((name) => HEAVY_BUILTINS.includes(name))).toEqual([]);
  expect(own.filter((name) => HEAVY.some((pattern) => pattern.test(name)))).toEqual([]);
  expect(own.length, own.join("\n")).toBeLessThanOrEqual(most);
}

const none: ReadonlySet<string> = new Set();

describe("a command loads little", () => {
  it.each([
    [30, ["--version"]],
    [32, ["--help"]],
    [130, ["status"]],
    [145, ["agents", "list"]],
  ])("at most %d modules and no package without an engine: %j", async (most, argv) => {
    const loaded = await loadedBy(...argv, "--home", home);
    expectLean(loaded, most);
    expect(loaded.packages).toEqual(none);
  });

  it.each([
    [150, ["status"], ["json5", "zod"]],
    [145, ["agents", "list"], ["json5"]],
  ])("at most %d modules with the configuration that setup writes: %j, %j", async (most, argv, packages) => {
    const words = {
      models: { default: "anthropic/claude-sonnet-4-5" },
      session: { timeZone: "Europe/Rome" },
      budgets: { day: { dollars: 5 } },
    };
    const file = join(home, "rookery.json5");
    writeFileSync(file, JSON.stringify(words));
    const loaded = await loadedBy(...argv, "--home", home);
    rmSync(file);
    expectLean(loaded, most);
    expect([...loaded.packages].sort()).toEqual(packages);
  });

  it("less with a running engine, which is asked: no store, no configuration, no package", async () => {
    const engine = await createRookery({ home, model: "offline" });
    try {
      for (const [most, argv] of [
        [45, ["status"]],
        [80, ["agents", "list"]],
      ] as const) {
        const loaded = await loadedBy(...argv, "--home", home);
        expectLean(loaded, most);
        expect(loaded.own.filter((name) => /^adapters\/store|^config\/load/u.test(name))).toEqual([]);
        expect(loaded.packages).toEqual(none);
      }
    } finally {
      await engine.close();
    }
  });
});
