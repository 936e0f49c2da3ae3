/** A serving process: the engine, its HTTP port, and the reload of the configuration file while it runs. */
import { existsSync, readFileSync, watch } from "node:fs";
import { basename } from "node:path";
import type { Config } from "../../config/config-schema.ts";
import { loadConfig } from "../../config/load-config.ts";
import { type HomePaths, resolvePath } from "../../config/paths.ts";
import { ConfigError, errorText } from "../../core/errors.ts";
import { OWNER } from "../../core/people/person.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Connector } from "../../core/ports/connector.ts";
import type { Model } from "../../core/ports/model.ts";
import { submit } from "../../engine/commit/submit.ts";
import { type Actor, auditOp } from "../../engine/people/audit-entry.ts";
import { assertSecureBind, isLoopback } from "../gateway/auth/request-policy.ts";
import { MIN_ROOT, type RootToken, rootToken } from "../gateway/auth/root-token.ts";
import type { GatewayLimits } from "../gateway/http/gateway-limits.ts";
import type { Certificate } from "../gateway/http/server.ts";
import type { Port } from "../gateway/open-port.ts";
import { compareConfigs, liveConfig } from "../gateway/reload.ts";
import type { Reload, ReloadReport } from "../gateway/routing/gateway-context.ts";
import type { RookeryNode } from "../node/open-node.ts";
import { openEngine } from "./open-engine.ts";

export interface ServeOptions {
  readonly paths: HomePaths;
  readonly config: Config;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly port?: number;
  readonly host?: string;
  /** Channels in addition to the gateway. */
  readonly connectors?: readonly Connector[];
  readonly errors?: { write(text: string): unknown };
  readonly onFatal: (error: unknown) => void;
  /** Ends the whole process if it does not respond. */
  readonly watchdog?: boolean;
  /** For tests. Default: those of the machine and of the configuration. */
  readonly clock?: Clock;
  readonly model?: Model;
  /** For tests that must reach a limit of the gateway. */
  readonly limits?: Partial<GatewayLimits>;
}

export interface Serving {
  readonly gateway: Port;
  readonly node: RookeryNode;
  readonly token: RootToken;
  /** Reads the configuration file again. Rejects with `ConfigError` if the file is invalid; then nothing changes. */
  reload(): Promise<ReloadReport>;
  close(): Promise<void>;
}

/** A changed file is read after this pause, because editors write it in several steps. */
const SETTLE_MS = 200;

export async function serve(options: ServeOptions): Promise<Serving> {
  const { paths, env, errors, onFatal, watchdog, limits, clock, model } = options;
  const { config, connectors = [] } = options;
  const host = options.host ?? config.gateway.host;
  const tls = readTls(config, paths);
  // Checked before the node opens the store.
  assertSecureBind(host, tls !== undefined, config.gateway.trustedProxies);
  // Made with the home, when the engine opens it.
  let made: RootToken | undefined;
  const token = (): RootToken => {
    made ??= rootToken(paths.token, env);
    return made;
  };
  let reload: Reload | undefined;
  const engine = await openEngine({
    ...{ paths, config, env, connectors, errors, onFatal, watchdog, limits, clock, model },
    stays: true,
    rootToken: () => token().text,
    reload: (by) => reload?.(by) ?? Promise.reject(starting()),
  });
  const { node, served } = engine;
  try {
    if (token().text.length < MIN_ROOT) warnOrRefuseShortToken(host, node);
    const gateway = await served.listen({ port: options.port, host: options.host, tls });
    const reloadNow = reloader({ paths, env, host, started: config, tls, node, renew: gateway.renew });
    reload = reloadNow;
    // After the gateway, so that it listens as early as possible.
    await node.startTriggers();
    const stopWatching = watchConfig(paths, node, reloadNow);
    return {
      gateway,
      node,
      token: token(),
      reload: reloadNow,
      async close() {
        node.limitStop();
        stopWatching();
        await engine.close();
      },
    };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

const starting = (): ConfigError =>
  new ConfigError("The engine is still starting.", { hint: "Reload it in a moment." });

interface ReloaderParts {
  readonly paths: HomePaths;
  readonly env: ServeOptions["env"];
  readonly host: string;
  /** The configuration the process started with. */
  readonly started: Config;
  readonly tls: Certificate | undefined;
  readonly node: RookeryNode;
  readonly renew: (tls: Certificate | undefined) => void;
}

/** Everything is checked before anything changes. Reloads that come together happen one after the other. */
function reloader({ paths, env, host, started, tls, node, renew }: ReloaderParts): Reload {
  const { log } = node.ports;
  let current = started;
  let wasBlank = isBlank(paths.config);
  const reloadOnce = async (by: Actor): Promise<ReloadReport> => {
    const { config: next, exists, blank } = await loadConfig(paths, env);
    // A file is often replaced in two steps. Without this, a rule such as a denied tool would be lifted in between.
    if (blank && !wasBlank) {
      const what = exists ? "is empty" : "is missing";
      throw new ConfigError(`The configuration ${paths.config} ${what}. The one in force stays in force.`, {
        hint: "Write `{}` into it if you want every default.",
      });
    }
    const report = compareConfigs(current, next);
    const merged = liveConfig(current, next);
    assertSecureBind(host, tls !== undefined, merged.gateway.trustedProxies);
    const certificate = tls && readTls(merged, paths);
    assertUsable(certificate);
    try {
      await node.reload(merged, report.reloaded);
    } catch (error) {
      // An error of the configuration is found before it is in force, any other one after that.
      if (!(error instanceof ConfigError)) current = merged;
      throw error;
    }
    current = merged;
    wasBlank = blank;
    renew(certificate);
    const { changed, reloaded, needsRestart } = report;
    if (changed.length > 0) await recordReload(node, by, changed);
    if (reloaded.length > 0) log.info("the configuration was reloaded", { keys: reloaded.join(", ") });
    if (needsRestart.length > 0) {
      log.warn("changed keys of the configuration need a restart", { keys: needsRestart.join(", ") });
    }
    return report;
  };
  let last: Promise<unknown> = Promise.resolve();
  return (by = THE_FILE) => {
    const reload = () => reloadOnce(by);
    const reloaded = last.then(reload, reload);
    last = reloaded;
    return reloaded;
  };
}

/** The file changed, or SIGHUP arrived: only the owner of the home can do either. */
const THE_FILE: Actor = { person: OWNER, surface: "config" };

/** The audit log names the keys, never their values. Must not reject: the configuration is in force. */
async function recordReload({ ports }: RookeryNode, by: Actor, changed: readonly string[]): Promise<void> {
  const row = auditOp(by, ports.clock.now(), { action: "config.reload", target: changed.join(", ") });
  await submit(ports, "audit.config", [row]).catch((error) =>
    ports.log.warn("a reload is not in the audit log", { error: errorText(error) }),
  );
}

function isBlank(file: string): boolean {
  return !existsSync(file) || readFileSync(file, "utf8").trim() === "";
}

function assertUsable(certificate: Certificate | undefined): void {
  if (!certificate) return;
  try {
    process.getBuiltinModule("node:tls").createSecureContext(certificate);
  } catch (cause) {
    throw new ConfigError(`gateway.tls: the certificate and its key cannot be used: ${(cause as Error).message}.`, {
      cause,
      hint: "Set both to PEM files that belong together.",
    });
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
