/**
 * A question that an agent has asked a person with choices. It is stored with the delivery of the question and waits for half a year:
 * the run has ended. The first answer takes it away, in the commit that posts the answer. Retention removes what nobody answered.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { type Button, deliveryContextSchema } from "../../core/delivery/delivery.ts";
import { targetKey } from "../../core/delivery/target-key.ts";
import { type Op, QUESTION_FACTS } from "../../core/store/change.ts";

const openQuestionSchema = z.object({
  agentId: z.string(),
  question: z.string(),
  choices: z.array(z.string()),
  target: deliveryContextSchema,
  askedAt: z.number().int(),
});
type OpenQuestion = z.infer<typeof openQuestionSchema>;

/** How long a button can be pressed. */
export const QUESTION_MS = 180 * 24 * 3600_000;

const factOf = (id: string): string => `${QUESTION_FACTS}${id}`;

/** The same for a call that is repeated after a crash. */
export const questionIdOf = (runId: string, callId: string): string =>
  createHash("sha256")
    .update(JSON.stringify([runId, callId]))
    .digest("hex")
    .slice(0, 24);

export const askOp = (id: string, question: OpenQuestion): Op => ({
  op: "fact.put",
  key: factOf(id),
  value: JSON.stringify(question),
});

/** A token says when the question was asked: after the question is removed, the person is told that it is too old. */
export const choiceButtons = (id: string, { choices, askedAt }: OpenQuestion): readonly Button[] =>
  choices.map((choice, index) => ({
    label: choice.slice(0, 64),
    token: `q:${id}:${index}:${Math.floor(askedAt / 1_000).toString(36)}`,
  }));

/** `asked`: the last part of the token. */
export function isTooOld(asked: string, now: number): boolean {
  const seconds = /^[0-9a-z]{1,8}$/u.test(asked) ? Number.parseInt(asked, 36) : Number.NaN;
  return now - seconds * 1_000 > QUESTION_MS;
}

interface StoredQuestion {
  readonly question: OpenQuestion;
  /** Refused if the question was answered in the meantime. */
  readonly answered: Op;
}

/** Undefined if it was answered, or was never asked. */
export async function openQuestion(
  store: { fact(key: string): Promise<string | undefined> },
  id: string,
): Promise<StoredQuestion | undefined> {
  const text = await store.fact(factOf(id));
  const read = text === undefined ? undefined : openQuestionSchema.safeParse(JSON.parse(text));
  if (!read?.success || text === undefined) return undefined;
  return { question: read.data, answered: { op: "fact.put", key: factOf(id), value: null, expect: text } };
}

/** What the agent reads as the answer. */
export const answerText = ({ question }: OpenQuestion, choice: string): string =>
  `[Answer to your question "${question.replaceAll(/\s+/gu, " ").slice(0, 300)}"] ${choice}`;

export const isAskedAt = ({ target }: OpenQuestion, at: OpenQuestion["target"]): boolean =>
  targetKey({ ...target, threadId: undefined }) === targetKey({ ...at, threadId: undefined });
