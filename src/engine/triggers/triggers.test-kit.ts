/** A test engine with triggers: a broker on its store, and a virtual clock. */

import { TestEngine, type TestEngineOptions } from "../../../test/kit/engine.ts";
import { configDefaults } from "../../config/config-schema.ts";
import type { Secret } from "../../config/secret.ts";
import type { GateRunner } from "../../core/ports/gate-runner.ts";
import type { CronJob } from "../../core/schedule/job.ts";
import type { JobSlot } from "../../core/schedule/job-slot.ts";
import type { AgentSystemOptions } from "../agents/agent-system-options.ts";
import { type TriggerOptions, Triggers } from "./triggers.ts";
import type { HookAnswer, HookRequest } from "./webhooks/accept-hook.ts";

type TriggerPorts = ConstructorParameters<typeof Triggers>[0];

/** Ann is the owner, everyone else is a stranger. */
const OWNER_IS_ANN = ({ userId }: { readonly userId: string }): boolean => userId === "ann";

export class TriggerTestEngine {
  readonly engine: TestEngine;
  triggers!: Triggers;
  readonly #options: TriggerOptions;
  readonly #more: Partial<TriggerPorts>;
  #lives = 0;
  /** The configured zone. A restart or `reload` applies another one. */
  zone: string;

  private constructor(engine: TestEngine, options: TriggerOptions, more: Partial<TriggerPorts>) {
    this.engine = engine;
    this.#options = options;
    this.#more = more;
    this.zone = options.zone ?? "UTC";
  }

  static async open({
    triggers = {},
    gates,
    ports,
    ...options
  }: TestEngineOptions & {
    readonly triggers?: TriggerOptions;
    readonly gates?: GateRunner;
    readonly ports?: Partial<TriggerPorts>;
  } = {}): Promise<TriggerTestEngine> {
    const engine = TestEngine.unloaded(options);
    const reveal = (secret: Secret): string => secret.reveal({ env: {}, readFile: () => "" });
    const more = { reveal, gates, ...ports };
    const world = new TriggerTestEngine(engine, triggers, more);
    await world.boot();
    return world;
  }

  get clock() {
    return this.engine.clock;
  }
  get store() {
    return this.engine.store;
  }
  get cron() {
    return this.triggers.cron;
  }

  async boot(): Promise<void> {
    const { hooks } = this.#made();
    await this.engine.boot({ hooks, isOwner: OWNER_IS_ANN } satisfies Partial<AgentSystemOptions>);
    const starting = this.triggers.start(this.engine.system);
    await this.engine.settle();
    await starting;
    await this.engine.settle();
  }

  #made(): Triggers {
    const life = { alive: true, name: `triggers${++this.#lives}` };
    const { clock, ids, store, log } = this.engine.ports(life);
    this.#life = life;
    const zone = () => this.zone;
    const options = {
      people: { isOwner: OWNER_IS_ANN },
      ...this.#options,
      get zone() {
        return zone();
      },
    };
    this.triggers = new Triggers({ clock, ids, store, log, ...this.#more }, options);
    return this.triggers;
  }
  #life = { alive: true, name: "" };

  /** Kills the process. The clock continues. */
  crash(): void {
    this.#life.alive = false;
    this.engine.crash();
  }

  async restart(): Promise<void> {
    this.crash();
    await this.engine.retire();
    this.engine.onCommit = () => "go";
    await this.boot();
  }

  /** Applies a changed configuration without a restart. */
  async reload(): Promise<void> {
    const reloading = this.triggers.updateConfig({ ...configDefaults, profiles: {}, hooks: {} });
    await this.engine.settle();
    await reloading;
    await this.engine.settle();
  }

  async advance(ms: number): Promise<void> {
    await this.engine.advance(ms);
  }

  /** A long time passes at once while the engine runs. */
  async leap(ms: number): Promise<void> {
    this.clock.jump(ms);
    this.triggers.wake();
    await this.engine.settle();
  }

  /** Time passes while the engine is down. */
  async down(ms: number): Promise<void> {
    this.crash();
    this.clock.jump(ms);
    await this.restart();
    await this.engine.settle();
  }

  hook(name: string, request: HookRequest): Promise<HookAnswer> {
    return this.triggers.acceptHook(this.engine.system, name, request);
  }

  async slots(id: string): Promise<readonly JobSlot[]> {
    return (await this.store.jobSlots(id, { limit: 100_000 })).toReversed();
  }

  async job(id: string): Promise<CronJob> {
    const job = await this.store.job(id);
    if (!job) throw new TypeError(`no job ${id}`);
    return job;
  }
}

/** Every due time of a schedule of fixed length is covered by exactly one row, from the first to the last. */
export function coveredTimes(slots: readonly JobSlot[], everyMs: number): readonly number[] {
  return slots.flatMap(({ dueAt, count }) => Array.from({ length: count }, (_, n) => dueAt + n * everyMs));
}
