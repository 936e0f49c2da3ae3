/** Puts a serving process together: the node, the gateway over it, and the configuration that is followed while it runs. */
import { readFileSync, watch } from "node:fs";
import { basename } from "node:path";
import { readVersion } from "../../adapters/system/version.ts";
import type { Config } from "../../config/config-schema.ts";
import { loadConfig } from "../../config/load-config.ts";
import { type HomePaths, resolvePath } from "../../config/paths.ts";
import { ConfigError, errorText } from "../../core/errors.ts";
import { openNode, type RookeryNode } from "../node/open-node.ts";
import { isLoopback } from "./auth/request-policy.ts";
import { MIN_ROOT, type RootToken, rootToken } from "./auth/root-token.ts";
import { assertSecureBind, type Gateway, openGateway } from "./gateway.ts";
import { compareConfigs, liveConfig, type Reloaded } from "./reload.ts";

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
  /** Reads the configuration anew. Throws `ConfigError` where it cannot be used; then nothing has changed. */
  reload(): Promise<Reloaded>;
  close(): Promise<void>;
}

const SETTLE_MS = 200;

export async function serve(options: ServeOptions): Promise<Serving> {
  const { paths, env, errors, onFatal } = options;
  const started = options.config;
  let current = started;
  const host = options.host ?? started.gateway.host;
  const tls = readTls(started, paths);
  // Before anything is opened: a door that must stay shut, a token that cannot be used.
  assertSecureBind(host, tls !== undefined, started.gateway.trustedProxies);
  const node = await openNode({ paths, config: started, env, connectors: [], stays: true, errors, onFatal });
  let gateway: Gateway | undefined;
  try {
    const token = rootToken(paths.token, env);
    if (token.text.length < MIN_ROOT) refuseWeak(host, node);
    const reload = async (): Promise<Reloaded> => {
      const { config: next } = await loadConfig(paths, env);
      const compared = compareConfigs(current, next);
      const nextTls = readTls(next, paths);
      const held = liveConfig(current, next);
      node.reload(held, compared.changed);
      current = held;
      if (nextTls && tls) gateway?.renew(nextTls);
      const { reloaded, needsRestart } = compared;
      if (reloaded.length > 0) node.ports.log.info("the configuration was reloaded", { keys: reloaded.join(", ") });
      if (needsRestart.length > 0) {
        node.ports.log.warn("changed keys of the configuration need a restart", { keys: needsRestart.join(", ") });
      }
      return compared;
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
      version: readVersion(),
    });
    const opened = gateway;
    // The door is open already: what makes messages by itself need not be there first.
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

/** A file that cannot be used changes nothing: what held goes on to hold, and the log says why. */
function watchConfig(paths: HomePaths, node: RookeryNode, reload: () => Promise<Reloaded>): () => void {
  const { clock, log } = node.ports;
  let cancel: (() => void) | undefined;
  const again = (): void => {
    cancel?.();
    cancel = clock.after(SETTLE_MS, () => {
      reload().catch((error) => log.error(`the configuration was not reloaded: ${errorText(error)}`));
    });
  };
  process.on("SIGHUP", again);
  let watcher: ReturnType<typeof watch> | undefined;
  try {
    watcher = watch(paths.home, { persistent: false }, (_event, name) => {
      if (name === basename(paths.config)) again();
    });
    watcher.on("error", (error) => log.warn("the configuration is not watched any more", { error: errorText(error) }));
  } catch (error) {
    log.warn("the configuration is not watched; SIGHUP reloads it", { error: errorText(error) });
  }
  return () => {
    cancel?.();
    process.off("SIGHUP", again);
    watcher?.close();
  };
}

function readTls({ gateway }: Config, paths: HomePaths): { cert: string; key: string } | undefined {
  if (!gateway.tls) return undefined;
  const read = (name: "cert" | "key", path: string): string => {
    try {
      return readFileSync(resolvePath(path, paths.home), "utf8");
    } catch (cause) {
      throw new ConfigError(`gateway.tls.${name}: ${path} cannot be read.`, {
        cause,
        hint: "Name a file in PEM form that this user can read.",
      });
    }
  };
  return { cert: read("cert", gateway.tls.cert), key: read("key", gateway.tls.key) };
}

function refuseWeak(host: string, node: RookeryNode): void {
  const message = `ROOKERY_TOKEN has fewer than ${MIN_ROOT} characters and can be guessed.`;
  if (!isLoopback(host))
    throw new ConfigError(message, { hint: "Use a longer one, such as `openssl rand -hex 32` gives." });
  node.ports.log.warn(message);
}
