/** The file service of a simulated node: small limits, every file is a text, and a sweep every few seconds. */
import type { BlobStore, Ports } from "../../../src/core/ports/ports.ts";
import { FileService } from "../../../src/engine/files/file-service.ts";

/** Longer than a message takes from its upload to its commit, also over a crash. */
export const FILE_UNUSED_MS = 20_000;
export const FILE_SWEEP_MS = 3_000;

export const simFileService = (ports: Ports, { quotaBytes }: { readonly quotaBytes: number }): FileService =>
  new FileService({
    ports,
    blobs: ports.files as BlobStore,
    inspector: {
      inspect: async (data) => ({ mimeType: "text/plain", shown: { as: "text", characters: data.length } }),
    },
    limits: () => ({ maxBytes: 1_000, quotaBytes, unusedMs: FILE_UNUSED_MS }),
  });

/** So many sweeps outlast the work of a world; then it can come to rest. */
const SWEEPS = 25;

/** A sweep that fails is followed by the next one. */
export function sweeping({ clock }: Pick<Ports, "clock">, files: FileService): () => void {
  let cancel = (): void => {};
  let left = SWEEPS;
  const next = (): void => {
    if (left-- === 0) return;
    cancel = clock.after(FILE_SWEEP_MS, () => void files.sweep().then(next, next));
  };
  next();
  return () => cancel();
}
