/** What a node keeps of people besides the store: plain files, marks of files, the search index. For forgetting one of them. */
import { startSearch } from "../../adapters/search/sqlite/start-search.ts";
import { startMirror } from "../../adapters/store/files/start-mirror.ts";
import type { FileMarks } from "../../adapters/tools/files/file-marks.ts";
import { openFileMarks } from "../../adapters/workspace/open-file-marks.ts";
import { type HomePaths, searchFile } from "../../config/paths.ts";
import type { Log } from "../../core/ports/log.ts";
import type { SearchTraces } from "../../core/search/search-index.ts";

export interface NodeTraces {
  /** The plain files are as the store is when it resolves. */
  flush(): Promise<void>;
  forgetSearch(traces: SearchTraces): Promise<void>;
  readonly marks: Pick<FileMarks, "forget">;
}

/** Of a home on which no engine runs: its threads work for this call only. */
export const tracesOfHome = (paths: HomePaths, log: Log): NodeTraces => ({
  async flush() {
    // Without the configuration: a history is archived by the engine.
    const archiveAbove = Number.POSITIVE_INFINITY;
    await startMirror({ home: paths.home, databasePath: paths.database, log, archiveAbove }).stop();
  },
  async forgetSearch(traces) {
    const search = startSearch({ databasePath: paths.database, indexPath: searchFile(paths), log, stays: false });
    await search.forget(traces).finally(() => search.close());
  },
  marks: openFileMarks(paths),
});
