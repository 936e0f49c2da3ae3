/** `sessions_history`: the messages of a session, newest last, limited in number and characters. Reads only. */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { NotFoundError } from "../../../core/errors.ts";
import { readEntry, type Untrusted } from "../../../core/history/entry.ts";
import type { Tool } from "../../../core/ports/tool.ts";
import { sessionBehalf } from "../../../engine/people/run-behalf.ts";
import { checkAllowed } from "../allowed-effects.ts";
import { effectsOn, effectsOnFound } from "./agent-effects.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { type CleanMessage, cleanMessage } from "./clean-history.ts";
import { findTarget } from "./find-target.ts";
import { jsonOutput } from "./json-output.ts";
import { mayRead } from "./relations.ts";
import { textOfAgent } from "./text-of-agent.ts";

const MAX_MESSAGES = 400;
const MAX_CHARACTERS = 120_000;
const DEFAULT_MESSAGES = 50;
const PAGE = 200;
/** Lines read in one call: most are messages, but a session may consist of tool calls. */
const MAX_LINES = 4_000;

const EFFECT = { action: "sessions_history", rights: [] } as const;

const input = z.strictObject({
  sessionKey: z.string().describe("Whose: a session key, an agent's id or its name"),
  limit: z.int().min(1).max(MAX_MESSAGES).optional().describe(`How many messages; ${DEFAULT_MESSAGES} if left out`),
  includeTools: z.boolean().optional().describe("Show tool calls and their results too"),
});

export const sessionsHistoryTool = (deps: AgentToolDeps): Tool<z.infer<typeof input>> => ({
  name: "sessions_history",
  description: "Shows what was said in another session.",
  input,
  rights: [],
  replay: "safe",
  parallel: true,
  maxOutput: MAX_CHARACTERS + 10_000,
  effects: ({ sessionKey }, context) =>
    effectsOnFound(deps, context, () => findTarget(deps, context.agent, sessionKey), EFFECT),
  async execute({ sessionKey, limit = DEFAULT_MESSAGES, includeTools = false }, context) {
    const { agent } = await findTarget(deps, context.agent, sessionKey);
    if (!agent) throw new NotFoundError(`Agent not found: ${sessionKey}`);
    checkAllowed(context, await effectsOn(deps, context, { agent }, EFFECT));
    await mayRead(deps, context, agent);
    const { messages, isCut, marked } = await lastMessages(deps, agent, limit, includeTools);
    const shown = jsonOutput({ sessionKey: agent.sessionKey, messages, cut: isCut || undefined });
    // An earlier session is shown too, whose mark has ended.
    return { ...shown, heard: [sessionBehalf(agent)], untrusted: textOfAgent(context, agent) ?? marked };
  },
});

async function lastMessages({ store }: AgentToolDeps, agent: AgentRecord, limit: number, includeTools: boolean) {
  const messages: CleanMessage[] = [];
  let marked: Untrusted | undefined;
  const found = (isCut: boolean) => ({ messages: messages.reverse(), isCut, marked });
  let room = MAX_CHARACTERS;
  let before: number | undefined;
  for (let looked = 0; looked < MAX_LINES; looked += PAGE) {
    const lines = await store.linesBack(agent.id, { limit: PAGE, before });
    for (const { position, line } of lines) {
      before = position;
      const read = readEntry(line);
      if (read.kind === "entry" && read.entry.type === "message") marked ??= read.entry.untrusted;
      const message = read.kind === "entry" ? cleanMessage(read.entry, includeTools) : undefined;
      if (!message) continue;
      room -= message.text.length;
      if (room < 0 || messages.length >= limit) return found(true);
      messages.push(message);
    }
    if (lines.length < PAGE) return found(false);
  }
  return found(true);
}
