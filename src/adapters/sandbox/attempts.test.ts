/** Makes the attempts in the real sandboxes, whole and with one guard missing. */
import { execFile } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { makeDiskDirectory } from "../../../test/kit/disk-directory.ts";
import { needs } from "../../../test/kit/needs.ts";
import { ATTEMPTS, makeAttempts } from "./attempts.ts";
import { bwrapSandbox } from "./bwrap-sandbox.ts";
import { dockerSandbox } from "./docker-sandbox.ts";
import type { Sandbox } from "./sandbox.ts";
import { srtSandbox } from "./srt-sandbox.ts";

type AttemptName = keyof typeof ATTEMPTS;

const home = makeDiskDirectory("rookery-attempts-");
afterAll(() => rmSync(home, { recursive: true }));

const MEMORY = "/dev/shm";
const isRoot = process.getuid?.() === 0;
const ALL_REFUSED = Object.keys(ATTEMPTS).map((name) => ({ name, outcome: "refused" }));

describe.each<[string, () => Sandbox]>([
  ["srt", srtSandbox],
  ["bwrap", bwrapSandbox],
])("in %s", needs("bwrap", "socat"), (kind, open) => {
  it("refuses every attempt and leaves nothing in the home", async () => {
    const sandbox = open();
    expect(await makeAttempts(sandbox, { home, env: process.env })).toEqual(ALL_REFUSED);
    await sandbox.close();
    expect(readdirSync(home)).toEqual([]);
  });

  it.runIf(existsSync(MEMORY))("runs commands for a home in /dev/shm", async () => {
    const own = mkdtempSync(join(MEMORY, "rookery-attempts-"));
    const sandbox = open();
    expect(await makeAttempts(sandbox, { home: own, env: process.env })).toEqual(ALL_REFUSED);
    await sandbox.close();
    rmSync(own, { recursive: true });
  });

  it.runIf(isRoot)("refuses every attempt of an account that is not root", async () => {
    const [uid, gid] = [65_534, 65_534];
    const own = makeDiskDirectory("rookery-nobody-");
    chownSync(own, uid, gid);
    const from = (file: string): string => JSON.stringify(join(import.meta.dirname, file));
    const program = `
      import { makeAttempts } from ${from("attempts.ts")};
      import { ${kind}Sandbox } from ${from(`${kind}-sandbox.ts`)};
      const sandbox = ${kind}Sandbox();
      const made = await makeAttempts(sandbox, { home: process.env.TMPDIR, env: process.env });
      await sandbox.close();
      console.log(JSON.stringify(made));`;
    const env = { PATH: "/usr/bin:/bin", HOME: "/nonexistent", TMPDIR: own };
    const args = ["--input-type=module", "-e", program];
    const { stdout } = await promisify(execFile)(process.execPath, args, { uid, gid, env, cwd: own });
    expect(JSON.parse(stdout)).toEqual(ALL_REFUSED);
    rmSync(own, { recursive: true });
  });
});

/** Bubblewrap without some of its arguments: `drop` is the body of a loop that gets each argument as `$1`. */
function bwrapWithout(drop: string): string {
  const file = join(home, "bwrap");
  const loop = `declare -a kept; while [ $# -gt 0 ]; do case "$1" in ${drop} *) kept+=("$1"); shift;; esac; done`;
  writeFileSync(file, `#!/bin/bash\n${loop}\nexec bwrap "\${kept[@]}"\n`);
  chmodSync(file, 0o755);
  return file;
}

it.each<[string, string, readonly AttemptName[]]>([
  ["has the network of the machine", "--unshare-net) shift;;", ["loopback"]],
  [
    "hides no directory",
    "--tmpfs|--size) shift 2;;",
    readdirSync(homedir()).length > 0 ? ["home", "otherWorkspace", "userHome"] : ["home", "otherWorkspace"],
  ],
  ["has no filter of new sockets", "*/apply-seccomp) shift;;", ["workspaceSocket", "readOnlySocket"]],
  ["has no filter of pairs of sockets", "--seccomp) shift 2;;", ["workspaceDatagram", "readOnlyDatagram"]],
  ...(isRoot
    ? [
        [
          "has a writable /proc/sys",
          '--ro-bind) [ "$2" = /proc/sys ] || kept+=("$1" "$2" "$3"); shift 3;;',
          ["procSys"],
        ] as [string, string, AttemptName[]],
      ]
    : []),
])("notices a sandbox that %s", needs("bwrap"), async (_, drop, names) => {
  const attempts = await makeAttempts(bwrapSandbox(bwrapWithout(drop)), { home, env: process.env });
  const succeeded = attempts.filter(({ outcome }) => outcome === "succeeded").map(({ name }) => name);
  expect(succeeded).toEqual(expect.arrayContaining([...names]));
});

it("rejects if the sandbox does not start, and tries nothing in Docker", async () => {
  const broken = bwrapSandbox("/bin/false");
  await expect(makeAttempts(broken, { home, env: process.env })).rejects.toMatchObject({ code: "denied" });
  const docker = await makeAttempts(dockerSandbox({ image: "debian", user: "1:1" }), { home, env: process.env });
  expect(new Set(docker.map(({ outcome }) => outcome))).toEqual(new Set(["untried"]));
});
