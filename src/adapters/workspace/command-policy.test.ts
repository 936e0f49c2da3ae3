/** What a command may touch: which directories it sees and writes, and which files in them stay as they are (L13). */
import { describe, expect, test } from "vitest";
import { parseConfig } from "../../config/parse-config.ts";
import { homePaths } from "../../config/paths.ts";
import type { WorkspaceAccess } from "../../core/agent/exec-fields.ts";
import type { Places } from "../tools/files/allowed-path.ts";
import { commandPolicy, withFrozen } from "./command-policy.ts";

const paths = homePaths("/srv/home");
const OWN = "/srv/home/workspace";
const GUEST = "/srv/home/people/ann";
const quota = { of: "ann", maxBytes: 1, maxFiles: 1, exclusive: () => expect.unreachable() };
const owner: Places = { workingDir: OWN, readDirs: ["/r"], writeDirs: ["/w"] };
const guest: Places = { workingDir: GUEST, readDirs: ["/r"], writeDirs: ["/w"], quota };

function policyOf(places: Places, access?: WorkspaceAccess, agentDirs?: readonly string[], text = "{}") {
  const { config } = parseConfig({ text, file: "rookery.json5", env: {} });
  return commandPolicy({ settings: { current: config }, paths, env: { PATH: "/opt/bin" }, userHome: "/home/me" })(
    places,
    {
      access,
      agentDirs,
    },
  );
}
/** Without the directories on the way to frozen files. */
const roots = (writable: readonly string[]): readonly string[] =>
  writable.filter((path) => [OWN, GUEST, "/w", "/r"].includes(path));

describe("a command", () => {
  test.each<[string, Places, WorkspaceAccess | undefined, readonly string[], readonly string[]]>([
    ["the owner's, with all rights by default", owner, undefined, [OWN, "/w"], [OWN, "/w", "/r"]],
    ["the owner's that may only read", owner, "ro", [], [OWN, "/w", "/r"]],
    ["the owner's that sees no files", owner, "none", [], []],
    ["a guest's, which writes in the own directory only", guest, "rw", [GUEST], [GUEST, "/r", "/w"]],
    ["a guest's that may only read", guest, "ro", [], [GUEST, "/r", "/w"]],
    ["a guest's that sees no files", guest, "none", [], []],
  ])("is %s", (_, places, access, writable, shown) => {
    const policy = policyOf(places, access);
    expect(roots(policy.writable)).toEqual(writable);
    expect(policy.readable).toEqual(["/opt/bin", "/opt/lib", ...shown]);
  });

  test("does not see the home, the workspaces of other profiles, and the home directories of the machine", () => {
    const policy = policyOf(guest, "rw", [], '{ profiles: { work: { workspace: "/srv/work" } } }');
    for (const path of ["/srv/home", OWN, "/srv/work", "/home/me", "/root"]) expect(policy.hidden).toContain(path);
  });

  test("of the owner reads what the configuration names, one of a guest does not", () => {
    const text = '{ sandbox: { read: ["/data", "~/notes"] } }';
    expect(policyOf(owner, "none", [], text).readable.slice(2)).toEqual(["/data", "/home/me/notes"]);
    expect(policyOf(guest, "none", [], text).readable.slice(2)).toEqual([]);
  });

  test.each(["skills", ".agents/skills"])("cannot write %s if skills are frozen", (name) => {
    const { config } = parseConfig({ text: "{}", file: "rookery.json5", env: {} });
    const policy = commandPolicy({ settings: { current: config }, paths, env: {}, userHome: "/home/me" });
    expect(policy(owner, { freezesSkills: true }).frozen).toContain(`${OWN}/${name}`);
    expect(policy(owner).frozen).not.toContain(`${OWN}/${name}`);
  });

  test.each([
    "AGENTS.md",
    "SOUL.md",
    "USER.md",
    "MEMORY.md",
    "HEARTBEAT.md",
    "TASK.md",
    "cron",
    "memory",
    ".git/hooks",
  ])("cannot write %s in a directory with prompt files, also not in that of another agent", (name) => {
    const own = policyOf(owner, "rw", [`${OWN}/helper`, "/elsewhere"]);
    expect(own.frozen).toEqual(expect.arrayContaining([`${OWN}/${name}`, `${OWN}/helper/${name}`]));
    expect(own.frozen).not.toContain(`/elsewhere/${name}`);
    const theirs = policyOf(guest, "rw", [`${OWN}/helper`]);
    expect(theirs.frozen).toContain(`${GUEST}/${name}`);
    expect(theirs.frozen).not.toContain(`${OWN}/${name}`);
  });

  test("that writes nothing needs no frozen files", () => {
    expect(policyOf(owner, "ro").frozen).toEqual([]);
  });
});

describe("frozen files", () => {
  test.each<[string, readonly string[], readonly string[], readonly string[], readonly string[], readonly string[]]>([
    ["in the directory itself", ["/a"], ["/a"], ["x"], ["/a"], ["/a/x"]],
    ["deeper: what is on the way cannot be renamed", ["/a"], ["/a/b/c"], ["x"], ["/a", "/a/b/c", "/a/b"], ["/a/b/c/x"]],
    ["elsewhere are not named", ["/a"], ["/ab"], ["x"], ["/a"], []],
    ["that are the writable directory are not named", ["/a/x"], ["/a"], ["x"], ["/a/x"], []],
    ["named twice are named once", ["/a"], ["/a", "/a"], ["x"], ["/a"], ["/a/x"]],
    ["below a name", ["/a"], ["/a"], ["g/h"], ["/a", "/a/g"], ["/a/g/h"]],
  ])("%s", (_, writable, prompted, names, expected, frozen) => {
    expect(withFrozen(writable, prompted, names)).toEqual({ writable: expected, frozen });
  });
});
