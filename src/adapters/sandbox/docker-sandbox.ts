/**
 * Docker: for systems without namespaces for programs, such as macOS. The container sees the granted directories and nothing
 * else of the disk, and has no network.
 */
import { InvalidInputError } from "../../core/errors.ts";
import { type Mount, mountsOf } from "./mounts.ts";
import type { Sandbox, SandboxPolicy } from "./sandbox.ts";

interface DockerOptions {
  /** An image with the programs that commands need. It is never pulled here. */
  readonly image: string;
  /** The user that owns the files, as `id:group`. */
  readonly user: string;
  readonly program?: string;
}

export const dockerSandbox = (options: DockerOptions): Sandbox => ({
  kind: "docker",
  filtersNetwork: false,
  async wrap(argv, policy, names) {
    const { program = "docker" } = options;
    const mounts = await mountsOf(policy);
    mounts.forEach(checkWritten);
    const args = dockerArguments(mounts, policy, names, options);
    return { argv: [program, ...args, ...argv], release: () => {} };
  },
  close: async () => {},
});

function checkWritten({ path }: Mount): void {
  if (/[",]/.test(path)) throw new InvalidInputError(`${path} has a comma or a quote, which Docker cannot mount.`);
}

const dockerArguments = (
  mounts: readonly Mount[],
  { cwd }: Pick<SandboxPolicy, "cwd">,
  names: readonly string[],
  { image, user }: Pick<DockerOptions, "image" | "user">,
): readonly string[] => [
  ...["run", "--rm", "--init", "--interactive", "--pull", "never", "--network", "none"],
  ...["--read-only", "--tmpfs", "/tmp", "--user", user],
  ...["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--pids-limit", "512"],
  ...mounts.flatMap(mountArguments),
  // Only names: the values come from the environment of the docker client and appear in no list of processes.
  ...names.flatMap((name) => ["--env", name]),
  ...["--workdir", cwd, image],
];

function mountArguments({ path, mode, isDirectory }: Mount): readonly string[] {
  switch (mode) {
    case "write":
      return ["--mount", `type=bind,source=${path},target=${path}`];
    case "freeze":
      return ["--mount", `type=bind,source=${path},target=${path},readonly`];
    case "hide":
      return [
        "--mount",
        isDirectory ? `type=tmpfs,target=${path}` : `type=bind,source=/dev/null,target=${path},readonly`,
      ];
    // Programs of the host do not run in the image.
    case "read":
      return [];
  }
}
