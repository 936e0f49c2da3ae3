/** Whose directory an agent works in, and where its instructions come from. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../config/parse-config.ts";
import { type HomePaths, homePaths } from "../../config/paths.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { OWNER } from "../../core/people/person.ts";
import { noGuard } from "../tools/files/prompt-guard.ts";
import { personNotes } from "./person-notes.ts";
import { makeWorkspaces, workspaceMaker, workspacesOf } from "./workspaces.ts";

let home: string;
let paths: HomePaths;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "rookery-workspaces-")));
  paths = homePaths(home);
  mkdirSync(paths.workspace);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const configOf = (text: string) => parseConfig({ text, file: "rookery.json5", env: {} }).config;
const permanent = (workspaceDir?: string) => ({ type: "permanent", workspaceDir });
const workspaceOf = (person: string | undefined, descriptor: object, profile = "default") =>
  workspacesOf(
    { current: configOf('{ profiles: { work: { workspace: "work" } } }') },
    paths,
    async () => person,
  )({ profile, descriptor } as unknown as AgentRecord);

describe("the directory of an agent", () => {
  test.each([
    ["of the owner", permanent(), "default", "workspace"],
    ["of the owner with a profile", permanent(), "work", "work"],
    ["with a directory of its own", permanent("helper"), "default", "workspace/helper"],
    ["with a directory that leads out", permanent("../other"), "default", "workspace"],
    ["with a directory beside, whose name begins the same", permanent("../workspace2"), "default", "workspace"],
    ["with the workspace itself", permanent("."), "default", "workspace"],
    ["with an absolute directory elsewhere", permanent("/etc"), "default", "workspace"],
    ["that is not permanent", { type: "user", workspaceDir: "helper" }, "default", "workspace"],
  ])("%s is %j", async (_, descriptor, profile, expected) => {
    const directory = join(home, expected);
    expect(await workspaceOf(OWNER, descriptor, profile)).toEqual({ instructions: directory, own: directory });
  });

  test("may be named whole if it is inside", async () => {
    const inside = join(paths.workspace, "helper");
    expect((await workspaceOf(OWNER, permanent(inside))).own).toBe(inside);
  });

  test("of another person is below `people`, and its instructions are those of the profile alone", async () => {
    expect(await workspaceOf("ann", permanent("helper"), "work")).toEqual({
      ...{ instructions: join(home, "work"), own: join(paths.people, "ann"), guest: "ann" },
    });
  });

  test("of no one who is known is none", async () => {
    expect(await workspaceOf(undefined, permanent("helper"))).toEqual({
      ...{ instructions: paths.workspace, own: undefined, guest: undefined },
    });
  });
});

describe("the workspaces of profiles", () => {
  test("are made for this user only", () => {
    makeWorkspaces(configOf('{ profiles: { work: { workspace: "a/b" } } }'), paths);
    expect(statSync(join(home, "a/b")).mode & 0o777).toBe(0o700);
  });

  test.each(["people", "people/ann"])("are not in %s, where others write", (workspace) => {
    const config = configOf(`{ profiles: { work: { workspace: "${workspace}" } } }`);
    expect(() => makeWorkspaces(config, paths)).toThrow("in the directory of other people");
    expect(existsSync(paths.people)).toBe(false);
  });

  test("may have a name that begins like it", () => {
    makeWorkspaces(configOf('{ profiles: { work: { workspace: "people2" } } }'), paths);
    expect(existsSync(join(home, "people2"))).toBe(true);
  });

  test("that cannot be made are a mistake of the configuration", () => {
    writeFileSync(join(home, "file"), "");
    const config = configOf('{ profiles: { work: { workspace: "file/b" } } }');
    expect(() => makeWorkspaces(config, paths)).toThrow(/file\/b of the profile work cannot be created/);
  });
});

describe("a new directory for an agent", () => {
  const make = (directory: string | undefined, adopt = noGuard.adopt) =>
    workspaceMaker({ current: configOf("{}") }, paths, { adopt })("default", directory);

  test("is made inside the workspace after its prompt files are guarded", async () => {
    const path = join(paths.workspace, "a/b");
    const seen: [string, boolean][] = [];
    const adopt = async (directory: string): Promise<void> => void seen.push([directory, existsSync(directory)]);
    expect(await make("a/b", adopt)).toBe(path);
    expect(seen).toEqual([[path, false]]);
    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(await make("a/b")).toBe(path);
    expect(await make(undefined)).toBeUndefined();
  });

  test.each(["..", "../workspace2", "/etc", "."])("is refused at %s", async (directory) => {
    await expect(make(directory, () => expect.unreachable())).rejects.toMatchObject({ code: "invalid_input" });
    expect(existsSync(join(home, "workspace2"))).toBe(false);
  });

  test("is refused behind a link that leads out, and nothing is made there", async () => {
    mkdirSync(join(home, "outside"));
    symlinkSync(join(home, "outside"), join(paths.workspace, "link"));
    for (const directory of ["link", "link/a"]) {
      await expect(make(directory, () => expect.unreachable())).rejects.toThrow("outside the allowed directories");
    }
    expect(existsSync(join(home, "outside/a"))).toBe(false);
  });
});

test("the notes of a person are in the person's directory, those of the owner in every workspace once", () => {
  const notes = personNotes({ current: configOf('{ profiles: { a: {}, work: { workspace: "work" } } }') }, paths);
  expect(notes("ann" as never)).toEqual([join(paths.people, "ann")]);
  expect(notes(OWNER)).toEqual([paths.workspace, join(home, "work")]);
});
