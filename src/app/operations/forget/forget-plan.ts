/**
 * The plan of forgetting a person: everything it will remove, read before anything is removed and stored as a fact. A process that is killed on the way leaves
 * the plan, and whoever repeats it ends at the same state with the same receipt. The plan goes with the last step.
 */
import { randomBytes } from "node:crypto";
import { z } from "zod";
import { API_CHANNEL } from "../../../core/delivery/route.ts";
import { ConfigError, InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import { kindOfPerson, OWNER, type PersonId } from "../../../core/people/person.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { StoreEraser } from "../../../core/store/store.ts";
import type { AgentSystem } from "../../../engine/agents/agent-system.ts";
import { FROM_CONFIG } from "../../../engine/people/configured-people.ts";
import { PLANS } from "./open-forgetting.ts";

const countsSchema = z.object({
  agents: z.int(),
  messages: z.int(),
  jobs: z.int(),
  files: z.int(),
  logins: z.int(),
  tokens: z.int(),
});
export type ForgetCounts = z.infer<typeof countsSchema>;

const planSchema = z.object({
  tombstone: z.string(),
  person: z.string(),
  /** Every id under which the person is stored: the record, accounts, links. */
  people: z.array(z.string()),
  /** The person's name, for the list of mentions. */
  name: z.string().optional(),
  at: z.int(),
  agents: z.array(z.string()),
  sessionKeys: z.array(z.string()),
  jobs: z.array(z.string()),
  counts: countsSchema,
});
export type ForgetPlan = z.infer<typeof planSchema>;

const PAGE = 500;

export const eraserOf = ({ store }: Pick<Ports, "store">): StoreEraser => {
  if (store.eraser) return store.eraser;
  throw new ConfigError("This store cannot forget people.", {
    hint: "Use the store of a home, or a shared PostgreSQL database.",
  });
};

/** The plan of a person that was begun and not ended. */
export async function openPlans({ store }: Pick<Ports, "store">): Promise<readonly ForgetPlan[]> {
  const rows = (await store.eraser?.facts({ limit: PAGE, after: PLANS })) ?? [];
  return rows.filter(({ key }) => key.startsWith(PLANS)).map(({ value }) => planSchema.parse(JSON.parse(value)));
}

/** Throws if the person cannot be forgotten, or if the store has no row of theirs. */
export async function planOf(
  { ports, agents, access }: { readonly ports: Ports; readonly agents: AgentSystem; readonly access: Access },
  person: string,
): Promise<ForgetPlan> {
  const known = (await openPlans(ports)).find((plan) => plan.person === person);
  if (known) return known;
  const now = await agents.directory.now();
  refuse(person, now.personOf(person as PersonId), now.record(person as PersonId)?.createdBy);
  const found = await agentsOf(ports, agents, person as PersonId);
  const record = now.record(person as PersonId);
  const people = [...new Set([person, `${API_CHANNEL}:${person}`, ...(record?.accounts ?? []), ...found.people])];
  const jobs = await jobsOf(ports, people, found);
  const files = await filesOf(ports, people);
  const { logins, tokens } = await access.count(people);
  const total = found.agents.length + jobs.length + files + logins + tokens;
  if (!record && total === 0) {
    throw new NotFoundError(`Nothing of ${person.slice(0, 100)} is stored here.`, {
      hint: "`rookery people list` shows who is known. Someone without a record has the id of an account, such as telegram:42.",
    });
  }
  const counts = { agents: found.agents.length, messages: found.messages, jobs: jobs.length, files, logins, tokens };
  return {
    ...{ tombstone: `forgotten-${randomBytes(8).toString("hex")}`, person, people, name: record?.name },
    ...{ at: ports.clock.now(), agents: found.agents, sessionKeys: found.sessionKeys, jobs, counts },
  };
}

/** Logins and tokens, which the gateway keeps. */
export interface Access {
  count(people: readonly string[]): Promise<{ readonly logins: number; readonly tokens: number }>;
  end(people: readonly string[]): Promise<void>;
}

function refuse(person: string, is: PersonId, createdBy: string | undefined): void {
  const kind = kindOfPerson(person);
  if (kind === undefined) throw new InvalidInputError(`"${person.slice(0, 100)}" is not the id of a person.`);
  if (is === OWNER) {
    throw new InvalidInputError("The owner cannot be forgotten: everything here is theirs.", {
      hint: "Remove the home directory to remove everything.",
    });
  }
  if (is !== person) {
    throw new InvalidInputError(`${person} is an account of ${is}.`, {
      hint: `\`rookery people forget ${is}\` forgets the whole person.`,
    });
  }
  if (createdBy === FROM_CONFIG) {
    throw new InvalidInputError(`${person} is a person of the configuration, which would make the record again.`, {
      hint: `Remove people.records.${person} from the configuration first.`,
    });
  }
}

interface Found {
  readonly agents: string[];
  readonly sessionKeys: string[];
  readonly people: Set<string>;
  readonly cronJobs: Set<string>;
  messages: number;
}

/** All agents that belong to the person now, also removed ones, whose rows still name them. */
async function agentsOf(ports: Ports, agents: AgentSystem, person: PersonId): Promise<Found> {
  const eraser = eraserOf(ports);
  const now = await agents.directory.now();
  const found: Found = { agents: [], sessionKeys: [], people: new Set(), cronJobs: new Set(), messages: 0 };
  for (let after: AgentId | undefined; ; ) {
    const page = await eraser.agents({ limit: PAGE, after });
    for (const agent of page) {
      const own = await agents.people.personOf(agent);
      if (own === undefined || now.personOf(own) !== person) continue;
      found.agents.push(agent.id);
      found.sessionKeys.push(agent.sessionKey);
      found.people.add(own);
      if (agent.descriptor.type === "cron") found.cronJobs.add(agent.descriptor.id);
      found.messages += agent.nextSeq - 1;
    }
    if (page.length < PAGE) return found;
    after = page.at(-1)?.id;
  }
}

async function jobsOf({ store }: Ports, people: readonly string[], found: Found): Promise<string[]> {
  const keys = new Set(found.sessionKeys);
  const jobs = (await store.jobs()).filter(({ behalf, sessionKey }) =>
    behalf ? people.includes(behalf.person) : sessionKey !== undefined && keys.has(sessionKey),
  );
  return [...new Set([...jobs.map(({ id }) => id), ...found.cronJobs])];
}

async function filesOf({ store }: Ports, people: readonly string[]): Promise<number> {
  let count = 0;
  for (const person of people) {
    for (let after: string | undefined; ; ) {
      const page = await store.files({ person, limit: PAGE, after });
      count += page.length;
      if (page.length < PAGE) break;
      after = page.at(-1)?.id;
    }
  }
  return count;
}
