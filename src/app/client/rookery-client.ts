/** The methods of an engine, over any transport: the same inside its process, over the control socket and over HTTP. */
import type { AgentFetchStrategy } from "../../core/agent/descriptor.ts";
import { exactPart, permanentKey } from "../../core/agent/session-key.ts";
import { isAgentId } from "../../core/ids.ts";
import { AgentHandle } from "./agent-handle.ts";
import { ApiError } from "./api.ts";
import { type Approvals, approvalsOf } from "./approvals-resource.ts";
import { type Changes, changesOf } from "./changes-resource.ts";
import { checkedStream } from "./checked-options.ts";
import { EngineApi, pathOf } from "./engine-api.ts";
import { eventsOf, type OnEvent, onEvent, type TreeEvent } from "./engine-events.ts";
import type { StreamOptions } from "./event-stream.ts";
import { type Files, filesOf } from "./files-resource.ts";
import { type People, peopleOf } from "./people-resource.ts";
import { type Permissions, permissionsOf } from "./permissions-resource.ts";
import {
  type Agents,
  agentsOf,
  type Mailbox,
  mailboxOf,
  type Outbox,
  outboxOf,
  type Runs,
  runsOf,
} from "./resources.ts";
import { type Search, searchOf } from "./search-resource.ts";
import { type Skills, skillsOf } from "./skills-resource.ts";
import {
  type Budgets,
  budgetsOf,
  type Schedule,
  type Spawned,
  type SpawnOptions,
  type Swarms,
  scheduleOf,
  spawn,
  swarmsOf,
  type Usage,
} from "./spending-resources.ts";
import { type Subagents, subagentsOf } from "./subagents-resource.ts";
import type { Transport } from "./transport.ts";

/** What every way to reach an engine offers. */
export interface RookeryClient {
  /**
   * An agent: the conversation `agent:main:api:dm:NAME` of the user NAME, or any agent by its session key (`agent:…`, `cron:…`)
   * or its id. Nothing is created until the first message. In the conversation of a user the user speaks, with the user's rights;
   * in any other agent, and by an id, the person of this client does.
   */
  agent(name: string): AgentHandle;
  /** The agent that a strategy finds: the last heartbeat agent, or the conversation its owner wrote to last. Undefined if there is none. Changes nothing. */
  agentFor(strategy: AgentFetchStrategy): Promise<AgentHandle | undefined>;
  /** A permanent agent of the default profile, by its name. */
  permanent(name: string): AgentHandle;
  /**
   * Makes the permanent agent of this name, or changes its description and prompt. When it resolves, a new agent is durable, and
   * a change is durable in the inbox: messages before it are answered with the old prompt.
   */
  permanent(name: string, options: PermanentOptions): Promise<AgentHandle>;
  readonly agents: Agents;
  readonly runs: Runs;
  readonly outbox: Outbox;
  /** Tool calls that wait for a person's answer. */
  readonly approvals: Approvals;
  /** What agents said to a user, until it is acknowledged. Without a user: the owner's. */
  mailbox(user?: string): Mailbox;
  /** Cron jobs. */
  readonly schedule: Schedule;
  /** Starts a subagent of an agent, which gets its report. Durable when it resolves. */
  spawn(parent: string, task: string, options?: SpawnOptions): Promise<Spawned>;
  readonly subagents: Subagents;
  readonly swarm: Swarms;
  /** People, their rights and invitations. */
  readonly people: People;
  /** Rules: what agents may do without asking, what asks, what never happens. */
  readonly permissions: Permissions;
  /** Changes of prompt files, notes, skills and the configuration. */
  readonly changes: Changes;
  /** Skills: list, install, remove. */
  readonly skills: Skills;
  readonly budgets: Budgets;
  /** Files of people. */
  readonly files: Files;
  /** Finds words in conversations and notes, the best hits first. Changes nothing. */
  readonly search: Search;
  /** What runs have used since a time in milliseconds; default: a day ago. Changes nothing. */
  usage(since?: number): Promise<Usage>;
  /** The events of all agents, from the whole tree on. `after` continues behind an event. */
  events(options?: StreamOptions): AsyncGenerator<TreeEvent>;
  /** Calls back for each event of a type. Not durable. Returns a function that ends it. */
  readonly on: OnEvent;
}

export interface PermanentOptions {
  /** What it is for, in a sentence: every agent reads this. */
  readonly description: string;
  /** Who it is and what it does. */
  readonly systemPrompt: string;
  /** What it is called on screens beside its name. */
  readonly username?: string;
}

export function rookeryClient(transport: Transport, signal?: AbortSignal): RookeryClient {
  const api = new EngineApi(transport, signal);
  const agent = (name: string): AgentHandle => {
    const isName = !/^(?:agent|cron):/.test(name) && !isAgentId(name);
    return isName
      ? new AgentHandle(api, `agent:main:api:dm:${exactPart(name)}`, name)
      : new AgentHandle(api, name, apiUser(name));
  };
  return {
    agent,
    agentFor: (strategy) => agentFor(api, strategy),
    permanent: permanentOf(api),
    agents: agentsOf(api),
    runs: runsOf(api),
    outbox: outboxOf(api),
    approvals: approvalsOf(api),
    mailbox: (user) => mailboxOf(api, user),
    schedule: scheduleOf(api),
    spawn: (parent, task, options) => spawn(api, agent(parent).name, task, options),
    subagents: subagentsOf(api),
    swarm: swarmsOf(api),
    people: peopleOf(api),
    permissions: permissionsOf(api),
    changes: changesOf(api),
    skills: skillsOf(api),
    budgets: budgetsOf(api),
    files: filesOf(api),
    search: searchOf(api),
    usage: (since) => api.get("/api/usage", { since }),
    events: (options) => eventsOf(api, checkedStream(options)),
    on: onEvent(api, signal),
  };
}

async function agentFor(api: EngineApi, strategy: AgentFetchStrategy): Promise<AgentHandle | undefined> {
  try {
    const { id, sessionKey } = await api.get<{ id: string; sessionKey: string }>(pathOf("api", "agents", strategy));
    return new AgentHandle(api, id, apiUser(sessionKey));
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

function permanentOf(api: EngineApi): RookeryClient["permanent"] {
  function permanent(name: string): AgentHandle;
  function permanent(name: string, options: PermanentOptions): Promise<AgentHandle>;
  function permanent(name: string, options?: PermanentOptions): AgentHandle | Promise<AgentHandle> {
    const handle = new AgentHandle(api, permanentKey(name, "main"));
    return options ? api.post("/api/agents", { name, ...options }).then(() => handle) : handle;
  }
  return permanent;
}

/** The user whose conversation a session key names, if it is one of the API. */
const apiUser = (key: string): string | undefined => /^agent:[^:]+:api:dm:([^:%]+)$/.exec(key)?.[1];
