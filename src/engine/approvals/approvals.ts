/**
 * The questions about calls that wait for a person: lists and answers them, and ends those whose time is over (M31). Any node
 * answers for any agent: a row leaves its state by comparison, so of several answers the first wins.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { NewDelivery } from "../../core/delivery/delivery.ts";
import { ConflictError } from "../../core/errors.ts";
import { everyone } from "../../core/people/behalf.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Approval, ApprovalFilter, ApprovalId } from "../../core/rights/approval.ts";
import type { RulesParty } from "../../core/rights/rules-party.ts";
import type { Op } from "../../core/store/change.ts";
import { submit } from "../commit/submit.ts";
import type { DueSweep } from "../due-sweep.ts";
import { type Emit, emitPosted } from "../engine-event.ts";
import { questionLane } from "../outbox/question-lane.ts";
import type { Directory } from "../people/directory.ts";
import { type AlwaysOffers, type AskedUnder, alwaysOffers, isMarked } from "./always-rules.ts";
import {
  type Answer,
  alreadyEnded,
  answerOps,
  type Decider,
  decidedBy,
  maySee,
  unknownApproval,
} from "./decide-approval.ts";
import { startExpirySweep } from "./expire-approvals.ts";
import { startNoticeSweep } from "./withdrawn-notice.ts";

type ApprovalsPorts = Pick<Ports, "store" | "ids" | "clock" | "log" | "connectors">;

interface ApprovalsHost {
  readonly directory: Directory;
  readonly emit: Emit;
  /** Whether other nodes ask and answer too. */
  readonly shared: boolean;
  claimFor(): number | undefined;
  /** The rules that the calls of an agent are judged by now. */
  partiesOf(
    agent: AgentRecord,
    people: readonly PersonId[],
    around: { readonly ancestors: readonly AgentRecord[] },
  ): readonly RulesParty[];
  /** The agents that started this one, nearest first. */
  ancestorsOf(agent: AgentRecord): Promise<readonly AgentRecord[]>;
  /** Called with a delivery that was just committed. */
  offer(delivery: NewDelivery): void;
}

/** Rights change seldom; an answer is decided again if they do. */
const TRIES = 3;

export class Approvals {
  readonly #ports: ApprovalsPorts;
  readonly #host: ApprovalsHost;
  #sweep: DueSweep | undefined;
  #notices: DueSweep | undefined;

  constructor(ports: ApprovalsPorts, host: ApprovalsHost) {
    this.#ports = ports;
    this.#host = host;
  }

  start(): void {
    this.#sweep = startExpirySweep(this.#ports, this.#host);
    this.#notices = startNoticeSweep(this.#ports, this.#host);
  }

  stop(): void {
    this.#sweep?.stop();
    this.#notices?.stop();
  }

  /** A question was asked that ends at this time. */
  asked(dueAt: number): void {
    this.#sweep?.due(dueAt);
  }

  /** Questions were withdrawn, or one that was withdrawn may have arrived now. */
  withdrawn(): void {
    this.#notices?.due(this.#ports.clock.now());
  }

  /** The newest first; those that this person may see. */
  async list(filter: ApprovalFilter, person: PersonId): Promise<readonly Approval[]> {
    return this.visible(await this.#ports.store.approvals(filter), person);
  }

  /** Those that this person may see. */
  async visible(approvals: readonly Approval[], person: PersonId): Promise<readonly Approval[]> {
    const people = await this.#host.directory.now();
    return approvals.filter((approval) => maySee(people, approval, person));
  }

  /** Throws `NotFoundError` if there is none, or if it is none of this person's business. */
  async get(id: ApprovalId, person: PersonId): Promise<Approval> {
    const approval = await this.#ports.store.approval(id);
    if (!approval || !maySee(await this.#host.directory.now(), approval, person)) throw unknownApproval(id);
    return approval;
  }

  /** The rules that a yes for always would store now. */
  async offers(approval: Approval): Promise<AlwaysOffers> {
    return alwaysOffers(await this.#host.directory.now(), approval, await this.#under(approval));
  }

  async #under(approval: Approval): Promise<AskedUnder> {
    const agent = await this.#ports.store.agent(approval.agentId);
    const people = (await this.#host.directory.now()).personOf;
    const way = everyone(approval.behalf).map(people);
    const ancestors = agent ? await this.#host.ancestorsOf(agent) : [];
    const rules = agent ? this.#host.partiesOf(agent, way, { ancestors }) : [];
    return { rules, untrusted: isMarked(approval, agent) };
  }

  /** Durable when it resolves. Throws `ConflictError` if another answer was first. `also`: ops of the result, committed with it. */
  async decide(
    id: ApprovalId,
    answer: Answer,
    decider: Decider,
    also: (decided: Approval) => readonly Op[] = () => [],
  ): Promise<Approval> {
    const { store, clock } = this.#ports;
    for (let tries = 1; ; tries++) {
      const people = await this.#host.directory.now();
      const approval = await store.approval(id);
      if (!approval) throw unknownApproval(id);
      const at = clock.now();
      const under = answer.always ? await this.#under(approval) : undefined;
      const ops = answerOps(people, approval, answer, decider, at, under);
      const decided = decidedBy(approval, answer, decider, at);
      const claimFor = this.#host.claimFor();
      const done = await submit(this.#ports, "approval.decide", [...ops, ...also(decided)], { at, claimFor });
      if (done.ok) {
        emitPosted(this.#host.emit, done.results);
        // The next question of the chat may be shown.
        if (decided.chat) this.#host.emit({ type: "delivery-moved", target: questionLane(decided.chat) });
        this.#sweep?.due(decided.dueAt);
        return decided;
      }
      const now = await store.approval(id);
      if (now && now.state !== "pending") throw alreadyEnded(now);
      if (answer.digest !== undefined && answer.digest !== approval.digest) {
        throw new ConflictError(`Approval ${id} is about another call than the one you saw.`, {
          hint: "Read it again.",
        });
      }
      if (tries === TRIES) throw new ConflictError(done.detail, { hint: "Try again." });
    }
  }
}
