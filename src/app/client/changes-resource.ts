/** Changes of prompt files, notes, skills and the configuration. Only the owner uses them. */
import type { ChangeFilter, ChangeKind, FileChange, FileVersion } from "../../core/file-change.ts";
import type { List } from "../../core/list.ts";
import { type EngineApi, pathOf } from "./engine-api.ts";

/** `diff`: in the unified form; null if it cannot be shown. */
export type ShownChange = FileChange & { readonly diff: string | null };

export interface Changes {
  /** The newest first. */
  list(filter?: Partial<ChangeFilter>): Promise<List<FileChange, number>>;
  /** One change with its difference. Secrets of the configuration are masked. */
  get(change: number): Promise<ShownChange>;
  /** A file as it is now. The configuration is not shown. */
  file(file: string): Promise<{
    readonly file: string;
    readonly kind: ChangeKind;
    readonly text?: string | null;
    readonly version: FileVersion | null;
  }>;
  /**
   * Replaces a file; `null` removes it. Durable when it resolves; without `id` nothing was changed. `expect`: the hash of the version
   * that you read, so that nobody's change is lost. `dryRun`: only shows the difference.
   */
  write(
    file: string,
    text: string | null,
    more?: { readonly why?: string; readonly expect?: string | null; readonly dryRun?: boolean },
  ): Promise<Partial<ShownChange> & Pick<ShownChange, "file" | "kind" | "diff">>;
  /** The change that takes it back. Rejects if the file was changed since. */
  undo(change: number): Promise<ShownChange>;
}

export const changesOf = (api: EngineApi): Changes => ({
  list: (filter) => api.get("/api/changes", { ...filter }),
  get: (change) => api.get(pathOf("api", "changes", String(change))),
  file: (file) => api.get("/api/changes/file", { file }),
  write: (file, text, more) => api.post("/api/changes", { file, text, ...more }),
  undo: (change) => api.post(pathOf("api", "changes", String(change), "undo"), {}),
});
