/** A test engine with triggers: a broker on its store, and a virtual clock. */

import { TestEngine, type TestEngineOptions } from "../../../test/kit/engine.ts";
import { type SettingsPart, testConfig, testSettings } from "../../../test/kit/settings.ts";
import type { Secret } from "../../config/secret.ts";
import type { CurrentSettings } from "../../config/settings.ts";
import type { GateRunner } from "../../core/ports/gate-runner.ts";
import type { CronJob } from "../../core/schedule/job.ts";
import type { JobSlot } from "../../core/schedule/job-slot.ts";
import { Triggers } from "./triggers.ts";
import type { HookAnswer, HookRequest } from "./webhooks/accept-hook.ts";

type TriggerPorts = ConstructorParameters<typeof Triggers>[0];
type TriggerOptions = ConstructorParameters<typeof Triggers>[1];

/** Ann is the owner. */
const OWNER_IS_ANN: SettingsPart = { owner: { accounts: ["test:ann"] } };

export class TriggerTestEngine {
  readonly engine: TestEngine;
  triggers!: Triggers;
  readonly #options: Omit<TriggerOptions, "settings">;
  readonly #more: Partial<TriggerPorts>;
  #lives = 0;
  #zone = "UTC";
  #settings!: CurrentSettings;

  private constructor(engine: TestEngine, options: Omit<TriggerOptions, "settings">, more: Partial<TriggerPorts>) {
    this.engine = engine;
    this.#options = options;
    this.#more = more;
  }

  static async open({
    triggers = {},
    gates,
    ports,
    ...options
  }: TestEngineOptions & {
    readonly triggers?: Omit<TriggerOptions, "settings">;
    readonly gates?: GateRunner;
    readonly ports?: Partial<TriggerPorts>;
  } = {}): Promise<TriggerTestEngine> {
    const engine = TestEngine.unloaded({ ...options, settings: { ...OWNER_IS_ANN, ...options.settings } });
    const reveal = (secret: Secret): string => secret.reveal({ env: {}, readFile: () => "" });
    const more = { reveal, gates, ...ports };
    const world = new TriggerTestEngine(engine, triggers, more);
    await world.boot();
    return world;
  }

  /** The configured zone. Use `reload` for the parts that follow it. */
  get zone(): string {
    return this.#zone;
  }
  set zone(timeZone: string) {
    this.#zone = timeZone;
    this.#settings.replace(testConfig(this.#settings.current, { session: { timeZone } }));
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
    // The hooks belong to triggers that follow the settings of the new process.
    this.#made();
    await this.engine.boot({ hooks: this.triggers.hooks });
    const starting = this.triggers.start(this.engine.system);
    await this.engine.settle();
    await starting;
    await this.engine.settle();
  }

  #made(): Triggers {
    const life = { alive: true, name: `triggers${++this.#lives}` };
    const { clock, ids, store, log } = this.engine.ports(life);
    this.#life = life;
    this.#settings = testSettings(this.engine.options.settings, { session: { timeZone: this.zone } });
    const options = { ...this.#options, settings: this.#settings };
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
  async reload(part: SettingsPart = {}): Promise<void> {
    await this.#settings.reload(testConfig(this.#settings.current, part, { session: { timeZone: this.zone } }), []);
    const reloading = this.triggers.updateConfig(this.#settings.current);
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
