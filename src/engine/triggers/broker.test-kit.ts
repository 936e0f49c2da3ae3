/** A broker over jobs in memory and a virtual clock, for its steps one by one. */

import { setImmediate } from "node:timers/promises";
import { virtualClock } from "../../../test/kit/clock.ts";
import { type LogLine, recordingLog } from "../../../test/kit/log.ts";
import { type SettingsPart, testConfig, testSettings } from "../../../test/kit/settings.ts";
import type { CurrentSettings } from "../../config/settings.ts";
import { ConflictError } from "../../core/errors.ts";
import { messageText } from "../../core/message/message.ts";
import type { CronJob } from "../../core/schedule/job.ts";
import type { JobSlot } from "../../core/schedule/job-slot.ts";
import { versionOf, wakeTimeOf } from "../../core/schedule/job-times.ts";
import type { Op } from "../../core/store/change.ts";
import type { PostRequest } from "../agents/message-ingress.ts";
import { type BrokerOptions, TriggerBroker } from "./broker.ts";

type BrokerPorts = ConstructorParameters<typeof TriggerBroker>[0];

export interface BrokerPart extends Omit<BrokerOptions, "settings"> {
  readonly settings?: SettingsPart;
}

const MAX_READS = 200;

export class BrokerWorld {
  readonly clock = virtualClock();
  readonly jobs = new Map<string, CronJob>();
  readonly slots: JobSlot[] = [];
  readonly posts: PostRequest[] = [];
  readonly commits: { readonly site: string; readonly ops: readonly Op[] }[] = [];
  readonly lines: LogLine[] = [];
  /** The agent of each session key. */
  readonly agents = new Map<string, { readonly waiting: number; readonly runId?: string }>();
  /** The other nodes on the store. */
  readonly nodes: { readonly node: number; readonly leaseUntil: number; left?: boolean }[] = [];
  /** How many jobs were asked for, with each read. */
  readonly reads: { readonly before?: number; readonly limit: number }[] = [];
  /** Called before what is named happens; may throw, or change the jobs as another node does. */
  before: (what: string) => void = () => {};
  readonly broker: TriggerBroker;
  settings: CurrentSettings;

  constructor({ settings, ...options }: BrokerPart = {}, more: Partial<BrokerPorts> = {}) {
    this.settings = testSettings(settings);
    this.broker = new TriggerBroker({ ...this.#ports(), ...more }, { ...options, settings: this.settings });
  }

  /** Puts another zone in force. */
  move(timeZone: string): void {
    this.settings.replace(testConfig(this.settings.current, { session: { timeZone } }));
  }

  /** Stores an hourly job; without a state it is due now. */
  put(more: Partial<CronJob> & { readonly id: string }): CronJob {
    const at = this.clock.now();
    const { state = { nextRunAtMs: at } } = more;
    const job: CronJob = {
      name: more.id,
      enabled: true,
      createdAtMs: at,
      updatedAtMs: at,
      schedule: { kind: "every", everyMs: 3_600_000, anchorMs: state.nextRunAtMs },
      sessionTarget: "isolated",
      wakeMode: "now",
      payload: { kind: "agentTurn", message: "work" },
      state,
      behalf: { person: "owner" as never },
      version: 1,
      ...more,
    };
    this.jobs.set(job.id, job);
    return job;
  }

  /** Lets everything happen that needs no time. */
  async settle(): Promise<void> {
    for (let still = 0; still < 3; still++) {
      const before = this.#calls;
      await setImmediate();
      if (this.#calls !== before || this.#open > 0) still = 0;
    }
  }
  #calls = 0;
  #open = 0;

  /** A call of the store or of the agents: it takes some turns, a write more than a read. */
  async #call<T>(what: string, turns: number, result: () => T): Promise<T> {
    this.#calls += 1;
    this.#open += 1;
    try {
      this.before(what);
      for (let turn = 0; turn < turns; turn++) await setImmediate();
      return result();
    } finally {
      this.#open -= 1;
    }
  }

  async start(): Promise<void> {
    this.broker.start();
    await this.settle();
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms, () => this.settle());
  }

  /** What became of each due time, by job. */
  outcomes(): readonly string[] {
    return this.slots.map(({ jobId, status, reason }) => `${jobId} ${reason ?? status}`);
  }

  /** The texts of the messages. */
  texts(): readonly string[] {
    return this.posts.map(({ body }) => messageText(body));
  }

  #ports(): BrokerPorts {
    const { clock } = this;
    let changes = 0;
    const at = (job: CronJob): number => wakeTimeOf(job) ?? Number.POSITIVE_INFINITY;
    const store = {
      nextJobs: (page: { readonly before?: number; readonly limit: number }) => {
        this.reads.push(page);
        if (this.reads.length > MAX_READS) throw new Error("The broker reads the jobs without end.");
        return this.#call("nextJobs", 1, () => {
          const due = [...this.jobs.values()].filter((job) => at(job) <= (page.before ?? Number.MAX_SAFE_INTEGER));
          return due.sort((a, b) => at(a) - at(b)).slice(0, page.limit);
        });
      },
      jobs: () => this.#call("jobs", 3, () => [...this.jobs.values()]),
      job: (id: string) => this.#call("job", 1, () => this.jobs.get(id)),
      jobSlot: (jobId: string, slot: string) =>
        this.#call("jobSlot", 1, () => this.slots.find((one) => one.jobId === jobId && one.slot === slot)),
      agentByKey: (key: string) => this.#call("agentByKey", 1, () => this.agents.get(key)),
      nodes: async () => this.nodes,
      outcome: async () => undefined,
      commit: ({ site, ops }: { readonly site: string; readonly ops: readonly Op[] }) =>
        this.#call(site, 3, () => {
          const detail = this.#apply(ops);
          if (detail === undefined) this.commits.push({ site, ops });
          return detail === undefined ? { ok: true, results: [] } : { ok: false, detail };
        }),
    };
    const address = async () => ({ to: "owner" });
    const people = { addressOf: address, addressOfConversation: address, personOf: async () => "owner" };
    return {
      clock,
      store,
      people,
      ids: { change: () => `c${++changes}` },
      log: recordingLog(this.lines),
      post: (request: PostRequest) =>
        this.#call("post", 3, () => {
          const detail = this.#apply(request.also ?? []);
          if (detail !== undefined) throw new ConflictError(detail);
          this.posts.push(request);
        }),
    } as unknown as BrokerPorts;
  }

  /** Applies all or nothing; returns what refuses it. */
  #apply(ops: readonly Op[]): string | undefined {
    for (const op of ops) {
      if (
        op.op === "job.slot" &&
        this.slots.some(({ jobId, slot }) => jobId === op.slot.jobId && slot === op.slot.slot)
      )
        return "the slot has a row";
      const id = op.op === "job.put" ? op.job.id : op.op === "job.remove" ? op.id : undefined;
      const before = id === undefined ? undefined : this.jobs.get(id);
      if ((op.op === "job.put" || op.op === "job.remove") && op.expect !== (before ? versionOf(before) : 0))
        return "the job has changed";
    }
    for (const op of ops) {
      if (op.op === "job.slot") this.slots.push(op.slot);
      if (op.op === "job.put") this.jobs.set(op.job.id, { ...op.job, version: versionOf(op.job) + 1 });
      if (op.op === "job.remove") this.jobs.delete(op.id);
    }
    return undefined;
  }
}
