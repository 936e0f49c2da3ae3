/** Writes a file that only its owner can read: to a temporary file, then renamed. Durable when it returns. */
import { randomBytes } from "node:crypto";
import { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { FILE_MODE } from "../../config/paths.ts";
import { makeDirectory } from "./make-directory.ts";

export function writePrivateFile(file: string, text: string): void {
  makeDirectory(dirname(file));
  const temporary = `${file}.${process.pid}.${randomBytes(6).toString("hex")}.tmp`;
  const fd = openSync(temporary, "wx", FILE_MODE);
  try {
    // Not `writeSync`, which may write a part only.
    writeFileSync(fd, text);
    fsyncSync(fd);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, file);
  chmodSync(file, FILE_MODE);
  const directory = openSync(dirname(file), "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
