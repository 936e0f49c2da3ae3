/**
 * Bubblewrap without a proxy: namespaces for files, processes and network, and the filters of system calls. A command has no network
 * and reaches no Unix socket.
 */
import { type Mount, mountsOf } from "./mounts.ts";
import { procMounts } from "./proc-mounts.ts";
import type { Sandbox, SandboxPolicy } from "./sandbox.ts";
import { filterArguments, HELPER_CAPABILITIES, socketHelper, vendorDirectory, withFilter } from "./socket-filter.ts";

const NAMESPACES: readonly string[] = [
  ...["--new-session", "--die-with-parent", "--cap-drop", "ALL"],
  ...["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
];

export const bwrapSandbox = (program = "bwrap"): Sandbox => ({
  kind: "bwrap",
  filtersNetwork: false,
  async wrap(argv, policy) {
    const release = (): void => {};
    const helper = policy.sockets ? undefined : socketHelper();
    if (helper === undefined) {
      return { argv: [program, ...bwrapArguments(await mountsOf(policy), policy), "--", ...argv], release };
    }
    const mounts = await mountsOf({ ...policy, readable: [...policy.readable, vendorDirectory()] });
    const args = [...bwrapArguments(mounts, policy), ...filterArguments(), ...HELPER_CAPABILITIES];
    return { argv: withFilter([program, ...args, "--", helper, ...argv]), release };
  },
  close: async () => {},
});

export const bwrapArguments = (mounts: readonly Mount[], { cwd }: Pick<SandboxPolicy, "cwd">): readonly string[] => [
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
