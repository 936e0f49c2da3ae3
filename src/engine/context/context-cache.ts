/** Keeps the messages of one agent's session in memory: read from history once, then appended to with every commit. */
import type { Entry } from "../../core/history/entry.ts";
import type { AgentId, EntryId } from "../../core/ids.ts";
import type { ModelMessage } from "../../core/ports/model.ts";
import type { Ports } from "../../core/ports/ports.ts";
import { CommitRefused } from "../commit/commit-refused.ts";
import type { ContextCache, ContextSize } from "../runtime/context-cache.ts";
import type { ContextBounds } from "../runtime/live-run.ts";
import { EMPTY_SIZE, sizeWith } from "./compaction/estimate-tokens.ts";
import { buildHistoryContext, modelMessage, readPath, repairPairs } from "./context.ts";

export class HistoryContextCache implements ContextCache {
  readonly #ports: Pick<Ports, "store" | "log">;
  readonly #agentId: AgentId;
  #messages: ModelMessage[] | undefined;
  #size: ContextSize = EMPTY_SIZE;
  overhead: number | undefined;
  bounds: ContextBounds | undefined;

  constructor(ports: Pick<Ports, "store" | "log">, agentId: AgentId) {
    this.#ports = ports;
    this.#agentId = agentId;
  }

  get size(): ContextSize | undefined {
    return this.#messages && this.#size;
  }

  async messages(leaf: EntryId): Promise<readonly ModelMessage[]> {
    this.#messages ??= await this.#read(leaf);
    return repairPairs(this.#messages);
  }

  async path(leaf: EntryId): Promise<readonly Entry[]> {
    return (await readPath(this.#ports.store, this.#agentId, leaf)).path;
  }

  append(entries: readonly Entry[]): void {
    // A compaction changes the messages before it: the context is read from history again, as after a restart.
    if (entries.some(({ type }) => type === "compaction")) this.#messages = undefined;
    if (!this.#messages) return;
    for (const entry of entries) {
      const added = modelMessage(this.#agentId, entry);
      this.#size = sizeWith(this.#size, entry, added);
      this.#messages.push(...added);
    }
  }

  clear(): void {
    this.#messages = [];
    this.#size = EMPTY_SIZE;
  }

  async #read(leaf: EntryId): Promise<ModelMessage[]> {
    const { store, log } = this.#ports;
    const agentId = this.#agentId;
    const { messages, size, skipped } = await buildHistoryContext(store, agentId, leaf);
    for (const { position, reason } of skipped) {
      log.warn("a line of history was kept and skipped", { agent: agentId, position, reason });
    }
    // Every history has first lines. One without any was removed by another node that ended the agent.
    if (messages.length === 0 && (await store.linesBack(agentId, { limit: 1 })).length === 0) {
      throw new CommitRefused("fenced", `The history of agent ${agentId} no longer exists.`);
    }
    this.#size = size;
    return [...messages];
  }
}
