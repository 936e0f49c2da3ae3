/**
 * The triggers of a node: the broker with its jobs, the heartbeat, the webhooks, and their hooks into runs. Created before
 * the agent system, started after it. The hooks return at once for a run without a trigger.
 */

import type { Settings } from "../../config/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { Current } from "../../core/current.ts";
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
import { type ShapedReply, shapeReply } from "./heartbeat/heartbeat-reply.ts";
import { HeartbeatRunner } from "./heartbeat/heartbeat-runner.ts";
import { lastHeartbeatOf } from "./heartbeat/last-heartbeat.ts";
import { HEARTBEAT_TOKEN } from "./heartbeat/strip-heartbeat-token.ts";
import { acceptHook, type HookAnswer, type HookPorts, type HookRequest } from "./webhooks/accept-hook.ts";

type TriggerPorts = Pick<Ports, "clock" | "ids" | "store" | "log"> &
  Omit<TickPorts, "store" | "people"> &
  Pick<HookPorts, "reveal">;

interface TriggerOptions extends BrokerOptions, Pick<CronServiceOptions, "jobProblem"> {
  readonly settings: Current<Settings>;
}

type TriggerHooks = NonNullable<AgentSystemOptions["hooks"]>;

type Agents = Pick<AgentSystem, "post" | "postAndAwait">;

export class Triggers {
  readonly cron: CronService;
  readonly heartbeat: HeartbeatRunner;
  readonly hooks: TriggerHooks;
  readonly #ports: TriggerPorts & { readonly people: People };
  readonly #options: TriggerOptions;
  #broker: TriggerBroker | undefined;
  #agents: Agents | undefined;

  constructor(ports: TriggerPorts, options: TriggerOptions) {
    const { store, clock } = ports;
    const { settings } = options;
    const mainKey = (): string => settings.current.session.mainKey;
    const people = peopleOf(store, settings, directoryOf(ports, settings));
    this.#ports = { ...ports, people };
    this.#options = options;
    this.cron = new CronService(
      { ...this.#ports, changed: () => this.wake(), post: (request) => this.#agents?.post(request) },
      options,
    );
    this.heartbeat = new HeartbeatRunner(this.#ports, settings.current);
    this.hooks = {
      opsOnRunEnd: (agent, run, result, deliveries) =>
        opsOnRunEnd({ store, ids: ports.ids, people }, agent, run, result, {
          at: clock.now(),
          mainKey: mainKey(),
          deliveries,
        }),
      opsOnDelivered: (delivery, ended) =>
        opsOnDelivered({ store, ids: ports.ids, people }, delivery, ended, clock.now(), mainKey()),
      opsOnSettle: (_, messages, settled) =>
        opsOnSettle({ store, ids: ports.ids, people }, messages, settled, {
          at: clock.now(),
          mainKey: mainKey(),
        }),
      replyOf: (agent, run, said) =>
        run.body.trigger || said.payload.text?.includes(HEARTBEAT_TOKEN)
          ? this.#shapeReply(agent, run.body.trigger, said)
          : undefined,
      sessionFor: (agent, messages) => cronSessionFor(store, agent, messages, clock.now(), mainKey()),
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
  async updateConfig(config: Settings): Promise<void> {
    await this.heartbeat.updateConfig(config);
    this.#broker?.replan();
  }

  /** `POST /hooks/<name>`. Resolves with the response after the commit. */
  acceptHook(agents: Agents, name: string, request: HookRequest): Promise<HookAnswer> {
    const ports = { ...this.#ports, post: (message: Parameters<Agents["post"]>[0]) => agents.post(message) };
    const { hooks, session } = this.#options.settings.current;
    return acceptHook(ports, hooks, name, request, session);
  }

  async stop(): Promise<void> {
    this.heartbeat.stop();
    await this.#broker?.stop();
  }
}
