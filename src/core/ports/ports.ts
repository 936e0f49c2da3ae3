/** All ports in one object that is passed down. The engine has no ambient clock, randomness or disk. */

import type { Ids } from "../ids.ts";
import type { Store } from "../store/store.ts";
import type { Clock } from "./clock.ts";
import type { Connector } from "./connector.ts";
import type { Log } from "./log.ts";
import type { Model } from "./model.ts";
import type { ToolHost } from "./tool.ts";

export interface Ports {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly store: Store;
  readonly model: Model;
  readonly tools: ToolHost;
  readonly files: FileStore;
  readonly log: Log;
  /** By name. The deliveries of a missing connector wait. */
  readonly connectors: ReadonlyMap<string, Connector>;
}

/** The file store: attachments, and the parts of tool outputs that the model does not see. */
export interface FileStore {
  /** Durable when it resolves; the same name and content may be written again. Returns the path. */
  write(name: string, content: string | Uint8Array): Promise<string>;
  read(path: string): Promise<Uint8Array | undefined>;
}

/** A file store whose files can be removed again: it holds the bytes of files that belong to people. */
export interface BlobStore extends FileStore {
  /** The path that `write` returns for this name. */
  pathOf(name: string): string;
  /** No effect if there is no such file. */
  remove(path: string): Promise<void>;
}
