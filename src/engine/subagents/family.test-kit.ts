/** A test engine whose agents start children: a script by role, and functions that read the children and reports. */

import { TestEngine, type TestEngineOptions } from "../../../test/kit/engine.ts";
import { lastText, type ModelCall, type Reply } from "../../../test/kit/model.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Message } from "../../core/message/message.ts";

export interface Family {
  /** The requester's answer to a report. Default: "told". */
  readonly onReport?: (call: ModelCall) => Reply | Promise<Reply>;
  /** What a child does. Default: it answers with its findings. */
  readonly child?: (call: ModelCall, task: string) => Reply | Promise<Reply>;
  /** More arguments of the requester's spawn. */
  readonly spawn?: Record<string, unknown>;
  readonly tool?: "sessions_spawn" | "start_background_agent";
}

export const REPORT = 'A background task "';
export const isReport = (text: string): boolean => text.includes(REPORT);

/** The requester spawns for a message "spawn …", a child works on its task, every other agent echoes. */
export function family({ onReport, child, spawn, tool = "sessions_spawn" }: Family = {}) {
  return async (call: ModelCall): Promise<Reply> => {
    const { request } = call;
    const words = lastText(request);
    const task = /^task (.*)$/su.exec(words)?.[1];
    if (task !== undefined) return child ? await child(call, task) : `found ${task}`;
    if (isReport(words)) return onReport ? await onReport(call) : "told";
    if (request.messages.at(-1)?.role === "tool") return "started";
    const wanted = /^spawn (.*)$/su.exec(words)?.[1];
    if (wanted === undefined) return `answer to ${words}`;
    const given = tool === "sessions_spawn" ? { task: `task ${wanted}` } : { prompt: `task ${wanted}` };
    return { call: [{ name: tool, with: { ...given, ...spawn } }] };
  };
}

export const openFamily = (about: Family = {}, options: TestEngineOptions = {}): Promise<TestEngine> =>
  TestEngine.open({ ...options, children: true, script: family(about) });

export async function childrenOf(engine: TestEngine, parent?: AgentId): Promise<readonly AgentRecord[]> {
  return engine.store.children(parent ?? (await engine.agentId()), { limit: 1000 });
}

/** Every report in any inbox. */
export async function reportsIn(engine: TestEngine): Promise<readonly Message[]> {
  const reports: Message[] = [];
  for (const { id } of await engine.store.agents({ limit: 1000 })) {
    const messages = await engine.store.messages(id, { limit: 1000 });
    reports.push(...messages.filter(({ body }) => body.kind === "report").reverse());
  }
  return reports;
}

export const reportTexts = async (engine: TestEngine): Promise<readonly string[]> =>
  (await reportsIn(engine)).map(({ body }) => ("text" in body ? (body.text ?? "") : ""));

export async function records(engine: TestEngine): Promise<readonly SubagentRunRecord[]> {
  return engine.store.subagentRuns();
}
