/**
 * Reads the inbox of an actor: the messages that wait while it rests, and those that arrive while a run is active. It
 * reads as little as the queue's mode allows, and remembers what it has read.
 */

import type { Settings } from "../../../config/settings.ts";
import type { AgentState } from "../../../core/agent/state.ts";
import { errorText } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { Message } from "../../../core/message/message.ts";
import { isUrgent } from "../../../core/message/message-order.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { RunBody } from "../../../core/run/run.ts";
import {
  type Arrival,
  type Choice,
  choose,
  onArrival,
  routeKey,
  steerableNow,
  type Waiting,
} from "../../inbox/decide.ts";
import { queueSettingsFor } from "../../inbox/queue-settings.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import type { LiveRun } from "../../runtime/live-run.ts";
import type { ActorHost } from "./actor-host.ts";

/** How many waiting messages are read first, and in each portion if all must be read. */
const FIRST_PAGE = 8;
const PAGE = 256;

/** What to do, as of `now`. `seen`: the newest message that was read. */
export interface Look {
  readonly choice: Choice;
  readonly messages: readonly Message[];
  readonly seen: number;
  readonly now: number;
}

type ViewHost = Pick<ActorHost, "ports">;

export class InboxView {
  readonly #host: ViewHost;
  readonly #agentId: AgentId;
  /** The only message that waits, if the caller of `wake` knew it and no other has come since. */
  #waits: Message | undefined;
  /** Messages that may enter the active run at its next step, decided when they arrived. */
  readonly #steerable = new Set<number>();
  /** Questions about the agent's children and changes of its rules, to be answered at the next step. */
  readonly #questions = new Set<number>();
  #lookNext: { readonly run: LiveRun; readonly state: AgentState; readonly own?: PersonId } | undefined;
  #looking = false;
  #seen = 0;
  /** A message that interrupts waits, perhaps behind many others. */
  #interrupted = false;

  constructor(host: ViewHost, agentId: AgentId) {
    this.#host = host;
    this.#agentId = agentId;
  }

  /** The only message that waits; undefined if the inbox must be read. */
  known(waits: Message | undefined): void {
    this.#waits = waits;
  }

  /** The next action of an agent at rest. */
  async choose(lease: AgentLease, busyUntil: number | undefined, settings: Settings): Promise<Look> {
    const { messages, urgent } = await this.#waiting(lease, settings);
    const waiting = messages.map((message) => withSettings(message, lease.state, settings));
    const now = this.#host.ports.clock.now();
    const own = lease.record.person;
    const choice = choose({ own, now, waiting, urgent, busyUntil, dedupe: settings.queue.dedupe });
    return { choice, messages, seen: messages.at(-1)?.seq ?? 0, now };
  }

  /** Whether an urgent message waits. */
  async overtaken(): Promise<boolean> {
    return (await this.#host.ports.store.waiting(this.#agentId, { limit: 1, urgent: true })).length > 0;
  }

  /** The message that interrupts was taken. */
  taken(): void {
    this.#interrupted = false;
  }

  runBegins(): void {
    this.#seen = 0;
  }
  runEnded(): void {
    this.#steerable.clear();
    this.#questions.clear();
  }

  /** Reads the messages that arrived while a run is active. Messages that arrive during the read are read together afterwards. */
  async lookAtArrivals(run: LiveRun, { record, state }: Pick<AgentLease, "record" | "state">): Promise<void> {
    this.#lookNext = { run, state, own: record.person };
    if (this.#looking) return;
    this.#looking = true;
    try {
      while (this.#lookNext) {
        const next = this.#lookNext;
        this.#lookNext = undefined;
        await this.#look(next.run, next.state, next.own);
      }
    } finally {
      this.#looking = false;
    }
  }

  /** Some messages end the run, some may enter it at its next step. */
  async #look(run: LiveRun, state: AgentState, own: PersonId | undefined): Promise<void> {
    try {
      for (const waiting of await this.#arrivals(state)) {
        switch (arrivalAt(run, waiting, own)) {
          case "end-stop":
            run.end("person");
            break;
          case "end-reset":
            run.end("reset");
            break;
          case "end-interrupt":
            this.#interrupted = true;
            run.end("interrupt");
            break;
          case "steer":
            this.#steerable.add(waiting.message.seq);
            break;
          case "answer":
            this.#questions.add(waiting.message.seq);
            break;
          case "wait":
            break;
        }
      }
    } catch (error) {
      this.#host.ports.log.warn("could not read the messages that arrived", {
        agent: this.#agentId,
        error: errorText(error),
      });
    }
  }

  /** Whether a message that waits ends a run that is not at work. */
  async endsRun(body: RunBody, { record, state }: Pick<AgentLease, "record" | "state">): Promise<boolean> {
    this.#seen = 0;
    const arrivals = await this.#arrivals(state);
    // The run reads them again if it is resumed.
    this.#seen = 0;
    return arrivals.some((one) => arrivalAt({ state: "active", body }, one, record.person).startsWith("end-"));
  }

  /** The messages that enter the run before its next step. */
  async steerable(run: LiveRun): Promise<readonly Message[]> {
    if (this.#steerable.size === 0) return [];
    const waiting = await this.#host.ports.store.waiting(this.#agentId, { limit: PAGE });
    return steerableNow(waiting, routeKey(run.body.delivery), this.#steerable);
  }

  /** The questions to answer before the run's next step, each once. */
  async questions(): Promise<readonly Message[]> {
    if (this.#questions.size === 0) return [];
    const waiting = await this.#host.ports.store.waiting(this.#agentId, { limit: PAGE });
    return waiting.filter(({ seq }) => this.#questions.delete(seq));
  }

  /** The waiting messages that were not read before in this run, and all urgent ones. */
  async #arrivals(state: AgentState): Promise<readonly Waiting[]> {
    const { store } = this.#host.ports;
    const fresh = await store.waiting(this.#agentId, { limit: PAGE, afterSeq: this.#seen });
    const urgent = await store.waiting(this.#agentId, { limit: FIRST_PAGE, urgent: true });
    this.#seen = Math.max(this.#seen, fresh.at(-1)?.seq ?? 0);
    const settings = this.#host.ports.settings.current;
    return [...urgent, ...fresh].map((message) => withSettings(message, state, settings));
  }

  /** The waiting messages: the first page if the first message runs alone and none is dropped, otherwise all. */
  async #waiting(
    lease: AgentLease,
    settings: Settings,
  ): Promise<{ messages: readonly Message[]; urgent: readonly Message[] }> {
    const { store } = this.#host.ports;
    const known = this.#waits;
    this.#waits = undefined;
    const page = known ? [known] : await store.waiting(this.#agentId, { limit: FIRST_PAGE });
    const first = page[0];
    if (!first || page.length < FIRST_PAGE)
      return { messages: page, urgent: page.filter(({ body }) => isUrgent(body)) };
    const urgent = await store.waiting(this.#agentId, { limit: FIRST_PAGE, urgent: true });
    const { mode, cap } = queueSettingsFor(settings, first, lease.state);
    const alone =
      (mode === "queue" || mode === "steer") && !this.#interrupted && urgent.every(({ body }) => body.kind !== "user");
    if (alone && ((await store.agent(this.#agentId))?.waiting ?? 0) <= cap) return { messages: page, urgent };
    const messages = [...page];
    for (let more = page as readonly Message[]; ; messages.push(...more)) {
      more = await store.waiting(this.#agentId, { limit: PAGE, afterSeq: messages.at(-1)?.seq });
      if (more.length === 0) return { messages, urgent };
    }
  }
}

const withSettings = (message: Message, state: AgentState, settings: Settings): Waiting => ({
  message,
  settings: queueSettingsFor(settings, message, state),
});

function arrivalAt({ state, body }: Pick<LiveRun, "state" | "body">, waiting: Waiting, own?: PersonId): Arrival {
  const [streaming, compacting] = [state === "streaming", state === "compacting"];
  const route = routeKey(body.delivery);
  const lastSeq = Math.max(...body.seqs);
  return onArrival(waiting, { streaming, compacting, route, person: body.behalf?.person, own, lastSeq });
}
