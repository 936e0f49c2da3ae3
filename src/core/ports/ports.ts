/** Everything the core knows of the world, in one object that is handed down. No ambient clock, randomness or disk. */

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
  /** By name. A connector that is not there cannot send now; its deliveries wait. */
  readonly connectors: ReadonlyMap<string, Connector>;
}

/** Where files live: attachments, and the parts of tool outputs the model is not shown. */
export interface FileStore {
  /** Durable when it resolves; the same name and content may be written again. Gives the path to refer to. */
  write(name: string, content: string | Uint8Array): Promise<string>;
  read(path: string): Promise<Uint8Array | undefined>;
}
