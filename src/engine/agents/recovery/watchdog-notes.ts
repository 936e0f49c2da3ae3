/**
 * Keeps the notes of watchdogs in the store, one fact per run, until recovery has counted them (M13, M34). A process that dies
 * between the note and its count loses nothing.
 */
import type { RunId } from "../../../core/ids.ts";
import type { WatchdogNote, WatchdogNotes } from "../../../core/run/trial.ts";
import { parseWatchdogNote, watchdogKey } from "../../../core/run/watchdog-note.ts";
import { type CommitPorts, submit } from "../../commit/submit.ts";

export function watchdogNotesOf(ports: CommitPorts): WatchdogNotes {
  return {
    async of(runId) {
      const text = await ports.store.fact(watchdogKey(runId));
      return text === undefined ? undefined : parseWatchdogNote(text);
    },
    async counted({ runId }) {
      await submit(ports, "watchdog.counted", [{ op: "fact.put", key: watchdogKey(runId), value: null }]);
    },
  };
}

/** Durable when it resolves. The same note again changes nothing. A run that has ended needs none. */
export async function keepWatchdogNote(ports: CommitPorts, note: WatchdogNote): Promise<void> {
  const run = await ports.store.run(note.runId as RunId);
  if (run?.state !== "open") return;
  await submit(ports, "watchdog.note", [{ op: "fact.put", key: watchdogKey(note.runId), value: JSON.stringify(note) }]);
}
