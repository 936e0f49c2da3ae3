/**
 * The parts of `/proc` that change the whole machine, as read-only mounts. The kernel checks the real user there, so root in a sandbox
 * could write them without any capability.
 */
import { existsSync } from "node:fs";

const PROC_PATHS: readonly string[] = ["/proc/sys", "/proc/irq", "/proc/bus"];

/** Arguments of bubblewrap, for after `--proc /proc`. */
export const procMounts = (): readonly string[] =>
  PROC_PATHS.filter((path) => existsSync(path)).flatMap((path) => ["--ro-bind", path, path]);
