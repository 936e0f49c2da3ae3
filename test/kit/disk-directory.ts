/** Directories of tests on the disk. Sandboxed commands need them: a sandbox has its own `/dev/shm`. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The directory of the test run, or that of the system outside a run. */
export const DISK = process.env.ROOKERY_TEST_RUN ?? tmpdir();

export const makeDiskDirectory = (prefix: string): string => mkdtempSync(join(DISK, prefix));
