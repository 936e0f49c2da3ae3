/** The numbered files of SQL that a store brings, each of which changes its schema once. */
import { readdirSync, readFileSync } from "node:fs";

export interface Migration {
  readonly version: number;
  /** The file's name without its ending. */
  readonly name: string;
  readonly sql: string;
}

/** In the order of their numbers. Files of other kinds are none. */
export const readMigrations = (folder: URL): readonly Migration[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith(".sql"))
    .map((file) => ({
      version: Number.parseInt(file, 10),
      name: file.slice(0, -".sql".length),
      sql: readFileSync(new URL(file, folder), "utf8"),
    }))
    .sort((a, b) => a.version - b.version);
