/**
 * Bubblewrap without a proxy: namespaces for files, processes and network, and the filters of system calls. A command has no network
 * and reaches no Unix socket.
 */
import { execFile } from "node:child_process";
import { type Mount, mountsOf } from "./mounts.ts";
import { procMounts } from "./proc-mounts.ts";
import type { Sandbox, SandboxPolicy } from "./sandbox.ts";
import { filterArguments, HELPER_CAPABILITIES, socketHelper, vendorDirectory, withFilter } from "./socket-filter.ts";

const NAMESPACES: readonly string[] = [
  ...["--new-session", "--die-with-parent", "--cap-drop", "ALL"],
  ...["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
];

/** Directories in memory that no limit of memory counts. */
const TMP_BYTES = 1024 ** 3;
const OTHER_BYTES = 256 * 1024 ** 2;

/** Gives each directory in memory a limited size, and keeps the others in `/dev` read-only. */
export function withSizes(args: readonly string[]): readonly string[] {
  return args.flatMap((word, index) => {
    if (word === "--tmpfs") return ["--size", String(args[index + 1] === "/tmp" ? TMP_BYTES : OTHER_BYTES), word];
    const isDevices = word === "/dev" && args[index - 1] === "--dev";
    return isDevices ? [word, "--size", String(OTHER_BYTES), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"] : [word];
  });
}

const programs = new Map<string, Promise<boolean>>();

/** Old versions of bubblewrap have no sizes: there a directory in memory may fill half of it. */
export function hasSizes(program: string): Promise<boolean> {
  const known =
    programs.get(program) ??
    new Promise<boolean>((resolve) => {
      execFile(program, ["--help"], { timeout: 10_000 }, (_, stdout) => resolve(stdout.includes("--size ")));
    });
  programs.set(program, known);
  return known;
}

export const bwrapSandbox = (program = "bwrap"): Sandbox => ({
  kind: "bwrap",
  filtersNetwork: false,
  async wrap(argv, policy) {
    const release = (): void => {};
    const sized = (await hasSizes(program)) ? withSizes : (args: readonly string[]) => args;
    const helper = policy.sockets ? undefined : socketHelper();
    if (helper === undefined) {
      return { argv: [program, ...sized(bwrapArguments(await mountsOf(policy), policy)), "--", ...argv], release };
    }
    const mounts = await mountsOf({ ...policy, readable: [...policy.readable, vendorDirectory()] });
    const args = [...sized(bwrapArguments(mounts, policy)), ...filterArguments(), ...HELPER_CAPABILITIES];
    return { argv: withFilter([program, ...args, "--", helper, ...argv]), release };
  },
  close: async () => {},
});

const bwrapArguments = (mounts: readonly Mount[], { cwd }: Pick<SandboxPolicy, "cwd">): readonly string[] => [
  ...NAMESPACES,
  ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", ...procMounts()],
  ...mounts.flatMap(mountArguments),
  ...["--setenv", "TMPDIR", "/tmp", "--chdir", cwd],
];

export function mountArguments({ path, mode, isDirectory }: Mount): readonly string[] {
  switch (mode) {
    case "write":
      return ["--bind", path, path];
    case "hide":
      return isDirectory ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path];
    case "read":
    case "freeze":
      return ["--ro-bind", path, path];
  }
}
