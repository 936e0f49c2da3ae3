/**
 * Everything that makes messages by itself, put together for one node: the broker with its jobs, and what it has to say
 * at certain points of a run. Made before the agent system, started after it.
 */
import type { AgentSystem, AgentSystemOptions } from "../agents/agent-system.ts";
import type { GateKeeper } from "../core/gate-keeper.ts";
import type { Ports } from "../core/ports.ts";
import { type BrokerOptions, TriggerBroker } from "./broker.ts";
import { CronService } from "./cron/cron-service.ts";
import { cronSessionFor } from "./cron/cron-session.ts";
import { opsAtRunEnd, opsAtSettle } from "./cron/run-end.ts";

export type TriggerPorts = Pick<Ports, "clock" | "ids" | "store" | "log"> & { readonly gates?: GateKeeper };

export type TriggerOptions = Omit<BrokerOptions, "tick">;

export type TriggerHooks = NonNullable<AgentSystemOptions["hooks"]>;

export class Triggers {
  readonly cron: CronService;
  readonly hooks: TriggerHooks;
  readonly #ports: TriggerPorts;
  readonly #options: TriggerOptions;
  #broker: TriggerBroker | undefined;

  constructor(ports: TriggerPorts, options: TriggerOptions = {}) {
    const { store, clock } = ports;
    const { mainKey } = options;
    this.#ports = ports;
    this.#options = options;
    this.cron = new CronService({ ...ports, changed: () => this.wake() }, options);
    this.hooks = {
      alsoAtEnd: (agent, run, result) => opsAtRunEnd(store, agent, run, result, clock.now(), mainKey),
      alsoAtSettle: async (_, messages, reason) => opsAtSettle(messages, reason, clock.now()),
      sessionFor: (agent, messages) => cronSessionFor(store, agent, messages, clock.now(), mainKey),
    };
  }

  /** From now on due times become messages. The agents must have been started. */
  start(agents: Pick<AgentSystem, "post">): void {
    this.#broker = new TriggerBroker({ ...this.#ports, post: (posting) => agents.post(posting) }, this.#options);
    this.#broker.start();
  }

  /** A job may have changed. */
  wake(): void {
    this.#broker?.wake();
  }

  async stop(): Promise<void> {
    await this.#broker?.stop();
  }
}
