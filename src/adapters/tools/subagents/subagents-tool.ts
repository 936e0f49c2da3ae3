/** `subagents`: inspects and controls the children of the calling agent, never those of another agent. */
import { z } from "zod";
import type { SubagentRunRecord } from "../../../core/agent/subagent-run.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import type { RunId } from "../../../core/ids.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import { DEFAULT_MAX_OUTPUT, type Tool, type ToolContext, type ToolOutput } from "../../../core/ports/tool.ts";
import type { RunRecord } from "../../../core/run/run.ts";
import { sessionBehalf } from "../../../engine/people/run-behalf.ts";
import { describeSubagentRuns, nameOf, stateOf } from "../../../engine/subagents/describe.ts";
import { findSubagentRun } from "../../../engine/subagents/find.ts";
import { historyLog } from "../../../engine/subagents/history-log.ts";
import { statusLabel } from "../../../engine/subagents/report-text.ts";
import { DEFAULT_SUBAGENT_WAIT_MS, type Subagents } from "../../../engine/subagents/subagents.ts";
import { textOfAgent } from "../agents/text-of-agent.ts";

const subagentsInput = z.strictObject({
  action: z.enum(["list", "info", "log", "send", "wait", "stop", "release"]),
  id: z.string().optional().describe("the child: its number in the list, its run id, session key, agent id or label"),
  text: z.string().optional().describe("for send: what to say to it"),
  limit: z.number().int().min(1).max(200).optional().describe("for log: how many entries"),
  timeoutSeconds: z.number().min(0).optional().describe("for wait: how long; default 60"),
});
type Input = z.infer<typeof subagentsInput>;

const output = (text: string, more: Partial<ToolOutput> = {}): ToolOutput => ({
  content: [{ type: "text", text }],
  ...more,
});

export function subagentsTool(subagents: () => Subagents, ports: Pick<Ports, "store" | "clock">): Tool<Input> {
  return {
    name: "subagents",
    description: "List the children you have started; inspect, tell, await, stop or release one.",
    input: subagentsInput,
    rights: ["spawn"],
    // Changes are committed with the result; an interrupted wait reads the child again.
    replay: "safe",
    parallel: false,
    maxOutput: DEFAULT_MAX_OUTPUT,
    async execute(input, context) {
      const records = await subagents().list(context.agent.sessionKey);
      if (input.action === "list") {
        return output(describeSubagentRuns(records, await runsOf(ports, records), ports.clock.now()));
      }
      if (input.id === undefined) throw new InvalidInputError(`The action ${input.action} needs an id.`);
      return withChild(subagents(), ports, findSubagentRun(records, input.id), input, context);
    },
  };
}

async function runsOf(
  { store }: Pick<Ports, "store">,
  records: readonly SubagentRunRecord[],
): Promise<ReadonlyMap<string, RunRecord>> {
  const runs = new Map<string, RunRecord>();
  for (const { runId, endedAt } of records) {
    const run = endedAt === undefined ? await store.run(runId as RunId) : undefined;
    if (run) runs.set(runId, run);
  }
  return runs;
}

async function withChild(
  subagents: Subagents,
  { store }: Pick<Ports, "store">,
  record: SubagentRunRecord,
  input: Input,
  context: ToolContext,
): Promise<ToolOutput> {
  const { agentId, signal } = context;
  const { runId } = record;
  switch (input.action) {
    case "info": {
      const { run, child } = await subagents.info(runId);
      return output(JSON.stringify({ ...record, state: stateOf(record, run), waiting: child?.waiting ?? 0 }, null, 2));
    }
    case "log": {
      const { child } = await subagents.info(runId);
      if (!child) return output("Its history was removed.");
      const marks = { heard: [sessionBehalf(child)], untrusted: textOfAgent(context, child) };
      return { ...output(await historyLog(store, child.id, input.limit ?? 20)), ...marks };
    }
    case "send": {
      if (!input.text?.trim()) throw new InvalidInputError("The action send needs a text.");
      return output(`Sent to ${nameOf(record)}.`, { ops: await subagents.sendOps(runId, input.text, agentId) });
    }
    case "stop":
      if (record.endedAt !== undefined) return output(`${nameOf(record)} has ended already.`);
      return output(`${nameOf(record)} is being stopped.`, {
        ops: await subagents.stopRunOps(runId, "stopped by its requester"),
      });
    case "release":
      if (record.endedAt === undefined) throw new InvalidInputError("The child still runs and has not reported yet.");
      return output(`${nameOf(record)} is released.`, { ops: [{ op: "subagent.remove", runId }] });
    case "wait": {
      const timeoutMs = input.timeoutSeconds === undefined ? DEFAULT_SUBAGENT_WAIT_MS : input.timeoutSeconds * 1000;
      const edge = `${context.runId}.${context.callId}`;
      const waited = await subagents.wait(runId, { timeoutMs, from: agentId, signal, edge });
      const endWait = { ops: [{ op: "wait.end", id: edge }] as const };
      if (waited.status === "ended")
        return output(`${nameOf(record)} ${statusLabel(waited.outcome)}. Its report follows.`, endWait);
      const open = waited.status === "timeout" ? `${nameOf(record)} is still at work.` : "That child no longer exists.";
      return output(open, endWait);
    }
    default:
      return output("");
  }
}
