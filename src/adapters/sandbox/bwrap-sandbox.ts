/**
 * Bubblewrap alone: namespaces for files, processes and network. A command has no network. Sockets of services are hidden with
 * the directories they are in.
 */
import { type Mount, mountsOf } from "./mounts.ts";
import type { Sandbox, SandboxPolicy } from "./sandbox.ts";

const NAMESPACES: readonly string[] = [
  ...["--new-session", "--die-with-parent", "--cap-drop", "ALL"],
  ...["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
];

export const bwrapSandbox = (program = "bwrap"): Sandbox => ({
  kind: "bwrap",
  filtersNetwork: false,
  async wrap(argv, policy) {
    return { argv: [program, ...bwrapArguments(await mountsOf(policy), policy), "--", ...argv], release: () => {} };
  },
  close: async () => {},
});

export const bwrapArguments = (mounts: readonly Mount[], { cwd }: Pick<SandboxPolicy, "cwd">): readonly string[] => [
  ...NAMESPACES,
  ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"],
  ...mounts.flatMap(mountArguments),
  ...["--setenv", "TMPDIR", "/tmp", "--chdir", cwd],
];

function mountArguments({ path, mode, isDirectory }: Mount): readonly string[] {
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
