/** Where an agent may read and write, and what it may not (L13). */
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../config/parse-config.ts";
import { type HomePaths, homePaths } from "../../config/paths.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { agentPlaces } from "./agent-places.ts";
import type { AgentWorkspace } from "./workspaces.ts";

let home: string;
let paths: HomePaths;
let own: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-places-"));
  paths = homePaths(home);
  own = join(paths.people, "ann");
  mkdirSync(paths.workspace);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const agentWith = (permissions?: object, profile = "default"): AgentRecord =>
  ({ profile, state: permissions === undefined ? {} : { permissions } }) as unknown as AgentRecord;

function placesOf(workspace: Partial<AgentWorkspace>, agent = agentWith(), text = "{}") {
  const { config } = parseConfig({ text, file: "rookery.json5", env: {} });
  return agentPlaces({ current: config }, paths, async () => ({
    instructions: paths.workspace,
    own: undefined,
    ...workspace,
  }))(agent);
}

describe("the owner's agents", () => {
  test.each([
    ["no more than their workspace", undefined, { readDirs: [], writeDirs: undefined }],
    ["what they may read besides", { readDirs: ["/r"] }, { readDirs: ["/r"], writeDirs: undefined }],
    ["what they may write besides", { writeDirs: ["/w"] }, { readDirs: [], writeDirs: ["/w"] }],
  ])("have %s, and no quota", async (_, permissions, expected) => {
    const places = await placesOf({ own: paths.workspace }, agentWith(permissions));
    expect(places).toEqual({ workingDir: paths.workspace, ...expected });
  });
});

describe("another person's agents", () => {
  test("have the person's directory, which is made for this user only, with its quota and the owner's guarded files", async () => {
    const places = await placesOf({ own, guest: "ann" }, agentWith({ readDirs: ["/r"], writeDirs: ["/w"] }));
    expect(places).toMatchObject({
      ...{ workingDir: own, readDirs: ["/r"], writeDirs: ["/w"], guarded: { roots: [paths.workspace] } },
      quota: { of: "ann", maxBytes: expect.any(Number), maxFiles: expect.any(Number) },
    });
    expect(statSync(own).mode & 0o777).toBe(0o700);
  });

  test.each([
    ["the owner shares it", "{ workspaces: { shared: true } }", "directory", true],
    ["the owner does not share it", "{ workspaces: { shared: false } }", "directory", false],
    ["it is a link, which could show everything", "{ workspaces: { shared: true } }", "link", false],
    ["it is a file", "{ workspaces: { shared: true } }", "file", false],
    ["it is not there", "{ workspaces: { shared: true } }", "none", false],
  ])("may read `shared/` if %s: %s", async (_, text, kind, isShared) => {
    const shared = join(paths.workspace, "shared");
    if (kind === "directory") mkdirSync(shared);
    if (kind === "link") symlinkSync(home, shared);
    if (kind === "file") writeFileSync(shared, "");
    const { readDirs } = await placesOf({ own, guest: "ann" }, agentWith({ readDirs: ["/r"] }), text);
    expect(readDirs).toEqual(isShared ? ["/r", shared] : ["/r"]);
  });

  test("may read `shared/` of the workspace of their profile", async () => {
    const other = join(home, "other");
    mkdirSync(join(other, "shared"), { recursive: true });
    mkdirSync(join(paths.workspace, "shared"));
    const text = `{ workspaces: { shared: true }, profiles: { work: { workspace: ${JSON.stringify(other)} } } }`;
    const { readDirs } = await placesOf({ own, guest: "ann" }, agentWith({}, "work"), text);
    expect(readDirs).toEqual([join(other, "shared")]);
  });

  test("write one after the other into the same directory", async () => {
    const { config } = parseConfig({ text: "{}", file: "rookery.json5", env: {} });
    const of = agentPlaces({ current: config }, paths, async () => ({
      instructions: paths.workspace,
      own,
      guest: "ann",
    }));
    const [one, two] = [await of(agentWith()), await of(agentWith())];
    const order: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const first = one.quota?.exclusive(async () => {
      await promise;
      order.push("first");
    });
    const second = two.quota?.exclusive(async () => void order.push("second"));
    resolve();
    await Promise.all([first, second]);
    expect(order).toEqual(["first", "second"]);
  });
});

test("an agent of no one who is known has no files, and nothing is made for it", async () => {
  await expect(placesOf({})).rejects.toMatchObject({ code: "denied" });
  await expect(placesOf({ guest: "ann" })).rejects.toMatchObject({ code: "denied" });
  expect(existsSync(paths.people)).toBe(false);
});
