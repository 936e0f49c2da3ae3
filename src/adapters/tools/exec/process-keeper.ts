/**
 * Ends processes that no one may keep any more (M33, L7): those of an aborted run or one without budget, of a stopped or removed
 * agent, and after a crash those that someone waited for. All others go on, and files of ended ones are removed after some days.
 */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { errorText } from "../../../core/errors.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { Log } from "../../../core/ports/log.ts";
import type { RunRecord } from "../../../core/run/run.ts";
import type { KnownProcess, Processes } from "./processes.ts";

export interface KeeperDeps {
  readonly processes: Processes;
  readonly clock: Clock;
  readonly log: Log;
  readonly store: {
    agent(id: AgentId): Promise<AgentRecord | undefined>;
    run(id: RunId): Promise<RunRecord | undefined>;
  };
}

const CHECK_MS = 2_000;
const KEPT_MS = 7 * 24 * 3600_000;

export type Fate = "keep" | "end" | "remove";

export class ProcessKeeper {
  readonly #deps: KeeperDeps;
  #cancel: (() => void) | undefined;
  #isStopped = false;

  constructor(deps: KeeperDeps) {
    this.#deps = deps;
  }

  /** Looks at what an earlier process has left, and then again while something runs. */
  async start(): Promise<void> {
    await this.check();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  /** Called when a process was started, too: the next look comes by itself. */
  watch(): void {
    if (this.#cancel || this.#isStopped) return;
    this.#cancel = this.#deps.clock.after(CHECK_MS, () => {
      this.#cancel = undefined;
      void this.check();
    });
  }

  /** Looks at all processes of this machine, or at those of one agent. Never rejects. */
  async check(agentId?: AgentId): Promise<void> {
    try {
      const agents = agentId === undefined ? await this.#deps.processes.agents() : [agentId];
      let running = 0;
      for (const id of agents) running += await this.#checkAgent(id);
      if (running > 0) this.watch();
    } catch (error) {
      this.#deps.log.warn("the background processes could not be checked", { error: errorText(error) });
    }
  }

  async #checkAgent(agentId: AgentId): Promise<number> {
    const { processes, store } = this.#deps;
    const known = await processes.ofAgent(agentId);
    if (known.length === 0) return 0;
    const agent = await store.agent(agentId);
    let running = 0;
    for (const one of known) {
      const fate = await this.#fateOf(one, agent);
      if (fate === "remove") await processes.forget(one);
      else if (fate === "end" && one.state.is === "running") await processes.end(one);
      else if (one.state.is === "running") running += 1;
    }
    return running;
  }

  async #fateOf(known: KnownProcess, agent: AgentRecord | undefined): Promise<Fate> {
    const run = await this.#deps.store.run(known.info.runId as RunId);
    const isOurs = this.#deps.processes.isOurs(known.info.id);
    return fateOf(known, agent, run, isOurs, this.#deps.clock.now());
  }
}

/** `isOurs`: this process has started it and waits for it. */
export function fateOf(
  { info, state }: Pick<KnownProcess, "info" | "state">,
  agent: Pick<AgentRecord, "stopped" | "state"> | undefined,
  run: Pick<RunRecord, "outcome" | "body" | "state"> | undefined,
  isOurs: boolean,
  now: number,
): Fate {
  if (!agent) return "remove";
  if (state.is !== "running") return !isOurs && now - info.startedAt > KEPT_MS ? "remove" : "keep";
  if (agent.stopped) return "end";
  if (!info.background) return isOurs ? "keep" : "end";
  const isCutOff = run?.outcome === "aborted" || run?.outcome === "timeout" || run?.body.error?.kind === "budget";
  return isCutOff ? "end" : "keep";
}
