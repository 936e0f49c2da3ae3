/**
 * Chooses the sandbox of this machine: the sandbox runtime, else bubblewrap without network, else Docker. Without one of them no
 * command runs in a sandbox, and the refusal says what to install.
 */
import { execFile } from "node:child_process";
import { DeniedError } from "../../core/errors.ts";
import { bwrapSandbox } from "./bwrap-sandbox.ts";
import { dockerSandbox } from "./docker-sandbox.ts";
import type { Sandbox, SandboxKind } from "./sandbox.ts";
import { srtProblem, srtSandbox } from "./srt-sandbox.ts";

export interface SandboxSettings {
  /** `auto`: the first that works. */
  readonly sandbox: SandboxKind | "auto";
  /** The image for Docker. Without one Docker is not used. */
  readonly dockerImage?: string;
}

/** Why each kind cannot be used; undefined: it can. */
interface SandboxProbes {
  srt(): Promise<string | undefined>;
  bwrap(): Promise<string | undefined>;
  docker(image: string | undefined): Promise<string | undefined>;
}

interface SandboxChoice {
  readonly sandbox?: Sandbox;
  /** What was tried before it and does not work here. */
  readonly problems: readonly string[];
}

export const INSTALL = "Install bubblewrap and socat (Debian: apt install bubblewrap socat).";

export async function openSandbox(settings: SandboxSettings, probes = systemProbes): Promise<SandboxChoice> {
  const { sandbox: wanted, dockerImage: image } = settings;
  const user = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
  const kinds: readonly { readonly kind: SandboxKind; probe(): Promise<string | undefined>; open(): Sandbox }[] = [
    { kind: "srt", probe: probes.srt, open: srtSandbox },
    { kind: "bwrap", probe: probes.bwrap, open: () => bwrapSandbox() },
    { kind: "docker", probe: () => probes.docker(image), open: () => dockerSandbox({ image: image ?? "", user }) },
  ];
  const problems: string[] = [];
  for (const { kind, probe, open } of kinds) {
    if (wanted !== "auto" && wanted !== kind) continue;
    const problem = await probe();
    if (problem === undefined) return { sandbox: open(), problems };
    problems.push(`${kind}: ${problem}`);
  }
  return { problems };
}

/** The refusal of a command that has no sandbox. */
export const noSandbox = ({ problems }: SandboxChoice): DeniedError =>
  new DeniedError(`There is no sandbox on this machine (${problems.join(". ")}).`, { hint: INSTALL });

const bwrapFails = (): Promise<string | undefined> =>
  fails("bwrap", ["--ro-bind", "/", "/", "--unshare-user", "--unshare-net", "--unshare-pid", "true"]);

const systemProbes: SandboxProbes = {
  srt: async () => (await srtProblem()) ?? (process.platform === "linux" ? bwrapFails() : undefined),
  bwrap: bwrapFails,
  docker: async (image) =>
    image === undefined ? "exec.dockerImage is not set" : fails("docker", ["image", "inspect", image]),
};

/** Why a program does not work; undefined if it does. */
const fails = (program: string, args: readonly string[]): Promise<string | undefined> =>
  new Promise((resolve) => {
    execFile(program, args, { timeout: 10_000, maxBuffer: 1_000_000 }, (error, _stdout, stderr) => {
      if (!error) return resolve(undefined);
      const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
      resolve(isMissing ? `${program} is not installed` : `${program} fails: ${firstLine(stderr) || error.message}`);
    });
  });

const firstLine = (text: string): string => text.split("\n", 1)[0]?.slice(0, 200) ?? "";
