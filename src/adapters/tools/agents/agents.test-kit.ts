/** Agents on a store in memory, and the tools by which they reach each other, called as the loop calls them. */

import { TestEngine, type TestEngineOptions } from "../../../../test/kit/engine.ts";
import { seededIds } from "../../../../test/kit/ids.ts";
import type { ToolSpec } from "../../../../test/kit/tools.ts";
import { parseConfig } from "../../../config/parse-config.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import type { ChangeId, RunId, SessionKey } from "../../../core/ids.ts";
import type { Tool, ToolContext, ToolOutput } from "../../../core/ports/tool.ts";
import type { RunBody } from "../../../core/run/run.ts";
import type { Op } from "../../../core/store/change.ts";
import { deniedText } from "../../../engine/rights/denied-text.ts";
import { gateOf } from "../../../engine/rights/gate.ts";
import { personOf } from "../../../engine/runtime/people.ts";
import { type AgentToolDeps, agentToolDepsOf } from "./agent-tool-deps.ts";
import { agentTools, olderAgentTools } from "./agent-tools.ts";

export interface TestTools {
  readonly engine: TestEngine;
  readonly deps: AgentToolDeps;
  tool(name: string): Tool;
  /** Creates an agent without a message. */
  make(descriptor: AgentDescriptor, about?: { profile?: string; lastHumanAt?: number }): Promise<AgentRecord>;
  child(of: AgentRecord, name: string): Promise<AgentRecord>;
  /** Calls a tool for an agent; failures are results, as for the model. */
  call(agent: AgentRecord, name: string, input: object, context?: Partial<ToolContext>): Promise<ToolOutput>;
  /** Commits what a tool wants to change. */
  commit(ops: readonly Op[]): Promise<void>;
}

export const person = (name: string, connector = "test"): AgentDescriptor => ({
  type: "user",
  connector,
  userId: name,
  channelId: name,
});
export const permanent = (name: string, about: Partial<Extract<AgentDescriptor, { type: "permanent" }>> = {}) =>
  ({
    type: "permanent",
    id: name,
    name,
    description: `is ${name}`,
    systemPrompt: `You are ${name}.`,
    ...about,
  }) as const;

export const textOf = ({ content }: ToolOutput): string =>
  content.map((block) => (block.type === "text" ? block.text : "")).join("");
export const jsonOf = (output: ToolOutput): Record<string, unknown> => JSON.parse(textOf(output));

export interface TestToolOptions {
  readonly config?: string;
  readonly engine?: TestEngineOptions;
  /** Judges each call before it starts, as a node does. Accounts without a record are guests. */
  readonly gated?: boolean;
}

export async function openTestTools(options: TestToolOptions = {}): Promise<TestTools> {
  const { config } = parseConfig({ text: options.config ?? "{}", file: "rookery.json5", env: {} });
  // A test engine has its own queue and people, and no session ends by time.
  const { queue: _queue, people: _people, ...sections } = config;
  const { reset: _reset, ...session } = config.session;
  let engine: TestEngine | undefined;
  const system = () => (engine as TestEngine).system;
  const written = new Map<string, string>();
  const files = {
    write: async (name: string, content: string | Uint8Array) => {
      written.set(`/files/${name}`, String(content));
      return `/files/${name}`;
    },
    read: async (path: string) => {
      const text = written.get(path);
      return text === undefined ? undefined : new TextEncoder().encode(text);
    },
  };
  const late = <T extends object>(of: () => T): T =>
    new Proxy({} as T, { get: (_, key) => Reflect.get(of(), key) as unknown });
  const deps = agentToolDepsOf({
    store: late(() => (engine as TestEngine).store),
    clock: late(() => (engine as TestEngine).clock),
    ids: seededIds("tools"),
    files,
    settings: late(() => (engine as TestEngine).settings),
    system,
  });
  const all = [...agentTools(deps), ...olderAgentTools(deps)];
  engine = await TestEngine.open({
    ...options.engine,
    files,
    tools: { ...specsOf(all), ...options.engine?.tools },
    system: { rights: options.gated ? {} : undefined, ...options.engine?.system },
    settings: { ...sections, session, ...options.engine?.settings },
  });
  const opened = engine;
  const find = (name: string) => all.find((tool) => tool.name === name);
  const gate = gateOf({
    tools: { list: () => all, find: (_, name) => find(name), known: find },
    settings: opened.settings,
    directory: opened.system.directory,
    personOf: (agent) =>
      personOf(opened.store, opened.settings.current.identity, agent, { rights: agent.descriptor.type !== "swarm" }),
  });
  let calls = 0;
  let changes = 0;
  const commit = async (ops: readonly Op[]): Promise<void> => {
    const change = { id: `test-${++changes}` as ChangeId, site: "test", at: opened.clock.now(), ops };
    const result = await opened.store.commit(change);
    if (!result.ok) throw new TypeError(`${result.refused}: ${result.detail}`);
  };
  const kit: TestTools = {
    engine: opened,
    deps,
    tool: (name) => all.find((tool) => tool.name === name) as Tool,
    commit,
    async make(descriptor, { profile = "main", lastHumanAt } = {}) {
      const seed = deps.seed(descriptor, profile);
      await commit([{ op: "agent.create", seed }]);
      if (lastHumanAt !== undefined) {
        const message = { body: { kind: "user", text: "hi" } as const, acceptedAt: lastHumanAt };
        await commit([{ op: "message.post", to: { agentId: seed.id }, message }]);
      }
      return (await opened.store.agentByKey(seed.sessionKey as SessionKey)) as AgentRecord;
    },
    child: (of, name) => kit.make({ type: "subagent", id: name, parentAgentId: of.id, name }),
    async call(agent, name, input, context = {}) {
      const tool = kit.tool(name);
      const given = tool.input.parse(input);
      const signal = new AbortController().signal;
      const base = {
        agent,
        agentId: agent.id,
        runId: "r" as RunId,
        callId: `c${++calls}`,
        effectKey: `k${calls}`,
        signal,
        progress() {},
      };
      const call = {
        callId: base.callId,
        name,
        arguments: input as Record<string, unknown>,
        replay: "safe",
        state: "asked",
      } as const;
      const run = { id: base.runId, body: { behalf: context.behalf, person: context.person } as RunBody };
      const [judged] = options.gated ? (await gate.judge(agent, run, [call])).calls : [];
      if (judged && judged.decision.verdict !== "allow") {
        const text = deniedText(name, judged.decision, judged.effects);
        return { content: [{ type: "text", text }], isError: true };
      }
      try {
        return await tool.execute(given, { ...base, allowed: judged?.effects, ...context });
      } catch (error) {
        return { content: [{ type: "text", text: (error as Error).message }], isError: true };
      }
    },
  };
  return kit;
}

/** The real tools as a test engine takes them. */
export const specsOf = (tools: readonly Tool[]): Record<string, ToolSpec> =>
  Object.fromEntries(
    tools.map((tool) => [
      tool.name,
      {
        input: tool.input,
        replay: tool.replay,
        parallel: tool.parallel,
        maxOutput: tool.maxOutput,
        rights: tool.rights,
        renamed: tool.renamed,
        effects: tool.effects,
        execute: (input, context) => tool.execute(input as never, context),
      } satisfies ToolSpec,
    ]),
  );
