/** Runs the working process of the kill tests under `strace` and records every write and flush in order. */
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const CHILD = fileURLToPath(new URL("../store/child.ts", import.meta.url));
const CALLS = [
  "openat",
  "open",
  "creat",
  "write",
  "writev",
  "pwrite64",
  "pwritev",
  "ftruncate",
  "truncate",
  "fallocate",
  "fsync",
  "fdatasync",
  "sync_file_range",
  "rename",
  "renameat",
  "renameat2",
  "unlink",
  "unlinkat",
  "mkdir",
  "mkdirat",
  "link",
  "linkat",
  "symlink",
  "symlinkat",
];

export interface Recording {
  readonly home: string;
  readonly traceFile: string;
}

export function record(root: string, synchronous: "full" | "normal" | "off", promises: number): Recording {
  const home = join(root, "home");
  mkdirSync(home);
  const traceFile = join(root, "trace.log");
  const work = [
    "--home",
    home,
    "--synchronous",
    synchronous,
    "--promises",
    String(promises),
    "--writers",
    "6",
    "--agents",
    "3",
  ];
  // Data in full and in hexadecimal, descriptors with their paths, all threads.
  const trace = ["-f", "-y", "-xx", "-s", "10000000", "-e", `trace=${CALLS.join(",")}`, "-o", traceFile];
  const done = spawnSync("strace", [...trace, process.execPath, CHILD, ...work], {
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  if (done.status !== 0) throw new Error(`The recorded process failed (${done.status ?? done.signal}): ${done.stderr}`);
  return { home, traceFile };
}
