/**
 * The triggers of a node: the broker with its jobs, the heartbeat, the webhooks, and their hooks into runs. Created before
 * the agent system, started after it. The hooks return at once for a run without a trigger.
 */

import type { Config } from "../../config/config-schema.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { PeopleSettings } from "../../core/agent/person.ts";
import type { Trigger } from "../../core/message/trigger.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { AgentSystem } from "../agents/agent-system.ts";
import type { AgentSystemOptions } from "../agents/agent-system-options.ts";
import { directoryOf } from "../people/directory.ts";
import { type People, peopleOf } from "../runtime/people.ts";
import type { Said } from "../runtime/run-ports.ts";
import { type BrokerOptions, TriggerBroker } from "./broker.ts";
import { CronService, type CronServiceOptions } from "./cron/cron-service.ts";
import { cronSessionFor } from "./cron/cron-session.ts";
import { opsOnDelivered, opsOnRunEnd, opsOnSettle } from "./cron/run-end.ts";
import type { TickPorts } from "./heartbeat/decide-tick.ts";
import type { HeartbeatSections } from "./heartbeat/heartbeat-config.ts";
import { type ShapedReply, shapeReply } from "./heartbeat/heartbeat-reply.ts";
import { HeartbeatRunner } from "./heartbeat/heartbeat-runner.ts";
import { lastHeartbeatOf } from "./heartbeat/last-heartbeat.ts";
import { HEARTBEAT_TOKEN } from "./heartbeat/strip-heartbeat-token.ts";
import { acceptHook, type HookAnswer, type HookPorts, type HookRequest } from "./webhooks/accept-hook.ts";

type TriggerPorts = Pick<Ports, "clock" | "ids" | "store" | "log"> &
  Omit<TickPorts, "store" | "people"> &
  Pick<HookPorts, "reveal">;

export interface TriggerOptions extends BrokerOptions, Pick<CronServiceOptions, "jobProblem"> {
  /** Absent: no heartbeat. */
  readonly heartbeat?: HeartbeatSections;
  readonly webhooks?: Config["hooks"];
  /** Tells people apart. */
  readonly people?: PeopleSettings;
}

type TriggerHooks = NonNullable<AgentSystemOptions["hooks"]>;

type Agents = Pick<AgentSystem, "post" | "postAndAwait">;

export class Triggers {
  readonly cron: CronService;
  readonly heartbeat: HeartbeatRunner;
  readonly hooks: TriggerHooks;
  readonly #ports: TriggerPorts & { readonly people: People };
  readonly #options: TriggerOptions;
  #webhooks: Config["hooks"];
  #broker: TriggerBroker | undefined;
  #agents: Agents | undefined;

  constructor(ports: TriggerPorts, options: TriggerOptions) {
    const { store, clock } = ports;
    const settings = options.people ?? { mainKey: options.mainKey };
    const people = peopleOf(store, settings, directoryOf(ports, settings));
    this.#ports = { ...ports, people };
    this.#options = options;
    this.#webhooks = options.webhooks ?? {};
    this.cron = new CronService(
      { ...this.#ports, changed: () => this.wake(), post: (request) => this.#agents?.post(request) },
      options,
    );
    const sections = options.heartbeat ?? NO_HEARTBEAT;
    this.heartbeat = new HeartbeatRunner(this.#ports, sections, options);
    this.hooks = {
      opsOnRunEnd: (agent, run, result, deliveries) =>
        opsOnRunEnd({ store, ids: ports.ids, people }, agent, run, result, {
          at: clock.now(),
          mainKey: options.mainKey,
          deliveries,
        }),
      opsOnDelivered: (delivery, ended) =>
        opsOnDelivered({ store, ids: ports.ids, people }, delivery, ended, clock.now(), options.mainKey),
      opsOnSettle: (_, messages, settled) =>
        opsOnSettle({ store, ids: ports.ids, people }, messages, settled, {
          at: clock.now(),
          mainKey: options.mainKey,
        }),
      replyOf: (agent, run, said) =>
        run.body.trigger || said.payload.text?.includes(HEARTBEAT_TOKEN)
          ? this.#shapeReply(agent, run.body.trigger, said)
          : undefined,
      sessionFor: (agent, messages) => cronSessionFor(store, agent, messages, clock.now(), options.mainKey),
      onToolOps: (ops) => {
        if (ops.some(({ op }) => op === "job.put")) this.wake();
      },
    };
  }

  async #shapeReply(agent: AgentRecord, trigger: Trigger | undefined, said: Said): Promise<ShapedReply | undefined> {
    const { store, clock } = this.#ports;
    const last = trigger?.type === "heartbeat" ? await lastHeartbeatOf(store, agent.state) : undefined;
    return shapeReply(last, trigger, said, clock.now(), this.heartbeat.configOf(agent.profile));
  }

  /** From now on a job that is run by hand starts at once, even where due times do not become messages. */
  connect(agents: Agents): void {
    this.#agents = agents;
  }

  /** From now on due times become messages. The agents must be started. */
  async start(agents: Agents): Promise<void> {
    this.connect(agents);
    // Before anything is awaited, so that a stop in between holds.
    this.#broker = new TriggerBroker(
      {
        ...this.#ports,
        post: (request) => agents.post(request),
        tick: (job, firing) => this.heartbeat.tick(job, firing),
      },
      this.#options,
    );
    await this.heartbeat.start(agents);
    this.#broker.start();
  }

  /** Posts the messages of the jobs that are due now, for a process that does not keep running. The heartbeat stays due. */
  async fireOnce(agents: Agents): Promise<void> {
    this.connect(agents);
    this.#broker = new TriggerBroker({ ...this.#ports, post: (request) => agents.post(request) }, this.#options);
    await this.#broker.fireOnce();
  }

  /**
   * A job may have changed: the broker reads the jobs again. Every place that commits a job calls this, because the
   * broker's own poll may be too late for a job that is due soon.
   */
  wake(): void {
    this.#broker?.wake();
  }

  /** Applies a changed configuration without a restart. */
  async updateConfig(config: Pick<Config, "heartbeat" | "profiles" | "hooks">): Promise<void> {
    this.#webhooks = config.hooks;
    if (this.#options.heartbeat) await this.heartbeat.updateConfig(config);
    this.#broker?.replan();
  }

  /** `POST /hooks/<name>`. Resolves with the response after the commit. */
  acceptHook(agents: Agents, name: string, request: HookRequest): Promise<HookAnswer> {
    const ports = { ...this.#ports, post: (message: Parameters<Agents["post"]>[0]) => agents.post(message) };
    return acceptHook(ports, this.#webhooks, name, request, this.#options);
  }

  async stop(): Promise<void> {
    this.heartbeat.stop();
    await this.#broker?.stop();
  }
}

const NO_HEARTBEAT: HeartbeatSections = { heartbeat: { every: "0" }, profiles: {} };
