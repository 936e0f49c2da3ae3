/** The real engine as the subject of the simulated world. */

import { z } from "zod";
import { agentToolDepsOf } from "../../../src/adapters/tools/agents/agent-tool-deps.ts";
import { subagentTools } from "../../../src/adapters/tools/subagents/subagent-tools.ts";
import { RequestLedger } from "../../../src/app/gateway/messages/request-ledger.ts";
import { configDefaults } from "../../../src/config/config-schema.ts";
import { CurrentSettings, type Settings } from "../../../src/config/settings.ts";
import type { Limits } from "../../../src/core/budget/budget.ts";
import { defined } from "../../../src/core/defined.ts";
import { apiMailbox } from "../../../src/core/delivery/route.ts";
import { ConflictError, InvariantError } from "../../../src/core/errors.ts";
import { type ContextLimits, DEFAULT_CONTEXT_LIMITS } from "../../../src/core/history/compaction-settings.ts";
import type { AgentId } from "../../../src/core/ids.ts";
import { messageText } from "../../../src/core/message/message.ts";
import { OWNER, type PersonId } from "../../../src/core/people/person.ts";
import type { Ports } from "../../../src/core/ports/ports.ts";
import type { Tool, ToolHost } from "../../../src/core/ports/tool.ts";
import type { ApprovalId } from "../../../src/core/rights/approval.ts";
import { AgentSystem } from "../../../src/engine/agents/agent-system.ts";
import type { AgentSystemOptions } from "../../../src/engine/agents/agent-system-options.ts";
import { Triggers } from "../../../src/engine/triggers/triggers.ts";
import { testConfig } from "../../kit/settings.ts";
import { WATCHED_FILE } from "../world/approvers.ts";
import { GRANTED_TOOL } from "../world/revocations.ts";
import type { SimContext } from "../world/summariser.ts";
import { directivesIn } from "../world/tokens.ts";
import { simFileService, sweeping } from "./file-service.ts";
import { jobTool } from "./job-tool.ts";
import { ownersOn } from "./people.ts";
import type { HttpRequest, HttpResponse, Limit, SubjectNode, SubjectUnderTest } from "./subject.ts";
import { withTalk } from "./talk-tools.ts";
import { withTokenLimits } from "./token-limits.ts";

/** An unknown window counts as the default size. */
const limitsOf = ({ window, unknown, flush }: SimContext): ContextLimits => ({
  ...DEFAULT_CONTEXT_LIMITS,
  // No reserve: background compaction works between the warning and the critical limit.
  reserveTokens: 0,
  reserveTokensFloor: 0,
  contextWindow: unknown ? DEFAULT_CONTEXT_LIMITS.contextWindow : window,
  memoryFlush: { ...DEFAULT_CONTEXT_LIMITS.memoryFlush, softThresholdTokens: 60, enabled: flush },
});

/** Commands are allowed unless a rule or a setting of an agent says otherwise. */
const FREE = { main: { exec: { host: "gateway", security: "full", ask: "off" } } } as const;

/** The settings of a node now: its time zone may have changed. */
function settingsOf(node: SubjectNode, channels: Iterable<string>): Settings {
  const { queue, lanes, subagents, budgets, reset, runMs = 30_000 } = node;
  const config = testConfig({
    // Every agent may write to every other: the auditor judges whether it arrives.
    agentToAgent: { write: ["any"] },
    queue: queue && { ...configDefaults.queue, ...queue },
    lanes,
    subagents: node.rules ? { maxDepth: 2, ...subagents } : subagents,
    budgets: budgets && dollarLimits(budgets),
    session: defined({ reset, timeZone: node.zone() }),
    profiles: node.rules ? FREE : undefined,
    people: { unknown: node.pairing ? "stranger" : "guest" },
    runs: { timeoutSeconds: runMs / 1000, restore: node.restore },
    approvals: { expiryMinutes: EXPIRY_MS / 60_000 },
  });
  const settings = new CurrentSettings(config).current;
  const owners = [...channels].flatMap((channel) => ownersOn(channel, node.rules === true));
  // Only rights know the owner: every account keeps a conversation of its own.
  return { ...settings, identity: { ...settings.identity, ownerAccounts: owners } };
}

const dollarLimits = (limits: Limits): Settings["budgets"] =>
  Object.fromEntries(
    Object.entries(limits).map(([scope, { micros, ...limit }]) => [
      scope,
      { ...limit, dollars: micros === undefined ? undefined : micros / 1e6 },
    ]),
  );

async function limit({ sessions }: AgentSystem, agentId: AgentId, { by, on }: Limit): Promise<void> {
  if (by === "setting") await sessions.patch(agentId, { execSecurity: on ? "deny" : null });
  else await sessions.changeRules(agentId, on ? { add: { deny: GRANTED_TOOL } } : { remove: GRANTED_TOOL });
}

export const engine: SubjectUnderTest = {
  name: "engine",
  features: [
    "tools",
    "files",
    "timeouts",
    "model-errors",
    "silent-messages",
    "commands",
    "abort",
    "attempts",
    "discard",
    "lookup-grace",
    "queue-modes",
    "children",
    "agent-messages",
    "budgets",
    "keys",
    "triggers",
    "mailboxes",
    "context",
    "sessions",
    "http",
    "approvals",
    "rights",
    "people-acts",
    "pairing",
    "receipts",
    "unhandled",
    "notices",
  ],
  async start(given, node) {
    const ports = node.tokens ? withTokenLimits(given, node.tokens) : given;
    const { name, leaseMs, alone, participants, model, context } = node;
    const settingsNow = () => settingsOf(node, ports.connectors.keys());
    const settings = { current: settingsNow() };
    const world = agentToolDepsOf({ ...ports, settings, system: () => system });
    const others = { pollMs: 2_000, leaseMs: alone ? undefined : leaseMs };
    const triggers = node.triggers ? new Triggers(ports, { settings, ...others }) : undefined;
    const all = withMore(withTalk(ports.tools, world, participants), [
      ...subagentTools(() => system, ports).map(withToken),
      ...(triggers ? [jobTool(triggers.cron, ports.clock) as Tool] : []),
    ]);
    const tools = context ? listingOnly(all, "sim_safe") : all;
    const files = node.files && simFileService(ports, node.files);
    const system: AgentSystem = new AgentSystem(
      { ...ports, tools },
      {
        nodeName: name,
        leaseMs: alone ? undefined : leaseMs,
        settings,
        contextLimits: context && (() => limitsOf(context)),
        rights: node.approvals ? asking(ports) : node.rights || node.rules ? {} : undefined,
        files,
        hooks: { ...triggers?.hooks, sessionFor: refusing(triggers?.hooks.sessionFor) },
        commands: { memory: () => Promise.reject(new TypeError("There are no notes in this world.")) },
        resolveModel: () => ({ ...(model ?? { model: "scripted" }), system: "You are simulated." }),
      },
    );
    const ledger = new RequestLedger(ports);
    await system.load();
    await system.start();
    await triggers?.start(system);
    const stopSweeps = files && sweeping(ports, files);
    return {
      async drain() {
        stopSweeps?.();
        await triggers?.stop();
        await ledger.close();
        await system.drain();
      },
      abort: (runId) => system.runs.abort(runId),
      updateJob: (id, patch) => triggers?.cron.update(id, patch) ?? Promise.resolve(),
      async reload() {
        settings.current = settingsNow();
        await triggers?.updateConfig(settings.current);
      },
      branch: (agentId, entryId, summary) => system.sessions.branch(agentId, entryId, { summary, timeoutMs: 120_000 }),
      stop: (agentId) => system.lifecycle.stop(agentId),
      drop: (agentId, seq) => system.dropMessage({ agentId, seq, by: { person: OWNER, surface: "control" } }),
      edit: (id, text) => system.deliveries.edit(id, text, { by: { person: OWNER, surface: "control" } }),
      approve: (code, as) => system.pairing.approve(code, { person: OWNER, surface: "control" }, as),
      linkCode: (person) => system.pairing.linkCode(person as PersonId),
      remove: (agentId) => system.lifecycle.remove(agentId),
      readMailbox: async (user) => (await system.deliveries.mailboxes.page([apiMailbox(user)], { limit: 5 })).items,
      acknowledge: (user, ids) => system.deliveries.mailboxes.acknowledge([apiMailbox(user)], ids),
      limit: (agentId, change) => limit(system, agentId, change),
      decide: (id, approve) => decide(system, id, approve),
      ask: (request) => answerHttp(ports, system, ledger, request),
    };
  },
};

type SessionFor = NonNullable<AgentSystemOptions["hooks"]>["sessionFor"];

/** Some messages cannot be taken into a run (M48). */
const refusing =
  (sessionFor: SessionFor): SessionFor =>
  async (agent, messages) => {
    const marked = messages.flatMap(({ body }) => [...directivesIn(messageText(body)).values()].flat());
    if (marked.includes("unhandled")) throw new TypeError("This message cannot be handled.");
    return sessionFor?.(agent, messages);
  };

/** A question ends within the time that a world has to become idle. */
const EXPIRY_MS = 25_000;

/** Every call names one file: what it contains is part of what is approved. */
const asking = ({ files }: Ports): AgentSystemOptions["rights"] => ({
  surroundingsOf: async () => {
    const content = await files.read(WATCHED_FILE);
    return { files: { [WATCHED_FILE]: new TextDecoder().decode(content) } };
  },
});

async function decide(system: AgentSystem, id: ApprovalId, approve: boolean): Promise<boolean> {
  try {
    await system.approvals.decide(id, { approve }, { person: OWNER, surface: "sim" });
    return true;
  } catch (error) {
    if (error instanceof ConflictError) return false;
    throw error;
  }
}

const KEPT_MS = 24 * 3600_000;

/** What the gateway does with a request without a key, without the HTTP around it. */
async function answerHttp(
  { clock }: Pick<Ports, "clock">,
  system: AgentSystem,
  ledger: RequestLedger,
  { user, words, text, isRetry }: HttpRequest,
): Promise<HttpResponse> {
  const key = `same:token:${user}:${words}`;
  const posted = await system.post({
    to: { descriptor: { type: "user", connector: "api", userId: user, channelId: user } },
    body: { kind: "user", text, queue: { mode: "queue" }, sender: { id: user } },
    sender: { connector: "api", userId: user },
    request: { by: "content", key, isRetry, keepUntil: clock.now() + KEPT_MS },
    first: ledger.unwritten(key),
  });
  if (posted.status === "stale") throw new InvariantError("A message without a time of its own is stale.");
  const { agentId, seq } = posted;
  await system.waitForMessage({ agentId, seq }, 60_000);
  return { agentId, seq, sent: () => ledger.finished(key, { agentId, seq }) };
}

/** A host's tools, and more that the program has. */
/** The world's model marks each call with its token. A real tool refuses arguments that it does not know. */
function withToken(tool: Tool): Tool {
  const { input } = tool;
  return input instanceof z.ZodObject ? { ...tool, input: input.extend({ token: z.string().optional() }) } : tool;
}

function withMore(host: ToolHost, more: readonly Tool[]): ToolHost {
  return {
    list: (agent) => [...host.list(agent), ...more],
    find: (agent, name) => host.find(agent, name) ?? more.find((tool) => tool.name === name),
  };
}

/** A host that finds every tool and lists one: the windows of the context scenarios are smaller than all schemas together. */
function listingOnly(host: ToolHost, name: string): ToolHost {
  return { ...host, list: (agent) => host.list(agent).filter((tool) => tool.name === name) };
}
