/** A gateway over a real node in a home of its own, in this process: for tests of routes and of who may call them. */
import { mkdtempSync, rmSync } from "node:fs";
import { type IncomingHttpHeaders, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Config, configSchema } from "../../config/config-schema.ts";
import { homePaths } from "../../config/paths.ts";
import { silentLog } from "../../core/ports/log.ts";
import type { Model } from "../../core/ports/model.ts";
import { openNode, type RookeryNode } from "../node/open-node.ts";
import type { Scope } from "./auth/scope.ts";
import { type Gateway, openGateway } from "./gateway.ts";

export const ROOT_TOKEN = "root-token-of-the-tests";

export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body, read as JSON. */
  readonly json: Record<string, unknown> & { error?: { code: string; message: string; param: string | null } };
}

export interface Asking {
  readonly method?: string;
  readonly path: string;
  /** `null`: none. Default: the home's own. */
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface TestGateway {
  readonly gateway: Gateway;
  readonly node: RookeryNode;
  readonly home: string;
  config: Config;
  ask(asking: Asking): Promise<Answered>;
  mint(...scopes: Scope[]): Promise<{ token: string; id: string }>;
  close(): Promise<void>;
}

export async function openTestGateway(options: { config?: object; model?: Model } = {}): Promise<TestGateway> {
  const home = mkdtempSync(join(tmpdir(), "rookery-gateway-"));
  const paths = homePaths(home);
  const config = configSchema.parse({ models: { default: "offline", detect: false }, ...options.config });
  const onFatal = (error: unknown): never => {
    throw error;
  };
  const node = await openNode({ paths, config, connectors: [], model: options.model, log: silentLog, onFatal });
  const kit = { config };
  const gateway = await openGateway({
    node,
    config: () => kit.config,
    reload: async () => ({ changed: [], reloaded: [], needsRestart: [] }),
    tokenFile: paths.tokens,
    rootToken: ROOT_TOKEN,
    port: 0,
    version: "0.0.0",
  });
  const root = { id: "root", name: "root", scopes: ["admin"] } as const;
  return Object.assign(kit, {
    gateway,
    node,
    home,
    ask: (asking: Asking) => askHttp(gateway.port, asking),
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

/** One request, with every header as the test wants it. */
export function askHttp(
  port: number,
  { method = "GET", path, token = ROOT_TOKEN, headers = {}, body }: Asking,
): Promise<Answered> {
  const text = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        host: "127.0.0.1",
        port,
        method,
        path,
        headers: {
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...(text === undefined
            ? {}
            : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
          ...headers,
        },
      },
      (response) => {
        let read = "";
        response.setEncoding("utf8");
        response.on("data", (piece: string) => {
          read += piece;
        });
        response.on("error", reject);
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: read,
            get json() {
              return JSON.parse(read) as Answered["json"];
            },
          }),
        );
      },
    );
    asked.on("error", reject);
    asked.end(text);
  });
}
