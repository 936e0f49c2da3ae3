/** Assembles a serving process: the node, the gateway, and the reload of the configuration file while it runs. */
import { readFileSync, watch } from "node:fs";
import { basename } from "node:path";
import { sharedStoreUrl } from "../../adapters/store/shared-store-url.ts";
import { readVersion } from "../../adapters/system/version.ts";
import type { Config } from "../../config/config-schema.ts";
import { loadConfig } from "../../config/load-config.ts";
import { type HomePaths, resolvePath } from "../../config/paths.ts";
import { ConfigError, errorText } from "../../core/errors.ts";
import { openNode, type RookeryNode } from "../node/open-node.ts";
import { assertSecureBind, isLoopback } from "./auth/request-policy.ts";
import { MIN_ROOT, type RootToken, rootToken } from "./auth/root-token.ts";
import { type Gateway, openGateway } from "./gateway.ts";
import type { Certificate } from "./http/server.ts";
import { compareConfigs, liveConfig } from "./reload.ts";
import type { ReloadReport } from "./routing/gateway-context.ts";

export interface ServeOptions {
  readonly paths: HomePaths;
  readonly config: Config;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly port?: number;
  readonly host?: string;
  readonly errors?: { write(text: string): unknown };
  readonly onFatal: (error: unknown) => void;
}

export interface Serving {
  readonly gateway: Gateway;
  readonly node: RookeryNode;
  readonly token: RootToken;
  /** Reads the configuration file again. Rejects with `ConfigError` if the file is invalid; then nothing changes. */
  reload(): Promise<ReloadReport>;
  close(): Promise<void>;
}

/** A changed file is read after this pause, because editors write it in several steps. */
const SETTLE_MS = 200;

export async function serve(options: ServeOptions): Promise<Serving> {
  const { paths, env, errors, onFatal } = options;
  const started = options.config;
  let current = started;
  const host = options.host ?? started.gateway.host;
  const tls = readTls(started, paths);
  // Checked before the node opens the store.
  assertSecureBind(host, tls !== undefined, started.gateway.trustedProxies);
  const node = await openNode({ paths, config: started, env, connectors: [], stays: true, errors, onFatal });
  let gateway: Gateway | undefined;
  try {
    const token = rootToken(paths.token, env);
    if (token.text.length < MIN_ROOT) warnOrRefuseShortToken(host, node);
    const reload = async (): Promise<ReloadReport> => {
      const { config: next } = await loadConfig(paths, env);
      const report = compareConfigs(current, next);
      const nextTls = readTls(next, paths);
      const merged = liveConfig(current, next);
      node.reload(merged, report.changed);
      current = merged;
      if (nextTls && tls) gateway?.renew(nextTls);
      const { reloaded, needsRestart } = report;
      if (reloaded.length > 0) node.ports.log.info("the configuration was reloaded", { keys: reloaded.join(", ") });
      if (needsRestart.length > 0) {
        node.ports.log.warn("changed keys of the configuration need a restart", { keys: needsRestart.join(", ") });
      }
      return report;
    };
    gateway = await openGateway({
      node,
      config: () => current,
      reload,
      tokenFile: paths.tokens,
      rootToken: token.text,
      port: options.port,
      host: options.host,
      tls,
      control: { home: paths.home, store: sharedStoreUrl(paths, started, env) },
      version: readVersion(),
    });
    const opened = gateway;
    // After the gateway, so that it listens as early as possible.
    await node.startTriggers();
    const stopWatching = watchConfig(paths, node, reload);
    return {
      gateway: opened,
      node,
      token,
      reload,
      async close() {
        stopWatching();
        await opened.close();
        await node.close();
      },
    };
  } catch (error) {
    await gateway?.close();
    await node.close();
    throw error;
  }
}

/** Reloads when the file changes or SIGHUP arrives. An invalid file is logged and changes nothing. Returns a function that stops it. */
function watchConfig(paths: HomePaths, node: RookeryNode, reload: () => Promise<ReloadReport>): () => void {
  const { clock, log, store } = node.ports;
  let cancel: (() => void) | undefined;
  const schedule = (): void => {
    cancel?.();
    cancel = clock.after(SETTLE_MS, () => {
      reload().catch((error) => log.error(`the configuration was not reloaded: ${errorText(error)}`));
    });
  };
  process.on("SIGHUP", schedule);
  let watcher: ReturnType<typeof watch> | undefined;
  try {
    watcher = watch(paths.home, { persistent: false }, (event, name) => {
      if (name === basename(paths.config)) schedule();
      // A home that is deleted or moved is reported at once, not with the next message.
      else if (event === "rename") store.ready().catch(() => undefined);
    });
    watcher.on("error", (error) =>
      log.warn("the configuration file is no longer watched; send SIGHUP to reload it", { error: errorText(error) }),
    );
  } catch (error) {
    log.warn("the configuration file is not watched; send SIGHUP to reload it", { error: errorText(error) });
  }
  return () => {
    cancel?.();
    process.off("SIGHUP", schedule);
    watcher?.close();
  };
}

function readTls({ gateway }: Config, paths: HomePaths): Certificate | undefined {
  if (!gateway.tls) return undefined;
  const read = (name: "cert" | "key", path: string): string => {
    try {
      return readFileSync(resolvePath(path, paths.home), "utf8");
    } catch (cause) {
      throw new ConfigError(`gateway.tls.${name}: ${path} cannot be read.`, {
        cause,
        hint: "Set it to a PEM file that this user can read.",
      });
    }
  };
  return { cert: read("cert", gateway.tls.cert), key: read("key", gateway.tls.key) };
}

function warnOrRefuseShortToken(host: string, node: RookeryNode): void {
  const message = `The root token has fewer than ${MIN_ROOT} characters and can be guessed.`;
  if (!isLoopback(host)) {
    throw new ConfigError(message, { hint: "Set ROOKERY_TOKEN to the output of `openssl rand -hex 32`." });
  }
  node.ports.log.warn(message);
}
