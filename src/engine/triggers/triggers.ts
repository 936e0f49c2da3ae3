/**
 * Everything that makes messages by itself, put together for one node: the broker with its jobs, the heartbeat, the
 * webhooks, and what they have to say at certain points of a run. Made before the agent system, started after it.
 */

import type { Config } from "../../config/config-schema.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { AgentSystem } from "../agents/agent-system.ts";
import type { AgentSystemOptions } from "../agents/agent-system-options.ts";
import { type BrokerOptions, TriggerBroker } from "./broker.ts";
import { CronService } from "./cron/cron-service.ts";
import { cronSessionFor } from "./cron/cron-session.ts";
import { opsAtDelivered, opsAtRunEnd, opsAtSettle } from "./cron/run-end.ts";
import type { HeartbeatSections } from "./heartbeat/heartbeat-config.ts";
import { HeartbeatRunner } from "./heartbeat/heartbeat-runner.ts";
import { shapeReply } from "./heartbeat/reply.ts";
import type { TickPorts } from "./heartbeat/tick.ts";
import { acceptHook, type HookAnswer, type HookPorts, type HookRequest } from "./webhooks/accept-hook.ts";

export type TriggerPorts = Pick<Ports, "clock" | "ids" | "store" | "log"> &
  Omit<TickPorts, "store"> &
  Pick<HookPorts, "reveal">;

export interface TriggerOptions extends Omit<BrokerOptions, "tick"> {
  /** Absent: there is no heartbeat. */
  readonly heartbeat?: HeartbeatSections;
  readonly webhooks?: Config["hooks"];
}

export type TriggerHooks = NonNullable<AgentSystemOptions["hooks"]>;

type Agents = Pick<AgentSystem, "post" | "postAndAwait">;

export class Triggers {
  readonly cron: CronService;
  readonly heartbeat: HeartbeatRunner;
  readonly hooks: TriggerHooks;
  readonly #ports: TriggerPorts;
  readonly #options: TriggerOptions;
  #webhooks: Config["hooks"];
  #broker: TriggerBroker | undefined;
  #agents: Agents | undefined;

  constructor(ports: TriggerPorts, options: TriggerOptions = {}) {
    const { store, clock } = ports;
    const { mainKey } = options;
    this.#ports = ports;
    this.#options = options;
    this.#webhooks = options.webhooks ?? {};
    this.cron = new CronService(
      { ...ports, changed: () => this.wake(), post: (posting) => this.#agents?.post(posting) },
      options,
    );
    const sections = options.heartbeat ?? NO_HEARTBEAT;
    this.heartbeat = new HeartbeatRunner(ports, sections, options);
    this.hooks = {
      opsOnRunEnd: (agent, run, result, owed) => opsAtRunEnd(store, agent, run, result, clock.now(), mainKey, owed),
      opsOnDelivered: (delivery, ended) => opsAtDelivered(store, delivery, ended, clock.now(), mainKey),
      opsOnSettle: async (_, messages, reason) => opsAtSettle(messages, reason, clock.now()),
      replyOf: (agent, run, said) =>
        shapeReply(agent, run.body.trigger, said, clock.now(), this.heartbeat.configOf(agent.profile)),
      sessionFor: (agent, messages) => cronSessionFor(store, agent, messages, clock.now(), mainKey),
    };
  }

  /** From now on due times become messages. The agents must have been started. */
  async start(agents: Agents): Promise<void> {
    this.#agents = agents;
    await this.heartbeat.start(agents);
    this.#broker = new TriggerBroker(
      { ...this.#ports, post: (posting) => agents.post(posting) },
      { ...this.#options, tick: (job, firing) => this.heartbeat.tick(job, firing) },
    );
    this.#broker.start();
  }

  /** A job may have changed. */
  wake(): void {
    this.#broker?.wake();
  }

  /** Follows a changed configuration without a restart. */
  async updateConfig(config: Pick<Config, "heartbeat" | "profiles" | "hooks">): Promise<void> {
    this.#webhooks = config.hooks;
    if (this.#options.heartbeat) await this.heartbeat.updateConfig(config);
    this.wake();
  }

  /** `POST /hooks/<name>`: what came in, as it came; what to answer. The answer is given after the commit. */
  acceptHook(agents: Agents, name: string, request: HookRequest): Promise<HookAnswer> {
    const ports = { ...this.#ports, post: (posting: Parameters<Agents["post"]>[0]) => agents.post(posting) };
    return acceptHook(ports, this.#webhooks, name, request, this.#options);
  }

  async stop(): Promise<void> {
    this.heartbeat.stop();
    await this.#broker?.stop();
  }
}

const NO_HEARTBEAT: HeartbeatSections = { heartbeat: { every: "0" }, profiles: {} };
