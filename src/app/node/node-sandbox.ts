/** The sandbox of a node: opened and tried with the first command, and again when the configuration names another one. */
import type { openTriedSandbox } from "../../adapters/sandbox/open-tried-sandbox.ts";
import type { Sandbox } from "../../adapters/sandbox/sandbox.ts";
import type { Config } from "../../config/config-schema.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { Current } from "../../core/current.ts";

interface NodeSandboxParts {
  readonly settings: Current<Pick<Config, "sandbox">>;
  readonly paths: Pick<HomePaths, "home">;
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface NodeSandbox {
  /** Throws `DeniedError` if there is none, or one in which an attempt succeeds. */
  get(): Promise<Sandbox>;
  close(): Promise<void>;
}

/** Loaded with the first command. */
const open: typeof openTriedSandbox = async (...options) => {
  const { openTriedSandbox } = await import("../../adapters/sandbox/open-tried-sandbox.ts");
  return openTriedSandbox(...options);
};

export function nodeSandbox({ settings, paths, env }: NodeSandboxParts): NodeSandbox {
  let opened: { readonly key: string; readonly sandbox: Promise<Sandbox> } | undefined;
  const close = async (): Promise<void> => {
    const before = opened;
    opened = undefined;
    await (await before?.sandbox.catch(() => undefined))?.close();
  };
  return {
    async get() {
      const { kind, dockerImage } = settings.current.sandbox;
      const key = JSON.stringify([kind, dockerImage]);
      if (opened && opened.key !== key) await close();
      opened ??= { key, sandbox: open({ sandbox: kind, dockerImage }, { home: paths.home, env }) };
      const now = opened;
      return now.sandbox.catch((error) => {
        // It may be installed or repaired while this program runs.
        if (opened === now) opened = undefined;
        throw error;
      });
    },
    close,
  };
}
