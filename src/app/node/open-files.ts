/** Builds the file service of a node: where bytes are kept, what models are shown of them, and the limits of people. */
import { fileInspector, type InspectorSettings } from "../../adapters/files/inspect-file.ts";
import type { Config } from "../../config/config-schema.ts";
import { secretDeps } from "../../config/load-config.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { Current } from "../../core/current.ts";
import type { BlobStore, Ports } from "../../core/ports/ports.ts";
import { FileService } from "../../engine/files/file-service.ts";

interface FilesDeps {
  readonly ports: Pick<Ports, "store" | "ids" | "clock">;
  readonly blobs: BlobStore;
  readonly settings: Current<Config>;
  readonly paths: Pick<HomePaths, "home">;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** How long a file is kept that no conversation and no delivery refers to. */
const UNUSED_MS = 24 * 3600_000;

export function openFiles({ ports, blobs, settings, paths, env = {} }: FilesDeps): FileService {
  return new FileService({
    ports,
    blobs,
    inspector: fileInspector(() => inspectorSettings(settings.current, paths, env)),
    limits: () => {
      const { maxBytes, quotaBytes } = settings.current.files;
      return { maxBytes, quotaBytes, unusedMs: UNUSED_MS };
    },
  });
}

function inspectorSettings(
  { files }: Config,
  { home }: Pick<HomePaths, "home">,
  env: Readonly<Record<string, string | undefined>>,
): InspectorSettings {
  const { transcriber } = files;
  if (!transcriber) return {};
  const { url, model, apiKey } = transcriber;
  const key = apiKey && (() => apiKey.reveal(secretDeps(home, env)));
  return { transcriber: { url, model, key } };
}
