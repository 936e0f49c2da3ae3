/** Programs that tests start and that a machine may not have. One that does not work here counts as missing. */
import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { openSandbox } from "../../src/adapters/sandbox/open-sandbox.ts";

/** The path that docs/mcp.md names. */
export const CHROMIUM = "/usr/bin/chromium";
/** Only root has its directory in the path. */
export const SSHD = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"].find((path) => existsSync(path)) ?? "/usr/sbin/sshd";

interface TestProgram {
  /** Debian's package. */
  readonly from: string;
  /** Returns why it cannot be used here, or undefined if it can. */
  problem(): Promise<string | undefined>;
}

const PROGRAMS = {
  bwrap: { from: "bubblewrap", problem: async () => (await openSandbox({ sandbox: "bwrap" })).problems[0] },
  socat: { from: "socat", problem: () => problemOf("socat", "-V") },
  chromium: { from: "chromium", problem: () => problemOf(CHROMIUM, "--version") },
  strace: { from: "strace", problem: () => problemOf("strace", "-f", "-o", "/dev/null", "true") },
  tmux: { from: "tmux", problem: () => problemOf("tmux", "-V") },
  ssh: { from: "openssh-client", problem: () => problemOf("ssh", "-V") },
  sshd: { from: "openssh-server", problem: async () => (existsSync(SSHD) ? undefined : NOT_INSTALLED) },
  zsh: { from: "zsh", problem: () => problemOf("zsh", "--version") },
  fish: { from: "fish", problem: () => problemOf("fish", "--version") },
  openssl: { from: "openssl", problem: () => problemOf("openssl", "version") },
  setsid: { from: "util-linux", problem: () => problemOf("setsid", "--version") },
  "systemd-analyze": { from: "systemd", problem: () => problemOf("systemd-analyze", "--version") },
} as const satisfies Record<string, TestProgram>;

const NOT_INSTALLED = "not installed";
const PROBE_MS = 30_000;

export type ProgramName = keyof typeof PROGRAMS;

/** Each missing program with the reason. */
export type MissingPrograms = Partial<Record<ProgramName, string>>;

declare module "vitest" {
  interface ProvidedContext {
    missingPrograms: MissingPrograms;
  }
  interface TaskMeta {
    /** The programs for which a test is skipped. */
    missingPrograms?: readonly ProgramName[];
  }
}

export async function findMissingPrograms(): Promise<MissingPrograms> {
  const names = Object.keys(PROGRAMS) as ProgramName[];
  const found = await Promise.all(names.map(async (name) => [name, await PROGRAMS[name].problem()] as const));
  return Object.fromEntries(found.filter(([, problem]) => problem !== undefined));
}

function problemOf(program: string, ...args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: PROBE_MS }, (error, _stdout, stderr) => {
      if (!error) return resolve(undefined);
      if (error.code === "ENOENT") return resolve(NOT_INSTALLED);
      resolve(stderr.trim().split("\n", 1)[0] || error.message);
    });
  });
}

const APT = "apt-get install --yes --no-install-recommends";

export const installCommand = (names: readonly ProgramName[]): string =>
  `sudo ${APT} ${names.map((name) => PROGRAMS[name].from).join(" ")}`;

/** Whether tests may install packages: never on someone's own machine without being asked. */
export const mayInstall = (env: NodeJS.ProcessEnv): boolean => env.CI === "true" || env.ROOKERY_TEST_INSTALL === "1";

export function installPrograms(names: readonly ProgramName[]): void {
  const sudo = process.getuid?.() === 0 ? "" : "sudo ";
  const packages = names.map((name) => PROGRAMS[name].from).join(" ");
  spawnSync("/bin/sh", ["-c", `${sudo}apt-get update && ${sudo}${APT} ${packages}`], { stdio: "inherit" });
}

/** The last lines of a run: its skipped tests, each given as the programs that it misses. Empty without one. */
export function describeSkipped(
  missing: MissingPrograms,
  skipped: readonly (readonly ProgramName[])[],
  tests: number,
): string {
  const names = (Object.keys(missing) as ProgramName[]).filter((name) =>
    skipped.some((needed) => needed.includes(name)),
  );
  if (names.length === 0) return "";
  const share = ((100 * skipped.length) / tests).toFixed(1);
  const lines = names.map((name) => {
    const count = skipped.filter((needed) => needed.includes(name)).length;
    return `  ${name} (${missing[name]}): ${count} skipped`;
  });
  return [
    `Skipped ${skipped.length} of ${tests} tests (${share} %) because programs are missing:`,
    ...lines,
    `To run them: ${installCommand(names)}`,
  ].join("\n");
}
