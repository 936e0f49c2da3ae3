/**
 * A gateway over a test engine: real HTTP, a store in memory that outlives restarts, a virtual clock, and a kill after any
 * commit. A killed process gets no answer of the store, so its requests never end; the client gives them up.
 */

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestEngineOptions } from "../../../test/kit/engine.ts";
import { lastText, type Script, stall } from "../../../test/kit/model.ts";
import type { TestProcess } from "../../../test/kit/process.ts";
import { openModels } from "../../adapters/models/open-models.ts";
import { type Config, configSchema } from "../../config/config-schema.ts";
import { homePaths } from "../../config/paths.ts";
import { CurrentSettings } from "../../config/settings.ts";
import { defined } from "../../core/defined.ts";
import type { Scope } from "../../core/rights/scope.ts";
import type { Change } from "../../core/store/change.ts";
import { TriggerTestEngine } from "../../engine/triggers/triggers.test-kit.ts";
import { nodeChanges } from "../node/node-changes.ts";
import { nodeModels } from "../node/node-models.ts";
import { askHttp, openGateway, ROOT_TOKEN, type TestRequest, type TestResponse } from "./gateway.test-kit.ts";
import type { Port } from "./open-port.ts";

/** "start" starts a child, which works until it is stopped. "stall" works until it is aborted. The rest is repeated. */
const script: Script = (call) => {
  if (call.request.messages.at(-1)?.role === "tool") return "started";
  const prompt = lastText(call.request);
  if (prompt === "start") return { call: [{ name: "start_background_agent", with: { prompt: "dig" } }] };
  if (prompt.includes("dig") || prompt === "stall") return stall(call, new Promise(() => {}), "…");
  return `answer to ${prompt}`;
};

export class RestartingGateway {
  readonly world: TriggerTestEngine;
  readonly config: Config;
  readonly home = mkdtempSync(join(tmpdir(), "rookery-restarting-"));
  readonly changes = nodeChanges({
    settings: { current: configSchema.parse({}) },
    paths: homePaths(this.home),
    clock: { now: () => 0 },
  });
  /** How often the configuration was read again. */
  reloads = 0;
  /** How often a model was tested. */
  modelTests = 0;
  gateway!: Port;
  #life: TestProcess = { alive: true, name: "gateway" };
  #lives = 0;

  private constructor(world: TriggerTestEngine, config: Config) {
    this.world = world;
    this.config = config;
  }

  static async open(
    options: { config?: object } & Pick<TestEngineOptions, "script" | "tools" | "channels"> = {},
  ): Promise<RestartingGateway> {
    const config = configSchema.parse({
      gateway: { publicUrl: "https://rookery.test" },
      hooks: { deploy: { token: "open", prompt: "{{who}}" }, other: { token: "open" } },
      ...options.config,
    });
    const { hooks, heartbeat, profiles, budgets, queue } = config;
    const owner = { accounts: ["test", "api", "telegram", "whatsapp"].map((channel) => `${channel}:ann`) };
    const settings = { hooks, heartbeat, profiles, budgets, queue, owner };
    const { tools, channels } = options;
    const world = await TriggerTestEngine.open({
      ...{ script: options.script ?? script, children: true, settings, tools, channels },
    });
    const kit = new RestartingGateway(world, config);
    mkdirSync(join(kit.home, "workspace"));
    await kit.#serve();
    return kit;
  }

  get engine() {
    return this.world.engine;
  }
  get store() {
    return this.world.store;
  }

  async #serve(): Promise<void> {
    this.#life = { alive: true, name: `gateway${++this.#lives}` };
    const { clock, log } = this.engine.ports(this.#life);
    const opened = openModels({ settings: { current: this.config }, paths: homePaths(this.home), clock, log });
    const models = nodeModels({ current: this.config }, opened, clock);
    this.gateway = await openGateway({
      node: {
        agents: this.engine.system,
        ports: this.engine.ports(this.#life),
        triggers: this.world.triggers,
        remoteNodes: undefined,
        changes: this.changes,
        models: {
          ...models,
          test: (...asked) => {
            this.modelTests += 1;
            return models.test(...asked);
          },
        },
      },
      settings: new CurrentSettings(this.config),
      reload: async () => {
        this.reloads += 1;
        return { changed: [], reloaded: [], needsRestart: [] };
      },
      tokenFile: join(this.home, "tokens.json"),
    });
  }

  ask(asked: TestRequest): Promise<TestResponse> {
    return askHttp(this.gateway.port, asked);
  }

  /**
   * Sends a request whose connection is cut after the first commit that `isIt` names was applied, and before the process
   * learns of it. The process then continues with the request. Resolves when everything that needs no time has happened.
   */
  async askAndCut(asked: TestRequest, isIt: (change: Change) => boolean = () => true): Promise<void> {
    const { path, token = ROOT_TOKEN, headers = {}, body = {} } = asked;
    const { store } = this;
    const { commit } = store;
    const applied = Promise.withResolvers<void>();
    const cut = Promise.withResolvers<void>();
    store.commit = async (change) => {
      const result = await commit(change);
      if (!isIt(change)) return result;
      store.commit = commit;
      applied.resolve();
      await cut.promise;
      return result;
    };
    const authorization = token === null ? undefined : `Bearer ${token}`;
    const sent = request({
      host: "127.0.0.1",
      port: this.gateway.port,
      method: "POST",
      path,
      agent: false,
      headers: defined({ authorization, "content-type": "application/json", ...headers }),
    });
    sent.on("error", () => {});
    sent.end(JSON.stringify(body));
    await applied.promise;
    sent.destroy();
    // The gateway has seen that the connection is closed.
    while (this.gateway.context.metrics.inFlight > 0) await new Promise((resolve) => setImmediate(resolve));
    cut.resolve();
    await this.engine.settle();
  }

  async mint(...scopes: Scope[]): Promise<string> {
    const root = { id: "root", name: "root", kind: "owner", scopes: ["admin"] } as const;
    return (await this.gateway.context.tokens.mint(root, { name: "test", scopes })).token;
  }

  /** A token of an application. */
  async mintFor(app: string): Promise<string> {
    const root = { id: "root", name: "root", kind: "owner", scopes: ["admin"] } as const;
    return (await this.gateway.context.tokens.mint(root, { name: app, app, scopes: ["chat"] })).token;
  }

  /** Ends the process at once. */
  kill(): void {
    this.#life.alive = false;
    this.world.crash();
    void this.gateway.close();
  }

  /** Starts a process on the same store, after a kill. */
  async start(): Promise<void> {
    await this.world.restart();
    await this.engine.settle();
    await this.#serve();
  }

  /** Stops the process as SIGTERM does, and starts it again. */
  async restart(): Promise<void> {
    await this.gateway.close();
    this.kill();
    await this.start();
  }

  async close(): Promise<void> {
    this.kill();
    rmSync(this.home, { recursive: true, force: true });
  }
}
