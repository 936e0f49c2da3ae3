/**
 * A whole engine inside one test: an `AgentSystem` on a store in memory, a clock that moves only when told, seeded ids, a
 * scripted model, recording tools and channels. A restart drops the system as a kill would (whatever it still does is
 * heard by nobody) and builds a new one on the same store.
 */
import { z } from "zod";
import { openMemoryStore } from "../../adapters/store/sqlite/open-store.ts";
import { createSessionsSpawnTool, startBackgroundAgentTool } from "../../adapters/tools/subagents/spawn-tools.ts";
import { subagentsTool } from "../../adapters/tools/subagents/subagents-tool.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import type { DeliveryContext, SendingClass } from "../../core/delivery/delivery.ts";
import { CommitUnknownError, StoreFullError } from "../../core/errors.ts";
import type { Block } from "../../core/history/entry.ts";
import type { AgentId, ChangeId, Ids, RunId } from "../../core/ids.ts";
import type { MessageBody } from "../../core/message/message.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Connector, ConnectorHost, OutgoingDelivery, SendResult } from "../../core/ports/connector.ts";
import type { Log, LogFields } from "../../core/ports/log.ts";
import type { CallPrice, Model, ModelEvent, ModelRequest, ModelResult } from "../../core/ports/model.ts";
import type { FileStore, Ports } from "../../core/ports/ports.ts";
import type { Right, Tool, ToolContext, ToolHost, ToolOutput } from "../../core/ports/tool.ts";
import type { ReplayPolicy } from "../../core/run/run.ts";
import type { Change, CommitResult } from "../../core/store/change.ts";
import type { Store } from "../../core/store/store.ts";
import type { AcceptResult } from "../inbox/accept.ts";
import { AgentSystem } from "./agent-system.ts";
import type { AgentSystemOptions } from "./agent-system-options.ts";
import type { PostRequest } from "./message-ingress.ts";

// ---------------------------------------------------------------------------------------------------------------- time

export interface VirtualClock extends Clock {
  /** Moves to each timer that is due, in order, and calls it; `between` runs after each. */
  advance(ms: number, between: () => Promise<void>): Promise<void>;
  /** Moves the wall clock without anything happening, as an operator or a time server does. */
  jump(ms: number): void;
  /** How many timers are set. */
  readonly timers: number;
}

export const START = Date.parse("2026-01-05T09:00:00Z");

export function virtualClock(): VirtualClock {
  let time = 0;
  let offset = START;
  let order = 0;
  const timers = new Map<number, { at: number; order: number; callback: () => void }>();
  const due = (until: number) =>
    [...timers.values()].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at || a.order - b.order)[0];
  return {
    now: () => offset + time,
    monotonic: () => time,
    after(ms, callback) {
      const key = ++order;
      timers.set(key, { at: time + Math.max(0, ms), order: key, callback });
      return () => timers.delete(key);
    },
    async advance(ms, between) {
      const until = time + ms;
      await between();
      for (let next = due(until); next; next = due(until)) {
        time = Math.max(time, next.at);
        timers.delete(next.order);
        next.callback();
        await between();
      }
      time = until;
    },
    jump(ms) {
      offset += ms;
    },
    get timers() {
      return timers.size;
    },
  };
}

/** Ids that are the same in every run of a test and different in every life of a process. */
export function seededIds(life: string): Ids {
  let count = 0;
  const next = (): string => (++count).toString(16).padStart(12, "0");
  const seed = [...life].reduce((hash, letter) => (hash * 31 + letter.charCodeAt(0)) >>> 0, 7).toString(16);
  const head = seed.padStart(8, "0").slice(0, 8);
  return {
    agent: () => `a${head}${next()}000` as AgentId,
    uuid: () => `${head}-0000-7000-8000-${next()}`,
    change: () => `${life}-${next()}` as ChangeId,
  };
}

/** A promise to be kept later. */
export function gate<T = void>(): { promise: Promise<T>; open: (value: T) => void } {
  const { promise, resolve } = Promise.withResolvers<T>();
  return { promise, open: resolve };
}

// --------------------------------------------------------------------------------------------------------------- model

export interface ModelCall {
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
  readonly onEvent: (event: ModelEvent) => void;
  /** Counts the calls of this nest from 1. */
  readonly n: number;
}

/** What a script answers: words, calls of tools, or a result as the port has it. */
export type Reply = string | { say?: string; call: readonly ToolAsk[] } | Partial<ModelResult>;
export interface ToolAsk {
  readonly id?: string;
  readonly name: string;
  readonly with?: Record<string, unknown>;
}
export type Script = (call: ModelCall) => Reply | Promise<Reply>;

export const USAGE = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 };

export function modelResult(reply: Reply, n = 0): ModelResult {
  const base: ModelResult = {
    content: [],
    stopReason: "stop",
    api: "scripted",
    provider: "scripted",
    model: "scripted-1",
    usage: USAGE,
  };
  if (typeof reply === "string") return { ...base, content: [{ type: "text", text: reply }] };
  if (!("call" in reply)) return { ...base, ...reply };
  const said: Block[] = reply.say === undefined ? [] : [{ type: "text", text: reply.say }];
  const calls = reply.call.map(
    (ask, index): Block => ({
      type: "toolCall",
      id: ask.id ?? `call-${n}-${index}`,
      name: ask.name,
      arguments: ask.with ?? {},
    }),
  );
  return { ...base, content: [...said, ...calls], stopReason: "tool_calls" };
}

export const failure = (
  errorClass: NonNullable<ModelResult["error"]>["class"],
  more: Partial<NonNullable<ModelResult["error"]>> = {},
): Partial<ModelResult> => ({
  content: [],
  stopReason: errorClass === "aborted" ? "aborted" : "error",
  error: { class: errorClass, message: `${errorClass} error`, ...more },
});

/** Answers only when told, or at once with class `aborted` when the signal says so. Streams what it is given first. */
export async function stall(call: ModelCall, until: Promise<Reply>, said = ""): Promise<Reply> {
  if (said !== "") call.onEvent({ type: "text", delta: said });
  const content: Block[] = said === "" ? [] : [{ type: "text", text: said }];
  const aborted = new Promise<Reply>((resolve) => {
    const end = (): void => resolve({ ...failure("aborted"), content });
    if (call.signal.aborted) end();
    call.signal.addEventListener("abort", end, { once: true });
  });
  return Promise.race([until, aborted]);
}

/** The text of the newest message of a role. */
export function lastText(request: ModelRequest, role: "user" | "tool" | "assistant" = "user"): string {
  const message = request.messages.findLast((one) => one.role === role);
  return (message?.content ?? []).map((block) => (block.type === "text" ? block.text : "")).join("");
}

export const echo: Script = ({ request }) => `answer to ${lastText(request)}`;

// --------------------------------------------------------------------------------------------------------------- tools

export interface Execution {
  readonly name: string;
  readonly input: unknown;
  readonly callId: string;
  readonly runId: RunId;
}

export interface ToolSpec {
  readonly replay?: ReplayPolicy;
  readonly parallel?: boolean;
  readonly maxOutput?: number;
  readonly rights?: readonly Right[];
  readonly input?: z.ZodType;
  readonly execute?: (
    input: Record<string, unknown>,
    context: ToolContext,
  ) => ToolOutput | string | Promise<ToolOutput | string>;
}

// ------------------------------------------------------------------------------------------------------------ channels

export type Sending = (delivery: OutgoingDelivery, n: number, signal: AbortSignal) => SendResult | Promise<SendResult>;

/** A channel outside: it remembers whatever was sent to it, also over restarts. */
export interface Channel {
  readonly name: string;
  readonly sendingClass: SendingClass;
  /** Everything that was handed to it, whether or not it said so. */
  readonly calls: OutgoingDelivery[];
  /** What people see: an idempotent channel shows the same id once. */
  readonly shown: () => readonly string[];
  readonly lookups: OutgoingDelivery[];
  sending: Sending;
  lookup: (delivery: OutgoingDelivery) => Promise<"arrived" | "absent" | "unknown">;
  maxTextLength?: number;
}

export function channel(name: string, sendingClass: SendingClass = "idempotent"): Channel {
  const calls: OutgoingDelivery[] = [];
  return {
    name,
    sendingClass,
    calls,
    lookups: [],
    shown() {
      const seen = new Set<string>();
      return calls.flatMap(({ id, payload }) => {
        if (sendingClass === "idempotent" && seen.has(id)) return [];
        seen.add(id);
        return [payload.text ?? ""];
      });
    },
    sending: () => ({ status: "sent" }),
    lookup: async () => "unknown",
  };
}

// ---------------------------------------------------------------------------------------------------------------- nest

export interface TestEngineOptions {
  readonly script?: Script;
  readonly tools?: Readonly<Record<string, ToolSpec>>;
  /** Whether agents have the real tools that start children. */
  readonly children?: boolean;
  readonly channels?: readonly Channel[];
  readonly system?: Partial<AgentSystemOptions>;
  readonly files?: FileStore;
  /** What the scripted model says it costs. */
  readonly price?: CallPrice;
}

/** What becomes of a commit: nothing special, an error before it or after it, or the end of the process. */
export type Fate = "go" | "full" | "unknown-lost" | "unknown-applied" | "throw" | "die-before" | "die-after";

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields | undefined;
}

export class TestEngine {
  readonly store: Store = openMemoryStore();
  readonly clock = virtualClock();
  readonly requests: ModelRequest[] = [];
  /** Each request's messages as they were sent, as text. */
  readonly sentBytes: string[] = [];
  readonly executions: Execution[] = [];
  readonly commits: Change[] = [];
  readonly written = new Map<string, string>();
  readonly log: LogLine[] = [];
  readonly channels: ReadonlyMap<string, Channel>;
  script: Script;
  /** Asked before every commit of the engine. */
  onCommit: (change: Change, nth: number) => Fate = () => "go";
  system!: AgentSystem;
  hosts = new Map<string, ConnectorHost>();
  options: TestEngineOptions;
  #life = { alive: true, name: "life0" };
  #lives = 0;
  #sites = new Map<string, number>();
  #inFlight = 0;
  #activity = 0;
  #messageIds = 0;

  private constructor(options: TestEngineOptions) {
    this.options = options;
    this.script = options.script ?? echo;
    const channels = options.channels ?? [channel("test")];
    this.channels = new Map(channels.map((one) => [one.name, one]));
  }

  /** A nest whose system has been loaded and started. */
  static async open(options: TestEngineOptions = {}): Promise<TestEngine> {
    const engine = new TestEngine(options);
    await engine.boot();
    return engine;
  }

  /** A nest whose system exists but has not been loaded. */
  static unloaded(options: TestEngineOptions = {}): TestEngine {
    const engine = new TestEngine(options);
    engine.make();
    return engine;
  }

  make(options: Partial<AgentSystemOptions> = {}): void {
    const life = { alive: true, name: `life${++this.#lives}` };
    this.#life = life;
    this.#sites = new Map();
    this.system = new AgentSystem(this.ports(life), {
      nodeName: life.name,
      resolveModel: () => ({ model: "scripted", system: "You are under test." }),
      ...this.options.system,
      ...options,
    });
  }

  async boot(options: Partial<AgentSystemOptions> = {}): Promise<void> {
    this.make(options);
    await this.system.load();
    await this.system.start();
  }

  get alive(): boolean {
    return this.#life.alive;
  }

  /** The process is gone: nothing it was about to do happens, nothing it said is heard. */
  crash(): void {
    this.#life.alive = false;
  }

  /** A kill and a new process on the same store. Waits until everything that needs no time has happened. */
  async restart(options: Partial<AgentSystemOptions> = {}): Promise<void> {
    await this.reboot(options);
    await this.settle();
  }

  /** As `restart`, without waiting. */
  async reboot(options: Partial<AgentSystemOptions> = {}): Promise<void> {
    this.crash();
    await this.retire();
    this.onCommit = () => "go";
    await this.boot(options);
  }

  /** What opening the embedded store does: the lock says that no other node of this home lives. */
  async retire(): Promise<void> {
    for (const { node, left } of await this.store.nodes()) {
      if (left) continue;
      const ops = [{ op: "node.leave", node }] as const;
      await this.store.commit({ id: `retire-${node}` as ChangeId, site: "retire", at: this.clock.now(), ops });
    }
  }

  /** Everything that needs no time happens. */
  async settle(): Promise<void> {
    for (let still = 0; still < 4; ) {
      const before = this.#activity;
      await new Promise((resolve) => setImmediate(resolve));
      still = this.#inFlight === 0 && this.#activity === before ? still + 1 : 0;
    }
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms, () => this.settle());
  }

  async drain(): Promise<void> {
    const drained = this.system.drain();
    await this.settle();
    await drained;
  }

  // -- people

  person(name = "ann", on = "test"): { to: { descriptor: AgentDescriptor }; delivery: DeliveryContext } {
    return {
      to: { descriptor: { type: "user", connector: on, userId: name, channelId: name } },
      delivery: { channel: on, to: name },
    };
  }

  /** A person's message is accepted; nothing is waited for. */
  say(text: string, from: { name?: string; on?: string } & Partial<PostRequest> = {}): Promise<AcceptResult> {
    const { name, on, ...more } = from;
    const source = { connector: on ?? "test", channelId: name ?? "ann", messageId: `m${++this.#messageIds}` };
    return this.system.post({ ...this.person(name, on), body: { kind: "user", text }, source, ...more });
  }

  /** A person's message, and all that comes of it without time passing. */
  async tell(text: string, from: Parameters<TestEngine["say"]>[1] = {}): Promise<AcceptResult> {
    const accepted = await this.say(text, from);
    await this.settle();
    return accepted;
  }

  send(body: MessageBody, from: { name?: string; on?: string } & Partial<PostRequest> = {}): Promise<AcceptResult> {
    const { name, on, ...more } = from;
    return this.system.post({ ...this.person(name, on), body, ...more });
  }

  // -- what can be seen

  channel(name = "test"): Channel {
    const found = this.channels.get(name);
    if (!found) throw new TypeError(`no channel ${name}`);
    return found;
  }

  /** What people see on a channel, in order. */
  shown(name = "test"): readonly string[] {
    return this.channel(name).shown();
  }

  async agentId(name = "ann", on = "test"): Promise<AgentId> {
    for (const agent of await this.store.agents({ limit: 1000 })) {
      const { descriptor } = agent;
      if (descriptor.type === "user" && descriptor.userId === name && descriptor.connector === on) return agent.id;
    }
    throw new TypeError(`no agent of ${name}`);
  }

  async entries(agentId?: AgentId): Promise<Record<string, unknown>[]> {
    const lines = await this.store.linesBack(agentId ?? (await this.agentId()), { limit: 10_000 });
    return lines.map(({ line }) => JSON.parse(line) as Record<string, unknown>).reverse();
  }

  /** Role and text of each message entry, calls as `name()`. */
  async transcript(agentId?: AgentId): Promise<string[]> {
    return (await this.entries(agentId)).flatMap((entry) => {
      if (entry.type === "reset") return [`--- reset${entry.message ? ` ${entry.message}` : ""}`];
      if (entry.type !== "message") return [];
      const blocks = entry.content as Block[];
      const text = blocks.map((block) =>
        block.type === "text" ? block.text : block.type === "toolCall" ? `${block.name}()` : block.type,
      );
      return [`${entry.role}: ${text.join(" ")}`];
    });
  }

  async states(agentId?: AgentId): Promise<string[]> {
    const messages = await this.store.messages(agentId ?? (await this.agentId()), { limit: 1000 });
    return messages.map(({ state }) => state).reverse();
  }

  async runs(agentId?: AgentId) {
    return [...(await this.store.runs(agentId ?? (await this.agentId()), { limit: 1000 }))].reverse();
  }

  async deliveries(agentId?: AgentId) {
    const states = ["pending", "sending", "sent", "suppressed", "failed", "unconfirmed"] as const;
    return this.store.deliveries({ limit: 1000, states, ...(agentId ? { agentId } : {}) });
  }

  logged(level: string): readonly string[] {
    return this.log.filter((line) => line.level === level).map((line) => line.message);
  }

  // -- the world as one life of the process sees it

  ports(life: { alive: boolean; name: string }): Ports {
    const { clock } = this;
    const never = new Promise<never>(() => {});
    /** A dead process never hears the answer. */
    const heard = <T>(answer: Promise<T>): Promise<T> =>
      life.alive
        ? new Promise((resolve, reject) => {
            answer.then(
              (value) => life.alive && resolve(value),
              (error) => life.alive && reject(error),
            );
          })
        : never;
    return {
      clock: {
        now: clock.now,
        monotonic: clock.monotonic,
        after: (ms, callback) => clock.after(ms, () => life.alive && callback()),
      },
      ids: seededIds(life.name),
      log: this.#logger(),
      store: this.#storeFor(life, heard),
      model: this.#modelFor(life, heard),
      tools: this.#toolsFor(life, heard),
      files: this.options.files ?? {
        write: async (name, content) => {
          this.written.set(name, String(content));
          return `/files/${name}`;
        },
        read: async () => undefined,
      },
      connectors: new Map([...this.channels.values()].map((one) => [one.name, this.#connectorFor(one, life, heard)])),
    };
  }

  #logger(): Log {
    const write = (level: string) => (message: string, fields?: LogFields) => {
      this.log.push({ level, message, fields });
    };
    return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  }

  #storeFor(life: { alive: boolean }, heard: <T>(answer: Promise<T>) => Promise<T>): Store {
    const { store } = this;
    // Looked up at each call, so that a test may put its own reader in a method's place.
    const reads = store as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const wrapped: Record<string, unknown> = {};
    for (const name of Object.keys(store)) {
      wrapped[name] = (...args: unknown[]) => heard(reads[name]?.(...args) ?? Promise.resolve(undefined));
    }
    return {
      ...(wrapped as unknown as Store),
      onHint: store.onHint,
      close: store.close,
      commit: (change) => heard(this.#commit(life, change)),
    };
  }

  async #commit(life: { alive: boolean }, change: Change): Promise<CommitResult> {
    if (!life.alive) return new Promise(() => {});
    const nth = (this.#sites.get(change.site) ?? 0) + 1;
    this.#sites.set(change.site, nth);
    const onCommit = this.onCommit(change, nth);
    this.#inFlight += 1;
    try {
      if (onCommit === "die-before") {
        life.alive = false;
        return { ok: true, results: [] };
      }
      if (onCommit === "full") throw new StoreFullError("no room");
      if (onCommit === "throw") throw new TypeError("the store is confused");
      if (onCommit === "unknown-lost") throw new CommitUnknownError("nobody knows");
      const result = await this.store.commit(change);
      this.#activity += 1;
      this.commits.push(change);
      if (onCommit === "die-after") life.alive = false;
      if (onCommit === "unknown-applied") throw new CommitUnknownError("nobody knows");
      return result;
    } finally {
      this.#inFlight -= 1;
    }
  }

  #modelFor(life: { alive: boolean }, heard: <T>(answer: Promise<T>) => Promise<T>): Model {
    return {
      call: (request, signal, onEvent) => {
        if (!life.alive) return new Promise(() => {});
        this.#activity += 1;
        this.requests.push(request);
        this.sentBytes.push(JSON.stringify(request.messages));
        const n = this.requests.length;
        const answer = async (): Promise<ModelResult> =>
          modelResult(await this.script({ request, signal, onEvent, n }), n);
        return heard(answer());
      },
      price: async () => this.options.price,
    };
  }

  #toolsFor(life: { alive: boolean }, heard: <T>(answer: Promise<T>) => Promise<T>): ToolHost {
    const tools = Object.entries(this.options.tools ?? {}).map(
      ([name, spec]): Tool => ({
        name,
        description: `the tool ${name}`,
        input: spec.input ?? z.looseObject({}),
        rights: spec.rights ?? [],
        replay: spec.replay ?? "safe",
        parallel: spec.parallel ?? false,
        maxOutput: spec.maxOutput ?? 4_000,
        execute: (input, context) => {
          if (!life.alive) return new Promise(() => {});
          this.#activity += 1;
          this.executions.push({ name, input, callId: context.callId, runId: context.runId });
          const run = async (): Promise<ToolOutput> => {
            const output = (await spec.execute?.(input as Record<string, unknown>, context)) ?? `${name} done`;
            return typeof output === "string" ? { content: [{ type: "text", text: output }] } : output;
          };
          return heard(run());
        },
      }),
    );
    if (this.options.children) {
      const subagents = () => this.system.subagents;
      const { store, clock } = this;
      tools.push(createSessionsSpawnTool(subagents) as Tool, startBackgroundAgentTool(subagents) as Tool);
      tools.push(subagentsTool(subagents, { store, clock }) as Tool);
    }
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    return { list: () => tools, find: (_agent, name) => byName.get(name) };
  }

  #connectorFor(outside: Channel, life: { alive: boolean }, heard: <T>(answer: Promise<T>) => Promise<T>): Connector {
    return {
      name: outside.name,
      sendingClass: outside.sendingClass,
      capabilities: {
        sendText: true,
        ...(outside.maxTextLength === undefined ? {} : { maxTextLength: outside.maxTextLength }),
      },
      start: async (host) => {
        this.hosts.set(outside.name, host);
      },
      stop: async () => {},
      health: () => ({ ok: true, detail: "" }),
      send: (delivery, signal) => {
        if (!life.alive) return new Promise(() => {});
        this.#activity += 1;
        outside.calls.push(delivery);
        const send = async (): Promise<SendResult> => outside.sending(delivery, outside.calls.length, signal);
        return heard(send());
      },
      lookup: (delivery) => {
        if (!life.alive) return new Promise(() => {});
        outside.lookups.push(delivery);
        return heard(Promise.resolve(outside.lookup(delivery)));
      },
    };
  }
}

/** Dies at the nth commit of a site. */
export const dieAt =
  (site: string, moment: "before" | "after" = "after", nth = 1): TestEngine["onCommit"] =>
  (change, count) =>
    change.site === site && count === nth ? `die-${moment}` : "go";

/** A script that answers in turn; the last answer repeats. */
export function inTurn(...replies: readonly (Reply | Script)[]): Script {
  let next = 0;
  return (call) => {
    const reply = replies[Math.min(next++, replies.length - 1)] as Reply | Script;
    return typeof reply === "function" ? reply(call) : reply;
  };
}
