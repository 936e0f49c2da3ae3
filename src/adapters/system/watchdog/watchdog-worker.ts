/**
 * The watchdog's thread. When the engine's thread is blocked, or a stop takes too long, it makes the note durable and ends the
 * process. It uses nothing that needs the engine's thread (M34).
 */
import { writeSync } from "node:fs";
import { workerData } from "node:worker_threads";
import { type EndedNote, removeNote, writeNote } from "./note-file.ts";
import { type WatchLimits, watching } from "./watch.ts";
import { WatchdogMemory } from "./watchdog-memory.ts";

export interface WatchdogData extends WatchLimits {
  readonly buffer: SharedArrayBuffer;
  readonly file: string;
  /** A module that writes the note to a shared store over a connection of its own, and what it needs. */
  readonly shared?: { readonly module: string; readonly options: unknown };
}

/** The exports of the module of `shared`. */
interface SharedNoteModule {
  /** Resolves when the note is durable in the store. */
  writeSharedNote(options: unknown, note: EndedNote): Promise<void>;
}

/** The process must end soon: other nodes take its runs over when its lease ends. */
const SHARED_MS = 2_000;

const data = workerData as WatchdogData;
const memory = new WatchdogMemory(data.buffer);
const look = watching(data);
// The start leaves garbage, a quarter of the thread's memory, and the thread makes too little to trigger a collection itself.
globalThis.gc?.({ type: "major", flavor: "last-resort" });

let why: "blocked" | "drain" | undefined;
while (why === undefined && memory.sleep(data.tickMs)) {
  why = look({ beats: memory.beats, draining: memory.draining });
}
if (why) await end(why);

async function end(reason: "blocked" | "drain"): Promise<void> {
  const seconds = Math.round((reason === "blocked" ? data.blockedMs : data.drainMs) / 1_000);
  const run = reason === "blocked" ? memory.blame() : undefined;
  const note: EndedNote = { why: reason, at: Date.now(), seconds, ...run };
  const did = run ? ` while the run ${run.runId} was at "${run.phase}"` : "";
  const text =
    reason === "blocked"
      ? `rookery: the event loop was blocked for ${seconds} s${did}; ending the process\n`
      : `rookery: the work did not end within ${seconds} s; ending the process\n`;
  try {
    writeSync(2, text);
  } catch {
    // No one reads it.
  }
  try {
    writeNote(data.file, note);
    if (data.shared && run) await writeShared(data.shared, note);
  } catch {
    // The process must end in any case; the next start finds the run without an end.
  }
  process.kill(process.pid, "SIGKILL");
}

/** Other nodes read the store, so the file is not needed after that. */
async function writeShared({ module, options }: NonNullable<WatchdogData["shared"]>, note: EndedNote): Promise<void> {
  const { writeSharedNote } = (await import(module)) as SharedNoteModule;
  const timeout = new Promise<"late">((resolve) => setTimeout(() => resolve("late"), SHARED_MS));
  const written = await Promise.race([writeSharedNote(options, note).then(() => "written" as const), timeout]);
  if (written === "written") removeNote(data.file);
}
