/**
 * Deliberately broken worlds around the real engine. Its code has no switches, so it is broken through its ports: a store,
 * tools and connectors with the effect of a careless change to its own code. Each names the law that must find it.
 */

import type { Ports } from "../../../src/core/ports/ports.ts";
import { APPROVAL_MUTATIONS } from "./approval-mutations.ts";
import { type BreakPorts, committing, reading, readingLines, rewriting } from "./break-ports.ts";
import {
  acknowledgingFirst,
  answering,
  droppingAtAccept,
  forgettingIntents,
  forgettingSteers,
  newestTo,
  owingLater,
  resettingBatch,
  sendingUnmarked,
  sorted,
  withoutLooking,
  withProviderIds,
} from "./broken-ports.ts";
import { CONTEXT_MUTATIONS } from "./context-mutations.ts";
import { FAILURE_MUTATIONS } from "./failure-mutations.ts";
import { FILE_MUTATIONS } from "./file-mutations.ts";
import { MESSAGE_MUTATIONS } from "./message-mutations.ts";
import { MODEL_MUTATIONS } from "./model-mutations.ts";
import { MUTATIONS, type Mutation } from "./mutations.ts";
import { OWED_MUTATIONS } from "./owed-mutations.ts";
import { PAIRING_MUTATIONS } from "./pairing-mutations.ts";
import { PEOPLE_ACTS_MUTATIONS } from "./people-acts-mutations.ts";
import { PEOPLE_MUTATIONS } from "./people-mutations.ts";
import { RECEIPT_MUTATIONS } from "./receipt-mutations.ts";
import { REQUEST_MUTATIONS } from "./request-mutations.ts";
import { RIGHTS_MUTATIONS } from "./rights-mutations.ts";
import { SEARCH_MUTATIONS } from "./search-mutations.ts";
import { SESSION_MUTATIONS } from "./session-mutations.ts";
import { SUBAGENT_MUTATIONS } from "./subagent-mutations.ts";
import { TOKEN_MUTATIONS } from "./token-mutations.ts";
import { TRIAL_MUTATIONS } from "./trial-mutations.ts";
import { TRIGGER_MUTATIONS } from "./trigger-mutations.ts";

const byPorts: readonly (Mutation & { readonly ports: BreakPorts })[] = [
  {
    name: "acknowledge first",
    about: "connectors acknowledge before accept has resolved",
    law: "L1",
    scenario: "outages",
    from: 2,
    ports: acknowledgingFirst,
  },
  {
    name: "dedupe stripped",
    about: "messages are posted without their dedupe key",
    law: "L1",
    scenario: "duplicates",
    ports: rewriting((op) => (op.op === "message.post" ? { ...op, dedupe: undefined } : op)),
  },
  {
    name: "settle first",
    about: "the run ends in one commit, its reply is added in the next",
    law: "L1",
    scenario: "crashes",
    from: 2,
    ports: owingLater,
  },
  {
    name: "drop without a trace",
    about: "messages above the cap are dropped without the name of the policy",
    law: "L1",
    scenario: "collect",
    ports: rewriting((op) =>
      op.op === "message.settle"
        ? {
            ...op,
            settlements: op.settlements.map(({ seq, from, state, ...trace }) =>
              state === "dropped" ? { seq, from, state } : { seq, from, state, ...trace },
            ),
          }
        : op,
    ),
  },
  {
    name: "drop at accept",
    about: "a full queue refuses a message that was acknowledged",
    law: "L1",
    scenario: "queue",
    ports: droppingAtAccept,
  },
  {
    name: "uncommitted steer",
    about: "a steered message enters the context, but not the store",
    law: "L1",
    scenario: "steer",
    ports: forgettingSteers,
  },
  {
    name: "steered out of order",
    about: "the newest message enters the run first",
    law: "L2",
    scenario: "steer",
    ports: reading((store) => ({
      waiting: async (agentId, page) => (await store.waiting(agentId, page)).toReversed(),
    })),
  },
  {
    name: "newest first",
    about: "the oldest waiting message is overlooked while others wait",
    law: "L2",
    scenario: "bursts",
    ports: reading((store) => ({
      waiting: async (agentId, page) => {
        const waiting = await store.waiting(agentId, { ...page, limit: page.limit + 1 });
        return waiting.length > 1 ? waiting.slice(1) : waiting;
      },
    })),
  },
  {
    name: "newest delivery first",
    about: "the newest delivery to a target is sent first",
    law: "L2",
    scenario: "shared-target",
    from: 32,
    ports: reading((store) => ({ deliveryHead: (target) => newestTo(store, target) })),
  },
  {
    name: "said to be next",
    about: "the store reports each delivery as the only open one to its target",
    law: "L2",
    scenario: "shared-target",
    from: 32,
    ports: answering((op, said) => (op.op === "delivery.add" ? { op: "delivery.add", next: op.delivery.id } : said)),
  },
  {
    name: "said to be alone",
    about: "the store reports each message as the only one that waits for its agent",
    law: "L2",
    scenario: "bursts",
    ports: answering((_, said) => (said?.op === "message.post" ? { ...said, alone: true } : said)),
  },
  {
    name: "every tool safe",
    about: "tools that must not be repeated are declared repeatable",
    law: "L4",
    scenario: "tools",
    from: 3,
    ports: (ports) => {
      const list: Ports["tools"]["list"] = (agent) =>
        ports.tools.list(agent).map((tool) => ({ ...tool, replay: "safe" }));
      return { ...ports, tools: { list, find: (agent, name) => list(agent).find((tool) => tool.name === name) } };
    },
  },
  {
    name: "uncommitted intent",
    about: "a call starts before its intent is recorded",
    law: "L4",
    scenario: "tools",
    from: 3,
    ports: rewriting(forgettingIntents),
  },
  {
    name: "batch reset by a suspended call",
    about: "if one call of a batch is suspended, the finished ones are marked as not started",
    law: "L4",
    scenario: "suspended-calls",
    ports: resettingBatch,
  },
  {
    name: "ids as the provider says",
    about: "tools are called with the id of the provider, which it may have used before",
    law: "L4",
    scenario: "repeated-ids",
    ports: withProviderIds,
  },
  {
    name: "refusal hidden",
    about: "a send the channel refused is listed as sent",
    law: "L5",
    scenario: "sick-channels",
    ports: rewriting((op) => (op.op === "delivery.move" && op.to === "failed" ? { ...op, to: "sent" } : op)),
  },
  {
    name: "sending forgotten",
    about: "a delivery found sending after a crash is ignored",
    law: "L5",
    scenario: "crashes",
    from: 5,
    ports: reading((store) => ({
      deliveryHead: async (target) => {
        const head = await store.deliveryHead(target);
        return head?.state === "sending" ? undefined : head;
      },
    })),
  },
  {
    name: "other bytes",
    about: "a line of history comes back with other white space than it was written with",
    law: "L11",
    scenario: "crashes",
    from: 5,
    ports: readingLines((line) => line.replaceAll("answers ", "answers  ")),
  },
  {
    name: "other order",
    about: "a line of history comes back with its keys in another order",
    law: "L11",
    scenario: "tools",
    from: 3,
    ports: readingLines((line) =>
      line.replace(/"content":\[(.*?)\],"api"/u, (_, blocks: string) => `"content":${sorted(`[${blocks}]`)},"api"`),
    ),
  },
  {
    name: "a line less",
    about: "reading history skips a tool's result",
    law: "L11",
    scenario: "tools",
    from: 3,
    ports: readingLines((line) => (line.includes('"role":"tool"') ? "torn" : line)),
  },
  {
    name: "no sending mark",
    about: "a delivery is sent without being committed as sending first",
    law: "L12",
    scenario: "crashes",
    from: 5,
    ports: sendingUnmarked,
  },
  {
    name: "deliveries unseen",
    about: "a delivery in progress on a node that does not answer is treated as abandoned",
    law: "L12",
    scenario: "frozen-senders",
    ports: reading((store) => ({ nodes: async () => (await store.nodes()).map((node) => ({ ...node, left: true })) })),
  },
  {
    name: "claims lost",
    about: "no node continues the work of an earlier life",
    law: "liveness",
    scenario: "crashes",
    from: 5,
    ports: committing(async (store, change) =>
      change.site === "agents.claim"
        ? { ok: true, results: [{ op: "agents.claim", claims: [] }] }
        : store.commit(change),
    ),
  },
  {
    name: "believed applied",
    about: "a commit that was not answered is treated as applied",
    law: "L12",
    scenario: "unknown-commits",
    from: 3,
    ports: reading((store) => ({ outcome: async (id) => (await store.outcome(id)) ?? { ok: true, results: [] } })),
  },
  {
    name: "mark unread",
    about: "a run's steps do not check the abort mark",
    law: "M9",
    scenario: "aborts",
    ports: committing((store, change) => store.commit(withoutLooking(change))),
  },
  {
    name: "lease believed",
    about: "a node treats its lease as renewed without asking the store",
    law: "M23",
    scenario: "two-nodes",
    ports: committing(async (store, change) =>
      change.site === "node.renew" ? { ok: true, results: [undefined] } : store.commit(change),
    ),
  },
];

/** The mutations of the store, used with the engine: the law must find them here too. */
const FOR_THE_ENGINE: Partial<Record<string, Pick<Mutation, "from">>> = {
  "no fence": { from: 1 },
  "blind release": { from: 1 },
  "database-wide serial": { from: 1 },
  "answer before commit": { from: 5 },
  "torn commit": { from: 5 },
};

export const ENGINE_MUTATIONS: readonly Mutation[] = [
  ...TRIGGER_MUTATIONS,
  ...APPROVAL_MUTATIONS,
  ...PEOPLE_MUTATIONS,
  ...PEOPLE_ACTS_MUTATIONS,
  ...byPorts,
  ...TRIAL_MUTATIONS,
  ...SUBAGENT_MUTATIONS,
  ...MESSAGE_MUTATIONS,
  ...MODEL_MUTATIONS,
  ...TOKEN_MUTATIONS,
  ...CONTEXT_MUTATIONS,
  ...RIGHTS_MUTATIONS,
  ...FAILURE_MUTATIONS,
  ...FILE_MUTATIONS,
  ...SESSION_MUTATIONS,
  ...OWED_MUTATIONS,
  ...REQUEST_MUTATIONS,
  ...SEARCH_MUTATIONS,
  ...MUTATIONS.flatMap((mutation) => {
    const bound = FOR_THE_ENGINE[mutation.name];
    return bound && mutation.store ? [{ ...mutation, ...bound }] : [];
  }),
  ...PAIRING_MUTATIONS,
  ...RECEIPT_MUTATIONS,
];
