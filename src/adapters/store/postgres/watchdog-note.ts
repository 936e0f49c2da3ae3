/**
 * Writes a watchdog's note to the shared database over a connection of its own, from the watchdog's thread, while the
 * engine's thread is blocked (M34). So the node that takes the run over knows what happened.
 */
import pg from "pg";
import type { WatchdogNote } from "../../../core/run/trial.ts";
import { watchdogKey } from "../../../core/run/watchdog-note.ts";

interface SharedNoteOptions {
  readonly url: string;
  readonly schema: string;
}

const CONNECT_MS = 1_500;

/** Resolves when the note is durable. */
export async function writeSharedNote({ url, schema }: SharedNoteOptions, note: WatchdogNote): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    application_name: "rookery watchdog",
    connectionTimeoutMillis: CONNECT_MS,
  });
  await client.connect();
  try {
    await client.query(
      `INSERT INTO ${client.escapeIdentifier(schema)}.facts (key, value) VALUES ($1, $2)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
      [watchdogKey(note.runId), JSON.stringify(note)],
    );
  } finally {
    await client.end();
  }
}
