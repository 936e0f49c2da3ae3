import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHome } from "../../config/create-home.ts";
import { type HomePaths, homePaths, sharedBeforeFile } from "../../config/paths.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { warningOfShared } from "./shared-before.ts";

let paths: HomePaths;
beforeEach(async () => {
  paths = homePaths(mkdtempSync(join(tmpdir(), "rookery-shared-")));
  await createHome(paths);
});
afterEach(() => rmSync(paths.home, { recursive: true, force: true }));

/** A start, with the conversations of these people in the store. */
const start = (...people: readonly string[]) =>
  warningOfShared(
    { config: { profiles: {} }, paths, personOf: async ({ id }) => id },
    {
      agentsOfKind: async (_, { limit, after }) =>
        people
          .map((id) => ({ id }) as AgentRecord)
          .slice(after === undefined ? 0 : people.indexOf(after) + 1)
          .slice(0, limit),
    },
  );
const file = (name: string, text = "x") => writeFileSync(join(paths.workspace, name), text);

describe("the first start with separate directories", () => {
  it("lists the people and files that shared the workspace, until the owner deletes the list", async () => {
    mkdirSync(join(paths.workspace, "memory"));
    file("AGENTS.md");
    file("memory/day\n- fake.md");
    expect(await start("owner", "telegram:42", "app:shop/ann")).toContain(sharedBeforeFile(paths));
    const text = readFileSync(sharedBeforeFile(paths), "utf8");
    expect(text.split("\n").filter((line) => line.startsWith("- "))).toEqual([
      '- "app:shop/ann"',
      '- "telegram:42"',
      '- "workspace/AGENTS.md"',
      '- "workspace/memory/day\\n- fake.md"',
    ]);
    expect(readFileSync(join(paths.workspace, "AGENTS.md"), "utf8")).toBe("x");
    // Later agents have own directories from their start.
    expect(await start("owner", "telegram:42", "api:late")).toBeDefined();
    expect(readFileSync(sharedBeforeFile(paths), "utf8")).toBe(text);
    rmSync(sharedBeforeFile(paths));
    expect(await start("owner", "telegram:42")).toBeUndefined();
  });

  it.each([
    ["a new home", [], false],
    ["a home of the owner alone", ["owner"], true],
    ["a home whose workspace is empty", ["telegram:42"], false],
  ])("says nothing in %s", async (_, people, files) => {
    if (files) file("AGENTS.md");
    expect(await start(...people)).toBeUndefined();
    file("later.md");
    expect(await start(...people, "telegram:42")).toBeUndefined();
    expect(existsSync(sharedBeforeFile(paths))).toBe(false);
  });

  it("makes the list again if it was killed before the directory existed", async () => {
    file("AGENTS.md");
    writeFileSync(`${sharedBeforeFile(paths)}.tmp`, "half");
    expect(await start("telegram:42")).toBeDefined();
    rmSync(paths.people, { recursive: true });
    expect(await start("telegram:42", "telegram:43")).toBeDefined();
    expect(readFileSync(sharedBeforeFile(paths), "utf8")).toContain("telegram:43");
  });

  it("reads many conversations in pages", async () => {
    file("AGENTS.md");
    await start(...Array.from({ length: 700 }, (_, n) => `x:${n}`));
    expect(readFileSync(sharedBeforeFile(paths), "utf8")).toContain('"x:699"');
  });
});
