/** Files in memory that outlive processes; writing one is a call at which a process may die. */
import type { FileStore } from "../../../src/core/ports/ports.ts";
import type { SimProcess } from "./process.ts";
import type { Scheduler } from "./scheduler.ts";

export interface SimFiles {
  port(process: SimProcess): FileStore;
  /** Writes a file from outside of the program. */
  put(name: string, content: string): void;
}

export function makeSimFiles(scheduler: Scheduler): SimFiles {
  const files = new Map<string, Uint8Array>();
  return {
    put: (name, content) => void files.set(name, new TextEncoder().encode(content)),
    port: (process) => ({
      write: (name, content) =>
        process.call("file", "write", (answer) => {
          files.set(name, typeof content === "string" ? new TextEncoder().encode(content) : content);
          scheduler.after(1, () => answer({ value: name }));
        }),
      read: (path) =>
        process.call("file", "read", (answer) => {
          scheduler.after(1, () => answer({ value: files.get(path) }));
        }),
    }),
  };
}
