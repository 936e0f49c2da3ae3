/**
 * Ends processes that no one may keep any more (M33, L7): those of an aborted run or one without budget, of a stopped or removed
 * agent, and after a crash those that someone waited for. All others continue, and files of ended ones are removed after some days.
 */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { errorText } from "../../../core/errors.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { Log } from "../../../core/ports/log.ts";
import type { RunRecord } from "../../../core/run/run.ts";
import type { FileMarks } from "../files/file-marks.ts";
import type { PromptGuard } from "../files/prompt-guard.ts";
import { isCutOff, type ProcessFate, processFate } from "./process-fate.ts";
import { writeInfo } from "./process-files.ts";
import type { KnownProcess, Processes } from "./processes.ts";
import { settleFiles } from "./settle-files.ts";

interface KeeperDeps {
  readonly processes: Processes;
  readonly clock: Clock;
  readonly log: Log;
  readonly marks: Pick<FileMarks, "settle">;
  readonly guard: Pick<PromptGuard, "check" | "end" | "left">;
  /** Posts a message about the end of a process. Durable when it resolves, and once for each process. */
  tell(ended: EndedProcess): Promise<void>;
  readonly store: {
    agent(id: AgentId): Promise<AgentRecord | undefined>;
    run(id: RunId): Promise<RunRecord | undefined>;
  };
}

export interface EndedProcess extends Pick<KnownProcess, "info" | "state"> {
  readonly agent: AgentRecord;
  /** The run that has started it. */
  readonly run: RunRecord | undefined;
}

const CHECK_MS = 2_000;

export class ProcessKeeper {
  readonly #deps: KeeperDeps;
  #cancel: (() => void) | undefined;
  #isStopped = false;
  readonly #checks = new Set<Promise<void>>();

  constructor(deps: KeeperDeps) {
    this.#deps = deps;
  }

  /** Looks at what an earlier process has left, and then again while something runs. */
  async start(): Promise<void> {
    await this.check();
  }

  /** When it resolves nothing is changed any more: another engine may have the home. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await Promise.all(this.#checks);
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
    if (this.#isStopped) return;
    const checking = this.#check(agentId);
    this.#checks.add(checking);
    await checking;
    this.#checks.delete(checking);
  }

  async #check(agentId?: AgentId): Promise<void> {
    try {
      const agents = agentId === undefined ? await this.#deps.processes.agents() : [agentId];
      let running = 0;
      for (const id of agents) running += await this.#checkAgent(id);
      if (agentId === undefined) await this.#endLeft(agents);
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
    for (let one of known) {
      const fate = await this.#fateOf(one, agent);
      const isRunning = one.state.is === "running";
      if (fate !== "keep" && isRunning) one = await this.#end(one);
      else if (isRunning) {
        if (one.info.background) await processes.enforce(one);
        // It may run for days: what it makes is looked at while it runs.
        await this.#deps.guard.check(one.info.id);
      }
      if (fate === "keep" && isRunning) running += 1;
      // A call that waits for its command looks at the files itself.
      else if (!processes.isOurs(one.info.id)) await settleFiles(this.#deps, one);
      if (fate === "remove") await processes.forget(one);
      else if (fate === "keep" && agent && !isRunning) await this.#tell(one, agent);
    }
    return running;
  }

  /** Files that a command or a server of an earlier process has left, if there is no trace of it but that. */
  async #endLeft(agents: readonly AgentId[]): Promise<void> {
    const { guard, processes } = this.#deps;
    const left = guard.left();
    if (left.length === 0) return;
    const known = (await Promise.all(agents.map((id) => processes.ofAgent(id)))).flat();
    // One that runs, or of which a part may, is looked at again; one that has ended was looked at.
    const open = new Set(
      known.filter(({ info, state }) => state.is === "running" || !info.settled).map(({ info }) => info.id),
    );
    for (const id of left) if (!open.has(id)) await guard.end(id);
  }

  /** What ends with its run or with its agent wakes no one. */
  async #end(one: KnownProcess): Promise<KnownProcess> {
    await this.#deps.processes.end(one);
    const info = { ...one.info, told: true } as const;
    await writeInfo(one.files, info).catch(() => {});
    return { ...one, info };
  }

  /** The end of a background process wakes its agent, once, unless the agent has seen it or has given it up. */
  async #tell({ info, files, state }: KnownProcess, agent: AgentRecord): Promise<void> {
    const isListed = agent.state.processes?.some(({ id }) => id === info.id) ?? false;
    if (!info.background || info.told || !isListed || agent.stopped) return;
    const run = await this.#deps.store.run(info.runId as RunId);
    if (isCutOff(run)) return;
    await this.#deps.tell({ info, state, agent, run });
    // After a crash before this the message is known by its key and not posted again.
    const now = await this.#deps.processes.find(agent.id, info.id);
    await writeInfo(files, { ...(now?.info ?? info), told: true });
  }

  async #fateOf(known: KnownProcess, agent: AgentRecord | undefined): Promise<ProcessFate> {
    const run = await this.#deps.store.run(known.info.runId as RunId);
    const isOurs = this.#deps.processes.isOurs(known.info.id);
    return processFate(known, agent, run, isOurs, this.#deps.clock.now());
  }
}
