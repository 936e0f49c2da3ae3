/** People who go back to an earlier answer. Each request is recorded, so that the auditor can look for its effect. */
import type { AgentId, EntryId } from "../../../src/core/ids.ts";
import { parsed } from "../audit/audit-view.ts";
import { type AskDeps, askNode } from "./ask-node.ts";
import { tokensIn } from "./tokens.ts";

export interface BranchRecord {
  readonly agentId: string;
  readonly target: string;
  /** The summary of the branch that is left, for the model; unique. */
  readonly summary: string | undefined;
  /** Whether the node confirmed it. */
  done: boolean;
}

export interface Branches {
  readonly records: readonly BranchRecord[];
  /** Picks an agent and an answer of its current session, or the session's beginning, and asks some node to go back. */
  ask(): Promise<void>;
}

export function makeBranches(deps: AskDeps): Branches {
  const { random, log } = deps;
  const records: BranchRecord[] = [];
  return {
    records,
    async ask() {
      const place = await pickEntry(deps);
      if (!place) return;
      const summary = random.chance(0.5) ? `what was left, ${records.length + 1}` : undefined;
      const record: BranchRecord = { ...place, summary, done: false };
      const asked = askNode(deps, "branch", {
        about: `go back to ${place.target}`,
        ask: (subject) => subject.branch(place.agentId, place.target, summary),
        onAnswer() {
          record.done = true;
        },
        onError: (error, process) => log.write(process.name, `cannot go back: ${String(error)}`),
      });
      if (asked) records.push(record);
    },
  };
}

async function pickEntry({
  random,
  backend: { reader },
}: AskDeps): Promise<{ agentId: AgentId; target: EntryId } | undefined> {
  const agents = await reader.agents({ limit: 1_000 });
  if (agents.length === 0) return undefined;
  const { id: agentId } = random.pick(agents);
  const lines = (await reader.linesBack(agentId, { limit: 1_000 })).map(({ line }) => parsed(line));
  const marker = lines.findIndex(({ type }) => type === "start" || type === "reset");
  const session = lines.slice(0, marker + 1);
  const answers = session.filter(
    ({ type, role, content }) =>
      type === "start" ||
      type === "reset" ||
      (role === "assistant" && (content ?? []).some(({ text }) => tokensIn(text ?? "", "r").length > 0)),
  );
  const target = answers.length > 0 ? random.pick(answers).id : undefined;
  return target === undefined ? undefined : { agentId, target: target as EntryId };
}
