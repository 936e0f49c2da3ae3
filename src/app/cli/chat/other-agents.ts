/** The other conversations and agents: their names, how many work in the background, and which have something unread. */
import { type EngineApi, pathOf } from "../../client/engine-api.ts";

export interface ListedAgent {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly waiting: number;
  readonly runId: string | null;
  readonly lastHumanAt: number | null;
  readonly updatedAt: number;
  readonly stopped: unknown;
}

interface OtherAgentsOptions {
  readonly api: EngineApi;
  readonly openAgent: () => string | undefined;
  readonly onChange: () => void;
  /** An agent asks something, or may have got its answer elsewhere. */
  readonly onQuestion: () => void;
  readonly signal: AbortSignal;
}

const MAX_LISTED = 500;
const MAX_CONVERSATIONS = 200;
/** Agents whose answers a person reads. */
const READ: ReadonlySet<string> = new Set(["user", "permanent"]);
/** Agents that work while the person does something else. */
const BACKGROUND: ReadonlySet<string> = new Set(["subagent", "cron", "system", "heartbeat"]);

export class OtherAgents {
  readonly #options: OtherAgentsOptions;
  readonly #kinds = new Map<string, string>();
  readonly #unread = new Map<string, number>();
  readonly #working = new Set<string>();

  constructor(options: OtherAgentsOptions) {
    this.#options = options;
  }

  /** Conversations with answers that were not seen. */
  get unread(): number {
    return this.#unread.size;
  }

  get working(): number {
    return this.#working.size;
  }

  unreadOf(agentId: string): number {
    return this.#unread.get(agentId) ?? 0;
  }

  opened(agentId: string): void {
    this.#unread.delete(agentId);
  }

  /** Newest first: the latest conversations, and other agents as far as one page goes. */
  async list(): Promise<readonly ListedAgent[]> {
    const { api } = this.#options;
    const [conversations, agents] = await Promise.all([
      api.get<{ items: readonly ListedAgent[] }>("/api/conversations", { limit: MAX_CONVERSATIONS }),
      api.get<{ items: readonly ListedAgent[] }>("/api/agents", { limit: MAX_LISTED }),
    ]);
    const byId = new Map([...agents.items, ...conversations.items].map((agent) => [agent.id, agent]));
    for (const { id, kind } of byId.values()) this.#kinds.set(id, kind);
    return [...byId.values()].sort((a, b) => (b.lastHumanAt ?? b.updatedAt) - (a.lastHumanAt ?? a.updatedAt));
  }

  /** Ends with the signal. */
  async follow(): Promise<void> {
    const { api, signal } = this.#options;
    try {
      for await (const { type, data } of api.events("/api/events", { signal, keepTrying: true })) {
        if (type === "tree") this.#tree(data.roots as readonly TreePart[]);
        else if (type === "start" || type === "end") await this.#run(type, String(data.agentId));
        if (type === "approval" || type === "end") this.#options.onQuestion();
        this.#options.onChange();
      }
    } catch {
      // The chat is closed.
    }
  }

  #tree(roots: readonly TreePart[]): void {
    this.#working.clear();
    const visit = ({ id, kind, state, children }: TreePart): void => {
      this.#kinds.set(id, kind);
      if (state === "running" && BACKGROUND.has(kind)) this.#working.add(id);
      children.forEach(visit);
    };
    roots.forEach(visit);
  }

  async #run(type: "start" | "end", agentId: string): Promise<void> {
    const kind = this.#kinds.get(agentId) ?? (await this.#kindOf(agentId));
    if (BACKGROUND.has(kind)) {
      if (type === "start") this.#working.add(agentId);
      else this.#working.delete(agentId);
    }
    if (type === "end" && READ.has(kind) && agentId !== this.#options.openAgent()) {
      this.#unread.set(agentId, this.unreadOf(agentId) + 1);
    }
  }

  async #kindOf(agentId: string): Promise<string> {
    const agent = await this.#options.api
      .get<{ kind?: string }>(pathOf("api", "agents", agentId))
      .catch((): { kind?: string } => ({}));
    const kind = agent.kind ?? "";
    this.#kinds.set(agentId, kind);
    return kind;
  }
}

interface TreePart {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly children: readonly TreePart[];
}
