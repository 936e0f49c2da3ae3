/**
 * Changes the configuration or a prompt file for a command, as a change that is kept and can be undone (`rookery config changes`). The engine
 * that runs on the home makes it and takes it at once. Without one this process holds the home for the moment (M7).
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { HomeLockedError } from "../../core/errors.ts";
import { OWNER } from "../../core/people/person.ts";
import { EngineApi } from "../client/engine-api.ts";
import type { CommandContext } from "./command.ts";

type Place = Pick<CommandContext, "home" | "paths" | "env">;

interface NewText {
  /** Absolute, or relative to the home. */
  readonly file: string;
  readonly text: string;
  readonly why: string;
  /** The text that was read; null: there was no file. If the file is another one by now, nothing is changed. */
  readonly before?: string | null;
}

/** How long it waits for a process that holds the home and does not answer. */
const HELD_MS = 5_000;
const RETRY_MS = 50;

export const readIfThere = (file: string): string | null => (existsSync(file) ? readFileSync(file, "utf8") : null);

/** The number of the change; undefined if the file is like that already. Durable when it resolves. */
export async function changeFile(place: Place, change: NewText, heldMs = HELD_MS): Promise<number | undefined> {
  const { findEngine } = await import("../gateway/control/find-engine.ts");
  const until = performance.now() + heldMs;
  for (;;) {
    const transport = await findEngine(place.home);
    if (transport) return byEngine(new EngineApi(transport), change);
    try {
      return await byThisProcess(place, change);
    } catch (error) {
      if (!(error instanceof HomeLockedError) || performance.now() >= until) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function byEngine(api: EngineApi, { file, text, why, before }: NewText): Promise<number | undefined> {
  const body = { file, text, why, expect: versionOf(before) };
  return (await api.post<{ readonly id?: number }>("/api/changes", body)).id;
}

async function byThisProcess({ home, paths, env }: Place, change: NewText): Promise<number | undefined> {
  const { createHome } = await import("../../config/create-home.ts");
  const { lockHome } = await import("../../adapters/store/sqlite/home-lock.ts");
  const { nodeChanges } = await import("../node/node-changes.ts");
  const { loadConfig } = await import("../../config/load-config.ts");
  const { systemClock: clock } = await import("../../adapters/system/system-clock.ts");
  await createHome(paths);
  const lock = lockHome(home);
  try {
    // An invalid configuration names no workspaces; it can still be changed to a valid one.
    const { profiles } = await loadConfig(paths, env).then(
      ({ config }) => config,
      () => ({ profiles: {} }),
    );
    const { file, text, why, before } = change;
    const written = { by: { person: OWNER, surface: "cli" }, why, expect: versionOf(before) };
    return (await nodeChanges({ settings: { current: { profiles } }, paths, clock, env }).write(file, text, written))
      ?.id;
  } finally {
    lock.release();
  }
}

/** As the history of changes names a version. */
const versionOf = (text: string | null | undefined): string | null | undefined =>
  typeof text === "string" ? createHash("sha256").update(text).digest("hex") : text;
