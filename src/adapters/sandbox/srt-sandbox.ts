/**
 * `@anthropic-ai/sandbox-runtime`: bubblewrap with a filter of system calls, and a proxy that lets a command reach the hosts of
 * its own list. The runtime has one instance in a process, so all nodes of a process share it.
 */

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { InvariantError } from "../../core/errors.ts";
import { SPECIAL_RANGES } from "../system/public-address.ts";
import { hasSizes, mountArguments, withSizes } from "./bwrap-sandbox.ts";
import { type Mount, mountsOf } from "./mounts.ts";
import { procMounts } from "./proc-mounts.ts";
import { quoteShell, splitQuoted } from "./quote-shell.ts";
import type { Sandbox } from "./sandbox.ts";
import { filterArguments, HELPER_CAPABILITIES, socketHelper, vendorDirectory, withFilter } from "./socket-filter.ts";

type Runtime = typeof import("@anthropic-ai/sandbox-runtime");
type Manager = Runtime["SandboxManager"];

/** Why the runtime cannot be used here; undefined if it can. */
export async function srtProblem(): Promise<string | undefined> {
  const manager = await load().catch(() => undefined);
  if (!manager) return "the package @anthropic-ai/sandbox-runtime is not installed";
  if (!manager.isSupportedPlatform()) return "it does not support this system";
  const { errors } = manager.checkDependencies(NO_SEARCH);
  return errors.length === 0 ? undefined : errors.join("; ");
}

export const srtSandbox = (): Sandbox => {
  const user = {};
  return {
    kind: "srt",
    filtersNetwork: true,
    async wrap(argv, policy, _names, signal) {
      const manager = await started();
      users.add(user);
      const mounts = await mountsOf(policy);
      const of = (...modes: readonly string[]) =>
        mounts.filter(({ mode }) => modes.includes(mode)).map(({ path }) => ({ path, literal: true as const }));
      const socket = manager.getLinuxHttpSocketPath();
      const own = [vendorDirectory(), ...(socket === undefined ? [] : [socket])];
      // The id binds connections to the list of this command, so it must not be guessable.
      const commandId = randomBytes(24).toString("base64url");
      const command = `cd ${quoteShell([policy.cwd])} && TMPDIR=/tmp exec ${quoteShell(argv)}`;
      const config = {
        network: { allowedDomains: [], deniedDomains: [] },
        mandatoryDenySearchDepth: 1,
        filesystem: {
          denyRead: of("hide"),
          allowRead: [...of("read"), ...own.map((path) => ({ path, literal: true as const }))],
          allowWrite: of("write"),
          denyWrite: of("freeze"),
        },
      };
      const wrapped = await withSockets(manager, policy.sockets ?? false, () =>
        manager.wrapWithSandboxArgv(command, SHELL, config, signal, policy.cwd, { commandId }),
      );
      const confined =
        process.platform === "linux" ? await confine(wrapped.argv, mounts, policy.sockets ?? false) : wrapped.argv;
      manager.registerCommandNetworkLists(commandId, { allowedDomains: [...policy.domains] });
      let isReleased = false;
      return {
        argv: confined,
        release() {
          if (isReleased) return;
          isReleased = true;
          manager.unregisterCommandNetworkLists(commandId);
          manager.cleanupAfterCommand();
        },
      };
    },
    async close() {
      // Commands of another one still need its proxy.
      if (users.delete(user) && users.size === 0) await reset();
    },
  };
};

/**
 * Completes what the runtime leaves open: it makes a shell and a line that starts bubblewrap. Its words are started as they are, with the
 * read-only parts of `/proc` after the mount of `/proc`, with the directories of the policy in `/dev/shm`, which the `/dev` of the
 * runtime covers, and with the second filter of sockets around its own. That filter cannot hold for the whole sandbox, because the
 * relays to the proxy need such sockets.
 */
async function confine(
  argv: readonly string[],
  mounts: readonly Mount[],
  sockets: boolean,
): Promise<readonly string[]> {
  const words = splitQuoted(argv[2] ?? "");
  const at = words.findIndex((word, index) => word === "--proc" && words[index + 1] === "/proc") + 2;
  if (at < 2) throw unknownStart();
  const devices = mounts.filter(({ path }) => path.startsWith("/dev/")).flatMap(mountArguments);
  const all = [...words.slice(0, at), ...procMounts(), ...devices, ...words.slice(at, -1)];
  const before = (await hasSizes(words[0] ?? "")) ? withSizes(all) : all;
  const line = words.at(-1) ?? "";
  return sockets ? [...before, line] : withFilter([...before, withInnerFilter(line)]);
}

/** In the line, the script that starts the relays and then the helper of the runtime, which starts the command. */
function withInnerFilter(line: string): string {
  const [shell = "", option = "", script = ""] = splitQuoted(line);
  const helper = ` ${quoteShell([socketHelper() ?? ""])} `;
  const at = script.indexOf(helper);
  if (at === -1) throw unknownStart();
  const around = ["bwrap", "--die-with-parent", "--unshare-user", ...HELPER_CAPABILITIES, "--dev-bind", "/", "/"];
  const inner = ` ${quoteShell([...around, ...filterArguments(), "--"])}`;
  return quoteShell([shell, option, `${script.slice(0, at)}${inner}${script.slice(at)}`]);
}

const unknownStart = (): InvariantError =>
  new InvariantError("The sandbox runtime starts commands in a way that is not known here.");

const SHELL = existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh";

let starting: Promise<Manager> | undefined;
/** The sandboxes that have made a command and are open. */
const users = new Set<object>();

/** Starts the runtime once. */
function started(): Promise<Manager> {
  starting ??= start().catch((error) => {
    starting = undefined;
    throw error;
  });
  return starting;
}

async function reset(): Promise<void> {
  const manager = await starting?.catch(() => undefined);
  starting = undefined;
  await manager?.reset();
}

const settings = (allowAllUnixSockets: boolean) => ({
  network: {
    allowedDomains: [],
    deniedDomains: [],
    deniedResolvedAddresses: [...SPECIAL_RANGES],
    allowAllUnixSockets,
  },
  filesystem: { denyRead: [], allowWrite: [], denyWrite: [] },
  ripgrep: NO_SEARCH,
});

let turn: Promise<unknown> = Promise.resolve();

/** Sockets are a setting of the whole runtime: commands are made one after the other, so that each gets its own. */
function withSockets<Result>(manager: Manager, sockets: boolean, make: () => Promise<Result>): Promise<Result> {
  const made = turn.then(async () => {
    if (!sockets) return make();
    manager.updateConfig(settings(true));
    try {
      return await make();
    } finally {
      manager.updateConfig(settings(false));
    }
  });
  turn = made.catch(() => undefined);
  return made;
}

async function start(): Promise<Manager> {
  const manager = await load();
  const before = SIGNALS.map((signal) => process.listeners(signal));
  await manager.initialize(settings(false));
  // It adds listeners that clean up and do not exit. With one of them the process would ignore the signal.
  SIGNALS.forEach((signal, index) => {
    for (const listener of process.listeners(signal)) {
      if (!before[index]?.includes(listener)) process.removeListener(signal, listener);
    }
  });
  return manager;
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

const load = async (): Promise<Manager> => (await import("@anthropic-ai/sandbox-runtime")).SandboxManager;

/**
 * It searches the working directory of this process for files to protect, before every command. That directory is not the
 * workspace and is read-only in the sandbox, so the search is replaced by a program that finds nothing.
 */
const NO_SEARCH = { command: "true" };
