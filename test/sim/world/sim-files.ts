/** Files in memory that outlive processes; writing one is a call at which a process may die. */
import type { BlobStore } from "../../../src/core/ports/ports.ts";
import type { SimProcess } from "./process.ts";
import type { Scheduler } from "./scheduler.ts";

export interface SimFiles {
  port(process: SimProcess): BlobStore;
  /** Writes a file from outside of the program. */
  put(name: string, content: string): void;
  has(name: string): boolean;
  names(): ReadonlySet<string>;
}

export function makeSimFiles(scheduler: Scheduler): SimFiles {
  const files = new Map<string, Uint8Array>();
  return {
    put: (name, content) => void files.set(name, new TextEncoder().encode(content)),
    has: (name) => files.has(name),
    names: () => new Set(files.keys()),
    port: (process) => ({
      write: (name, content) =>
        process.call("file", "write", (answer) => {
          files.set(name, typeof content === "string" ? new TextEncoder().encode(content) : content);
          scheduler.after(1, () => answer({ value: name }));
        }),
      pathOf: (name) => name,
      remove: (path) =>
        process.call("file", "remove", (answer) => {
          files.delete(path);
          scheduler.after(1, () => answer({ value: undefined }));
        }),
      read: (path) =>
        process.call("file", "read", (answer) => {
          scheduler.after(1, () => answer({ value: files.get(path) }));
        }),
    }),
  };
}
