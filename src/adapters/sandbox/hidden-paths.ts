/**
 * What no command sees: people's home directories, temporary files, logs, sockets and secrets of the system. Programs that are
 * installed in a home directory stay visible, because they are found through `PATH`.
 */
import { basename, delimiter, dirname, isAbsolute, join } from "node:path";

const SYSTEM: readonly string[] = [
  "/root",
  "/home",
  "/tmp",
  "/var/tmp",
  // Sockets of services: a connection to one of them would leave the sandbox.
  "/run",
  "/var/run",
  "/var/log",
  "/var/spool",
  "/var/backups",
  "/var/lib/docker",
  "/etc/shadow",
  "/etc/gshadow",
  "/etc/shadow-",
  "/etc/gshadow-",
  "/etc/ssh",
  "/etc/ssl/private",
  "/etc/sudoers",
  "/etc/sudoers.d",
];

/** `userHome`: that of the account which runs this program. */
export const hiddenPaths = (userHome: string): readonly string[] => [
  ...new Set([...SYSTEM, ...(userHome === "/" ? [] : [userHome])]),
];

/** The directories of `PATH`, and the `lib` beside each `bin`. */
export function programPaths(path: string | undefined): readonly string[] {
  const directories = (path ?? "").split(delimiter).filter((directory) => isAbsolute(directory));
  return [
    ...new Set(
      directories.flatMap((directory) =>
        basename(directory) === "bin" ? [directory, join(dirname(directory), "lib")] : [directory],
      ),
    ),
  ];
}
