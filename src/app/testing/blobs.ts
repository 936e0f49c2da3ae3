/** The bytes of files in memory. */
import type { BlobStore } from "../../core/ports/ports.ts";

/** `kept`: the bytes by name. */
export function memoryBlobs(): BlobStore & { readonly kept: Map<string, Uint8Array> } {
  const kept = new Map<string, Uint8Array>();
  return {
    kept,
    pathOf: (name) => name,
    async write(name, content) {
      kept.set(name, typeof content === "string" ? new TextEncoder().encode(content) : content);
      return name;
    },
    read: async (path) => kept.get(path),
    remove: async (path) => void kept.delete(path),
  };
}
