/** Where the entries of a run are in the history of its agent. The entries of a run are contiguous. */
import { readEntry } from "../../../core/history/entry.ts";
import type { RunRecord } from "../../../core/run/run.ts";
import type { Store } from "../../../core/store/store.ts";

const PAGE_SIZE = 100;
const MAX_ENTRIES = 2_000;

/** The position behind the last entry of a run that has ended. */
export const endPosition = ({ state, body }: RunRecord): number | undefined =>
  state === "ended" && body.lastPos !== undefined ? body.lastPos + 1 : undefined;

/** The position of a run's first entry: reads backwards until another run's. */
export async function firstPosition(store: Pick<Store, "linesBack">, run: RunRecord): Promise<number> {
  let before = endPosition(run);
  let first: number | undefined;
  for (let count = 0; count < MAX_ENTRIES; count += PAGE_SIZE) {
    const lines = await store.linesBack(run.agentId, { limit: PAGE_SIZE, before });
    for (const { position, line } of lines) {
      const read = readEntry(line);
      const isOfRun = read.kind === "entry" && "runId" in read.entry && read.entry.runId === run.id;
      if (isOfRun) first = position;
      else if (first !== undefined) return first;
    }
    before = lines.at(-1)?.position;
    if (before === undefined || lines.length < PAGE_SIZE) break;
  }
  return first ?? before ?? 0;
}
