/**
 * The tools of a server as they were when they were pinned: name, description and schema, in `mcp/<server>.json` of the home. Agents see
 * the pinned texts only. A tool whose live description differs is not called until a person pins it again (L13).
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { FILE_MODE } from "../../../config/paths.ts";
import { makeDirectory } from "../../system/make-directory.ts";
import type { ServerTool } from "./open-session.ts";

const MAX_DESCRIPTION = 1_000;
const MAX_SCHEMA = 20_000;

const pinnedToolSchema = z.object({
  name: z.string(),
  description: z.string(),
  parameters: z.record(z.string(), z.unknown()),
  /** Of name, description and schema as the server sent them, whatever the order of keys. */
  hash: z.string(),
});
export type PinnedTool = z.infer<typeof pinnedToolSchema>;

const pinsSchema = z.object({
  version: z.literal(1),
  /** Whether a person has looked at these texts. Without that they are untrusted (M32). */
  reviewed: z.boolean(),
  pinnedAt: z.number(),
  tools: z.array(pinnedToolSchema),
});
export type Pins = z.infer<typeof pinsSchema>;

export const pinsFile = (directory: string, server: string): string => join(directory, `${server}.json`);

/** Undefined if there are none, or if the file cannot be read: then the server is asked again. */
export function readPins(directory: string, server: string): Pins | undefined {
  try {
    return pinsSchema.parse(JSON.parse(readFileSync(pinsFile(directory, server), "utf8")));
  } catch {
    return undefined;
  }
}

export function writePins(directory: string, server: string, pins: Pins): void {
  const file = pinsFile(directory, server);
  makeDirectory(dirname(file));
  writeFileSync(`${file}.new`, `${JSON.stringify(pins, null, 2)}\n`, { mode: FILE_MODE });
  renameSync(`${file}.new`, file);
}

/** For a home from elsewhere: nobody here has looked at its texts. Returns the servers that counted as reviewed. */
export function forgetReviews(directory: string): readonly string[] {
  const entries = existsSync(directory) ? readdirSync(directory, { withFileTypes: true }) : [];
  return entries.flatMap((entry) => {
    const server = entry.name.endsWith(".json") ? entry.name.slice(0, -".json".length) : undefined;
    if (server === undefined || entry.isDirectory()) return [];
    const pins = entry.isFile() ? readPins(directory, server) : undefined;
    if (pins?.reviewed) writePins(directory, server, { ...pins, reviewed: false });
    return pins?.reviewed ? [server] : [];
  });
}

/** Undefined for a tool that cannot be offered: without a usable name or with a schema that is too large. */
export function pinned(tool: ServerTool): PinnedTool | undefined {
  const { name, description = "", inputSchema } = tool;
  if (!/^[A-Za-z0-9_./-]{1,128}$/.test(name)) return undefined;
  const schema = JSON.stringify(inputSchema);
  if (schema.length > MAX_SCHEMA) return undefined;
  return {
    name,
    description: plain(description).slice(0, MAX_DESCRIPTION).toWellFormed(),
    parameters: inputSchema as Record<string, unknown>,
    hash: createHash("sha256")
      .update(JSON.stringify([name, description, JSON.stringify(inputSchema, inOrder)]))
      .digest("hex"),
  };
}

/** The keys of objects by name: versions of the protocol write the same schema in different orders. */
const inOrder = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

/** On one line, without control characters: a description cannot pretend to be another part of the prompt. */
const plain = (text: string): string => text.replace(/[\s\p{Cc}\p{Cf}]+/gu, " ").trim();

export interface PinChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

export function comparePins(pins: readonly PinnedTool[], live: readonly PinnedTool[]): PinChanges {
  const before = new Map(pins.map(({ name, hash }) => [name, hash]));
  const now = new Map(live.map(({ name, hash }) => [name, hash]));
  return {
    added: [...now.keys()].filter((name) => !before.has(name)),
    removed: [...before.keys()].filter((name) => !now.has(name)),
    changed: [...now].flatMap(([name, hash]) => (before.has(name) && before.get(name) !== hash ? [name] : [])),
  };
}
