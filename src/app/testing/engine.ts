/**
 * A whole engine inside one test: an `AgentSystem` on a store in memory, with a virtual clock, seeded ids, a scripted
 * model, recording tools and channels. A restart drops the system as a kill would and builds a new one on the same store.
 */
import { fileInspector } from "../../adapters/files/inspect-file.ts";
import { openMemoryStore } from "../../adapters/store/sqlite/open-store.ts";
import { createSessionsSpawnTool, startBackgroundAgentTool } from "../../adapters/tools/subagents/spawn-tools.ts";
import { subagentsTool } from "../../adapters/tools/subagents/subagents-tool.ts";
import { fileDefaults } from "../../config/sections/files.ts";
import type { CurrentSettings } from "../../config/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import { type DeliveryContext, deliveryStateSchema } from "../../core/delivery/delivery.ts";
import type { Block } from "../../core/history/entry.ts";
import type { AgentId, ChangeId } from "../../core/ids.ts";
import { assertKnownKeys, type KeyTable } from "../../core/known-keys.ts";
import type { MessageBody } from "../../core/message/message.ts";
import type { ConnectorHost } from "../../core/ports/connector.ts";
import type { CallPrice, ModelRequest } from "../../core/ports/model.ts";
import type { FileStore, Ports } from "../../core/ports/ports.ts";
import type { Tool, ToolHost } from "../../core/ports/tool.ts";
import type { Op, OpResult } from "../../core/store/change.ts";
import type { CommitSite, EngineChange } from "../../core/store/commit-sites.ts";
import type { Store } from "../../core/store/store.ts";
import { AgentSystem } from "../../engine/agents/agent-system.ts";
import type { AgentSystemOptions } from "../../engine/agents/agent-system-options.ts";
import type { PostRequest } from "../../engine/agents/message-ingress.ts";
import { FileService } from "../../engine/files/file-service.ts";
import type { AcceptResult } from "../../engine/inbox/accept.ts";
import { memoryBlobs } from "./blobs.ts";
import { type Channel, channel, connectorTo } from "./channel.ts";
import { virtualClock } from "./clock.ts";
import { seededIds } from "./ids.ts";
import { type LogLine, recordingLog } from "./log.ts";
import { echo, type Script, scriptedModel } from "./model.ts";
import type { Activity, TestProcess } from "./process.ts";
import { randomOf } from "./random.ts";
import { type SettingsPart, testConfig, testSettings } from "./settings.ts";
import { type CommitPoint, type OnCommit, storeOf } from "./store.ts";
import { assertSpecs, type Execution, recordingTool, type ToolSpec, toolHost } from "./tools.ts";

type SystemPart = Partial<Omit<AgentSystemOptions, "settings">>;
/** The options of a new process that differ. */
type NewProcess = SystemPart & Pick<TestEngineOptions, "settings">;

export interface TestEngineOptions {
  readonly script?: Script;
  readonly tools?: Readonly<Record<string, ToolSpec>>;
  /** Whether agents have the real tools that start children. */
  readonly children?: boolean;
  /** Which of the tools each agent has. Default: all of them. */
  readonly host?: (tools: readonly Tool[]) => ToolHost;
  readonly channels?: readonly Channel[];
  readonly system?: SystemPart;
  /** Values that differ from the settings of a test engine. */
  readonly settings?: SettingsPart;
  readonly files?: FileStore;
  /** The usage that the scripted model reports. */
  readonly price?: CallPrice;
  /** Engines with different seeds have different ids, as two homes have. */
  readonly seed?: string;
}

/** A process that a test has stopped at a commit. */
export interface Pause {
  /** Resolves when the process has come to the commit. */
  readonly reached: Promise<void>;
  /** Lets the process continue. */
  release(): void;
}

const OPTIONS: KeyTable<TestEngineOptions> = {
  script: true,
  tools: true,
  children: true,
  host: true,
  channels: true,
  system: true,
  settings: true,
  files: true,
  price: true,
  seed: true,
};

type Sender = { name?: string; on?: string } & Partial<PostRequest>;

export class TestEngine {
  readonly store: Store = openMemoryStore();
  readonly clock = virtualClock();
  readonly requests: ModelRequest[] = [];
  /** Each request's messages as they were sent, as text. */
  readonly sentBytes: string[] = [];
  readonly executions: Execution[] = [];
  readonly commits: EngineChange[] = [];
  readonly written = new Map<string, string>();
  /** The bytes of files, which outlive processes. */
  readonly blobs = memoryBlobs();
  readonly log: LogLine[] = [];
  readonly channels: ReadonlyMap<string, Channel>;
  script: Script;
  /** Called before every commit of the engine. */
  onCommit: OnCommit = () => "go";
  system!: AgentSystem;
  /** The settings in force. */
  settings!: CurrentSettings;
  hosts = new Map<string, ConnectorHost>();
  options: TestEngineOptions;
  #process: TestProcess = { alive: true, name: "life0" };
  #lives = 0;
  #activity: Activity = { inFlight: 0, count: 0 };
  #messageIds = 0;
  #changes = 0;
  readonly #points: (CommitPoint & { act(): Promise<void> })[] = [];

  private constructor(options: TestEngineOptions) {
    assertKnownKeys("TestEngine.open()", options, OPTIONS);
    assertSpecs(options.tools ?? {});
    this.options = options;
    this.script = options.script ?? echo;
    const channels = options.channels ?? [channel("test")];
    this.channels = new Map(channels.map((one) => [one.name, one]));
  }

  /** An engine whose system is loaded and started. */
  static async open(options: TestEngineOptions = {}): Promise<TestEngine> {
    const engine = new TestEngine(options);
    await engine.boot();
    return engine;
  }

  /** An engine whose system exists but is not loaded. */
  static unloaded(options: TestEngineOptions = {}): TestEngine {
    const engine = new TestEngine(options);
    engine.make();
    return engine;
  }

  make({ settings, ...options }: NewProcess = {}): void {
    const process = { alive: true, name: `life${++this.#lives}` };
    this.#process = process;
    const ports = this.ports(process);
    this.settings = testSettings(this.options.settings, settings);
    this.system = new AgentSystem(ports, {
      nodeName: process.name,
      resolveModel: () => ({ model: "scripted", system: "You are under test." }),
      settings: this.settings,
      files: new FileService({
        ports,
        blobs: this.blobs,
        inspector: fileInspector(() => ({})),
        limits: () => ({ ...fileDefaults, unusedMs: 24 * 3600_000 }),
      }),
      ...this.options.system,
      ...options,
    });
  }

  async boot(options: NewProcess = {}): Promise<void> {
    this.make(options);
    await this.system.load();
    await this.system.start();
  }

  /** Counts the processes from 1. */
  get life(): number {
    return this.#lives;
  }

  get alive(): boolean {
    return this.#process.alive;
  }

  /** Kills the process: it starts nothing more, and no answer reaches it. */
  crash(): void {
    this.#process.alive = false;
  }

  /** Kills the process, starts a new one on the same store and waits until everything that needs no time has happened. */
  async restart(options: NewProcess = {}): Promise<void> {
    await this.reboot(options);
    await this.settle();
  }

  /** Loads the configuration again, with these settings in addition, and waits until everything that needs no time has happened. */
  async reload(part: SettingsPart): Promise<void> {
    await this.settings.reload(testConfig(this.settings.current, part), []);
    this.system.reloaded();
    await this.settle();
  }

  /** Restarts without waiting. */
  async reboot(options: NewProcess = {}): Promise<void> {
    this.crash();
    await this.retire();
    this.onCommit = () => "go";
    await this.boot(options);
  }

  /** Marks every node as left, as opening the embedded store does: its lock proves that no other node of this home lives. */
  async retire(): Promise<void> {
    for (const { node, left } of await this.store.nodes()) {
      if (left) continue;
      const ops = [{ op: "node.leave", node }] as const;
      await this.store.commit({ id: `retire-${node}` as ChangeId, site: "retire", at: this.clock.now(), ops });
    }
  }

  /** Waits until everything that needs no time has happened. */
  async settle(): Promise<void> {
    for (let still = 0; still < 4; ) {
      const before = this.#activity.count;
      await new Promise((resolve) => setImmediate(resolve));
      still = this.#activity.inFlight === 0 && this.#activity.count === before ? still + 1 : 0;
    }
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms, () => this.settle());
  }

  /** Does something right before or right after the next commit of a site. The commit waits for it. */
  at(site: CommitSite, act: () => unknown, moment: CommitPoint["moment"] = "before"): void {
    const counted = async (): Promise<void> => {
      this.#activity.inFlight += 1;
      await Promise.resolve(act()).finally(() => {
        this.#activity.inFlight -= 1;
      });
    };
    this.#points.push({ site, moment, act: counted });
  }

  /** Stops the process at the next commit of a site until the test releases it. `settle` does not wait for it. */
  pauseAt(site: CommitSite, moment: CommitPoint["moment"] = "before"): Pause {
    const reached = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const act = (): Promise<void> => {
      reached.resolve();
      return released.promise;
    };
    this.#points.push({ site, moment, act });
    return { reached: reached.promise, release: () => released.resolve() };
  }

  #atPoint({ site, moment }: CommitPoint): Promise<void> | undefined {
    const at = this.#points.findIndex((point) => point.site === site && point.moment === moment);
    return at === -1 ? undefined : this.#points.splice(at, 1)[0]?.act();
  }

  async drain(): Promise<void> {
    const drained = this.system.drain();
    await this.settle();
    await drained;
  }

  person(name = "ann", on = "test"): { to: { descriptor: AgentDescriptor }; delivery: DeliveryContext } {
    return {
      to: { descriptor: { type: "user", connector: on, userId: name, channelId: name } },
      delivery: { channel: on, to: name },
    };
  }

  /** Posts a person's message and waits only until it is accepted. */
  say(text: string, from: Sender = {}): Promise<AcceptResult> {
    const { name, on, ...more } = from;
    const source = { connector: on ?? "test", channelId: name ?? "ann", messageId: `m${++this.#messageIds}` };
    return this.system.post({ ...this.person(name, on), body: { kind: "user", text }, source, ...more });
  }

  /** Posts a person's message and waits for everything that follows without time passing. */
  async tell(text: string, from: Sender = {}): Promise<AcceptResult> {
    const accepted = await this.say(text, from);
    await this.settle();
    return accepted;
  }

  send(body: MessageBody, from: Sender = {}): Promise<AcceptResult> {
    const { name, on, ...more } = from;
    return this.system.post({ ...this.person(name, on), body, ...more });
  }

  channel(name = "test"): Channel {
    const found = this.channels.get(name);
    if (!found) throw new TypeError(`no channel ${name}`);
    return found;
  }

  /** The messages that people see on a channel, in order. */
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

  /** An agent as the store has it. */
  async agent(agentId?: AgentId): Promise<AgentRecord> {
    const record = await this.store.agent(agentId ?? (await this.agentId()));
    if (!record) throw new TypeError(`no agent ${agentId}`);
    return record;
  }

  /** Commits a change that another program makes. */
  async put(...ops: readonly Op[]): Promise<readonly (OpResult | undefined)[]> {
    const id = `put-${++this.#changes}` as ChangeId;
    const result = await this.store.commit({ id, site: "test", at: this.clock.now(), ops });
    if (!result.ok) throw new TypeError(`refused: ${result.refused}`);
    return result.results;
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

  /** The first text of each message in a request to the model. Default: in the last request. */
  heard(at = -1): readonly string[] {
    const messages = JSON.parse(this.sentBytes.at(at) ?? "[]") as { content: { text?: string }[] }[];
    return messages.map(({ content }) => content[0]?.text ?? "");
  }

  async states(agentId?: AgentId): Promise<string[]> {
    const messages = await this.store.messages(agentId ?? (await this.agentId()), { limit: 1000 });
    return messages.map(({ state }) => state).reverse();
  }

  async runs(agentId?: AgentId) {
    return [...(await this.store.runs(agentId ?? (await this.agentId()), { limit: 1000 }))].reverse();
  }

  async deliveries(agentId?: AgentId) {
    return this.store.deliveries({ limit: 1000, states: deliveryStateSchema.options, agentId });
  }

  logged(level: string): readonly string[] {
    return this.log.filter((line) => line.level === level).map((line) => line.message);
  }

  /** The world as one process sees it. */
  ports(process: TestProcess): Ports {
    const { clock, options, requests, sentBytes, commits } = this;
    const activity = this.#activity;
    const onCommit: OnCommit = (change, nth) => this.onCommit(change, nth);
    const connector = (one: Channel) =>
      connectorTo(one, process, { activity, onStart: (host) => void this.hosts.set(one.name, host) });
    return {
      clock: {
        now: clock.now,
        monotonic: clock.monotonic,
        after: (ms, callback) => clock.after(ms, () => process.alive && callback()),
      },
      ids: seededIds(process.name, randomOf(`${this.options.seed ?? ""}${process.name}`)),
      log: recordingLog(this.log),
      store: storeOf(this.store, process, { activity, commits, onCommit, atPoint: (point) => this.#atPoint(point) }),
      model: scriptedModel(process, {
        activity,
        requests,
        sentBytes,
        price: options.price,
        script: () => this.script,
      }),
      tools: this.#tools(process),
      files: options.files ?? {
        write: async (name, content) => {
          this.written.set(name, String(content));
          return `/files/${name}`;
        },
        read: async () => undefined,
      },
      connectors: new Map([...this.channels].map(([name, one]) => [name, connector(one)])),
    };
  }

  #tools(process: TestProcess): ToolHost {
    const { store, clock, executions } = this;
    const activity = this.#activity;
    const tools = Object.entries(this.options.tools ?? {}).map(([name, spec]) =>
      recordingTool(name, spec, process, { activity, executions }),
    );
    const hostOf = this.options.host ?? toolHost;
    if (!this.options.children) return hostOf(tools);
    const subagents = () => this.system.subagents;
    const starting = [createSessionsSpawnTool(subagents), startBackgroundAgentTool(subagents)];
    return hostOf([...tools, ...(starting as Tool[]), subagentsTool(subagents, { store, clock }) as Tool]);
  }
}
