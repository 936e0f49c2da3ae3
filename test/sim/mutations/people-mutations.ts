/** Careless changes to who things happen for, one for each link of the way (M30). Each is made by a store with that effect. */
import type { Behalf } from "../../../src/core/people/behalf.ts";
import { OWNER } from "../../../src/core/people/person.ts";
import type { Op } from "../../../src/core/store/change.ts";
import { type BreakPorts, reading, rewriting } from "./break-ports.ts";
import { answering } from "./broken-ports.ts";
import type { Mutation } from "./mutations.ts";

const THE_OWNER: Behalf = { person: OWNER };

type Post = Extract<Op, { op: "message.post" }>;

/** What some messages are posted for. Their agent reads them from the store. */
const posting = (which: (post: Post) => boolean, behalf: Behalf | undefined): BreakPorts => {
  const stored = rewriting((op) =>
    op.op === "message.post" && which(op) ? { ...op, message: { ...op.message, behalf } } : op,
  );
  const read = answering((_, said) => (said?.op === "message.post" ? { ...said, alone: undefined } : said));
  return (ports) => read(stored(ports));
};

/** The same without the mark of untrusted text. Who is on the way stays. */
const unmarked = (behalf: Behalf | undefined): Behalf | undefined => behalf && { ...behalf, untrusted: undefined };

const found = { law: "M30", scenario: "people" } as const;

const marked = { law: "M32", scenario: "untrusted" } as const;

export const PEOPLE_MUTATIONS: readonly (Mutation & { readonly ports: BreakPorts })[] = [
  {
    ...found,
    name: "message without its person",
    about: "messages of people are stored without who wrote them",
    ports: posting(({ message }) => message.source !== undefined, undefined),
  },
  {
    ...found,
    name: "run for its agent's person",
    about: "a run acts for the owner, whoever wrote its messages",
    ports: rewriting((op) => (op.op === "run.open" ? { ...op, body: { ...op.body, behalf: THE_OWNER } } : op)),
  },
  {
    ...found,
    name: "run for its speaker alone",
    about: "a run forgets everyone on its way but the one it acts for",
    ports: rewriting((op) =>
      op.op === "run.open" && op.body.behalf
        ? { ...op, body: { ...op.body, behalf: { person: op.body.behalf.person } } }
        : op,
    ),
  },
  {
    ...found,
    name: "child for no one",
    about: "the task of a child does not say for whom it is",
    ports: posting(({ message }) => message.asRun !== undefined, undefined),
  },
  {
    ...found,
    name: "report for no one",
    about: "the report of a child does not say for whom it is",
    from: 17,
    ports: posting(({ message }) => message.body.kind === "report", undefined),
  },
  {
    ...found,
    name: "message between agents for no one",
    about: "what an agent sends another does not say for whom it is",
    ports: posting(({ message: { body } }) => body.kind === "system" && body.origin !== undefined, undefined),
  },
  {
    ...found,
    name: "job for the owner",
    about: "a job is stored as the owner's, whoever made it",
    ports: rewriting((op) => (op.op === "job.put" ? { ...op, job: { ...op.job, behalf: THE_OWNER } } : op)),
  },
  {
    ...found,
    name: "trigger for the owner",
    about: "the message of a due job acts for the owner",
    ports: posting(({ message }) => message.body.kind === "trigger", THE_OWNER),
  },
  {
    ...found,
    name: "speakers forgotten",
    about: "a group's agent does not remember who has spoken in its session",
    ports: rewriting((op) => (op.op === "state.put" ? { ...op, state: { ...op.state, speakers: undefined } } : op)),
  },
  {
    ...found,
    name: "delivery for no one",
    about: "what a run sends does not say for whom it is",
    ports: rewriting((op) =>
      op.op === "delivery.add"
        ? { ...op, delivery: { ...op.delivery, payload: { ...op.delivery.payload, person: undefined } } }
        : op,
    ),
  },
  {
    ...marked,
    name: "page without a mark",
    about: "a run that reads text from the network is not marked",
    ports: rewriting((op) =>
      op.op === "run.step" || op.op === "run.end"
        ? { ...op, body: { ...op.body, behalf: unmarked(op.body.behalf) } }
        : op,
    ),
  },
  {
    ...marked,
    name: "session without its mark",
    about: "an agent forgets that text from the network is in its context",
    ports: rewriting((op) => (op.op === "state.put" ? { ...op, state: { ...op.state, untrusted: undefined } } : op)),
  },
  {
    ...marked,
    name: "message without the mark",
    about: "what a run with text from the network sends to agents is not marked",
    ports: rewriting((op) =>
      op.op === "message.post" ? { ...op, message: { ...op.message, behalf: unmarked(op.message.behalf) } } : op,
    ),
  },
  {
    ...found,
    name: "people mixed",
    about: "messages of several people are joined in one run",
    scenario: "people-collected",
    ports: reading((store) => ({
      waiting: async (agentId, page) => {
        const waiting = await store.waiting(agentId, page);
        return waiting.map((message) => ({ ...message, behalf: waiting[0]?.behalf }));
      },
    })),
  },
];
