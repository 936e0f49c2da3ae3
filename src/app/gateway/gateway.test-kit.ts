/** A gateway over a real node with its own home, in the test's process: for tests of routes and access. */

import { mkdtempSync, rmSync } from "node:fs";
import { type IncomingHttpHeaders, request } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Config, configSchema } from "../../config/config-schema.ts";
import { homePaths } from "../../config/paths.ts";
import { CurrentSettings } from "../../config/settings.ts";
import { defined } from "../../core/defined.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Connector } from "../../core/ports/connector.ts";
import { silentLog } from "../../core/ports/log.ts";
import type { Model } from "../../core/ports/model.ts";
import type { Scope } from "../../core/rights/scope.ts";
import { openNode, type RookeryNode } from "../node/open-node.ts";
import { openControl } from "./control/open-control.ts";
import { serveHere } from "./in-process/serve-here.ts";
import type { Port } from "./open-port.ts";

type HereOptions = Parameters<typeof serveHere>[0];

export const ROOT_TOKEN = "root-token-of-the-tests";

export interface GatewayOptions extends Omit<HereOptions, "rootToken" | "paths"> {
  readonly tokenFile: string;
  /** Binds the control socket of this home too. */
  readonly control?: string;
}

/** The HTTP port of an engine, and its control socket. */
export async function openGateway({ tokenFile, control, ...options }: GatewayOptions): Promise<Port> {
  const rootToken = () => ROOT_TOKEN;
  const served = serveHere({
    version: "0.0.0",
    ...options,
    paths: { ...homePaths(dirname(tokenFile)), tokens: tokenFile },
    rootToken,
  });
  const port = await served.listen({ port: 0 });
  const socket = control === undefined ? undefined : await openControl(control, options.node.ports, served.server);
  const close = async (): Promise<void> => void (await Promise.all([socket?.close(), served.close()]));
  return { ...port, close };
}

export interface TestResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body, parsed as JSON. */
  readonly json: Record<string, unknown> & { error?: { code: string; message: string; param: string | null } };
}

export interface TestRequest {
  readonly method?: string;
  readonly path: string;
  /** `null`: no token. Default: the root token. */
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface TestGateway {
  readonly gateway: Port;
  readonly node: RookeryNode;
  readonly home: string;
  config: Config;
  ask(request: TestRequest): Promise<TestResponse>;
  mint(...scopes: Scope[]): Promise<{ token: string; id: string }>;
  close(): Promise<void>;
}

export async function openTestGateway(
  options: Pick<HereOptions, "routes" | "limits"> & {
    config?: object;
    model?: Model;
    store?: string;
    connectors?: readonly Connector[];
    clock?: Clock;
    /** Where the home is made. A sandbox has its own /dev/shm. */
    within?: string;
  } = {},
): Promise<TestGateway> {
  const home = mkdtempSync(join(options.within ?? tmpdir(), "rookery-gateway-"));
  const paths = homePaths(home);
  const config = configSchema.parse({ models: { default: "offline" }, ...options.config });
  const onFatal = (error: unknown): never => {
    throw error;
  };
  const { connectors = [], model, clock } = options;
  const node = await openNode({ paths, config, connectors, model, clock, log: silentLog, onFatal });
  const settings = new CurrentSettings(config);
  const kit = {
    get config(): Config {
      return settings.current;
    },
    /** Another configuration is in force at the gateway. */
    set config(next: Config) {
      settings.replace(next);
    },
  };
  const gateway = await openGateway({
    node,
    settings,
    reload: async () => ({ changed: [], reloaded: [], needsRestart: [] }),
    tokenFile: paths.tokens,
    control: home,
    store: options.store,
    routes: options.routes,
    limits: options.limits,
  });
  const root = { id: "root", name: "root", kind: "owner", scopes: ["admin"] } as const;
  return Object.assign(kit, {
    gateway,
    node,
    home,
    ask: (request: TestRequest) => askHttp(gateway.port, request),
    async mint(...scopes: Scope[]) {
      const { token, record } = await gateway.context.tokens.mint(root, { name: "test", scopes });
      return { token, id: record.id };
    },
    async close() {
      await gateway.close();
      await node.close();
      rmSync(home, { recursive: true, force: true });
    },
  });
}

/** Sends one request, to a port or over a socket. `headers` override the default ones. */
export function askHttp(
  at: number | string,
  { method = "GET", path, token = ROOT_TOKEN, headers = {}, body }: TestRequest,
): Promise<TestResponse> {
  const text = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        ...(typeof at === "number" ? { host: "127.0.0.1", port: at } : { socketPath: at }),
        method,
        path,
        headers: defined({
          authorization: token === null ? undefined : `Bearer ${token}`,
          "content-type": text === undefined ? undefined : "application/json",
          "content-length": text === undefined ? undefined : Buffer.byteLength(text),
          ...headers,
        }),
      },
      (response) => {
        let received = "";
        response.setEncoding("utf8");
        response.on("data", (piece: string) => {
          received += piece;
        });
        response.on("error", reject);
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: received,
            get json() {
              return JSON.parse(received) as TestResponse["json"];
            },
          }),
        );
      },
    );
    sent.on("error", reject);
    sent.end(text);
  });
}
