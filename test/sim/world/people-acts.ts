/**
 * People at the inbox and the outbox: they drop messages that wait, and send deliveries that failed with another text. Each request is
 * recorded with its answer, so that the auditor can look for its effect.
 */
import type { Delivery } from "../../../src/core/delivery/delivery.ts";
import type { Message } from "../../../src/core/message/message.ts";
import { type AskDeps, askNode } from "./ask-node.ts";

export interface ActRecord {
  /** The id of the message or delivery. */
  readonly id: string;
  /** Of an edit: the new text. */
  readonly text?: string;
  /** `unknown`: the store's answer was lost. Undefined: the node died before it answered. */
  answer: "done" | "refused" | "unknown" | undefined;
}

export interface PeopleActs {
  readonly drops: readonly ActRecord[];
  readonly edits: readonly ActRecord[];
  /** Picks a message that waits, and asks some node to drop it. */
  drop(): Promise<void>;
  /** Picks a delivery that failed, and asks some node to send it with another text. */
  edit(): Promise<void>;
}

/** What an error says: these two are answers, the others leave it open. */
const isRefusal = (error: unknown): boolean =>
  ["conflict", "invalid_input"].includes((error as { code?: string }).code ?? "");

export function makePeopleActs(deps: AskDeps): PeopleActs {
  const drops: ActRecord[] = [];
  const edits: ActRecord[] = [];
  const ask = (
    to: ActRecord[],
    record: ActRecord,
    method: "drop" | "edit",
    act: () => Parameters<typeof askNode>[2],
  ) => {
    const asked = askNode(deps, method, {
      ...act(),
      onAnswer() {
        record.answer = "done";
      },
      onError(error) {
        record.answer = isRefusal(error) ? "refused" : "unknown";
      },
    });
    if (asked) to.push(record);
  };
  return {
    drops,
    edits,
    async drop() {
      const message = await pickWaiting(deps);
      if (!message) return;
      const { agentId, seq, id } = message;
      ask(drops, { id, answer: undefined }, "drop", () => ({
        about: `drop message ${id}`,
        ask: (subject) => subject.drop(agentId, seq),
      }));
    },
    async edit() {
      const delivery = await pickFailed(deps);
      if (!delivery) return;
      const text = `${delivery.payload.text ?? ""} edit ${edits.length + 1}`;
      ask(edits, { id: delivery.id, text, answer: undefined }, "edit", () => ({
        about: `send ${delivery.id} with another text`,
        ask: (subject) => subject.edit(delivery.id, text),
      }));
    },
  };
}

const MAY_BE_DROPPED = ["user", "system", "trigger"];

async function pickWaiting({ random, backend: { reader } }: AskDeps): Promise<Message | undefined> {
  const busy = (await reader.agents({ limit: 1_000 })).filter(({ waiting }) => waiting > 0);
  if (busy.length === 0) return undefined;
  const messages = await reader.waiting(random.pick(busy).id, { limit: 100 });
  const fit = messages.filter(({ body }) => MAY_BE_DROPPED.includes(body.kind));
  return fit.length === 0 ? undefined : random.pick(fit);
}

async function pickFailed({ random, backend: { reader } }: AskDeps): Promise<Delivery | undefined> {
  const failed = await reader.deliveries({ limit: 1_000, states: ["failed"] });
  return failed.length === 0 ? undefined : random.pick(failed);
}
