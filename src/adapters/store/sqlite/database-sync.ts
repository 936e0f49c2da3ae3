/**
 * Opens a database of Node's SQLite, which is loaded at the first use: a program on a Node without it can still say which Node it
 * needs, because an import that fails would end the program before its first line.
 */
import type { DatabaseSync, DatabaseSyncOptions } from "node:sqlite";

export const openDatabaseSync = (path: string, options: DatabaseSyncOptions = {}): DatabaseSync =>
  new (process.getBuiltinModule("node:sqlite").DatabaseSync)(path, options);
