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

/** A program with the arguments of `docker run`, whose container is bubblewrap with these directories of the machine as its image. */
function dockerOf(image: string): Sandbox {
  const program = join(home, "docker");
  const binds = 'declare -a binds; while [ "$1" != debian ]; do case "$1" in';
  const mount =
    '--mount) path=$(sed "s/.*source=//; s/,.*//" <<<"$2"); case "$2" in type=bind*) binds+=(--bind "$path" "$path");; esac; shift 2;;';
  const proc = ["sys", "irq", "bus"].map((name) => `--ro-bind /proc/${name} /proc/${name}`).join(" ");
  const run = `exec bwrap --unshare-all --proc /proc --dev /dev --tmpfs /tmp ${proc} ${image} "\${binds[@]}" "$@"`;
  writeFileSync(program, `#!/bin/bash\n${binds} ${mount} *) shift;; esac; done; shift\n${run}\n`);
  chmodSync(program, 0o755);
  return dockerSandbox({ image: "debian", user: "1:1", program });
}
const ROOT = ["/usr", "/bin", "/lib", "/lib64"].map((path) => `--ro-bind-try ${path} ${path}`).join(" ");

it(
  "makes the attempts in a Docker container, which reaches the sockets of its directories",
  needs("bwrap"),
  async () => {
    const attempts = await makeAttempts(dockerOf(ROOT), { home, env: process.env });
    const of = (wanted: string) => attempts.filter(({ outcome }) => outcome === wanted).map(({ name }) => name);
    expect(of("succeeded")).toContain("workspaceSocket");
    expect(of("refused")).toEqual(
      expect.arrayContaining(["loopback", "outside", "home", "userHome", "otherWorkspace"]),
    );
  },
);

it("rejects if the sandbox does not start, and if the Docker image has no node", needs("bwrap"), async () => {
  const dockers = [dockerSandbox({ image: "debian", user: "1:1", program: "/bin/false" }), dockerOf("")];
  for (const broken of [bwrapSandbox("/bin/false"), ...dockers])
    await expect(makeAttempts(broken, { home, env: process.env })).rejects.toMatchObject({ code: "denied" });
});
