/**
 * A person pressed a button of a delivery: the answer to a question about a call (M31), or a choice of `ask_user`. A token names
 * something stored; who pressed it and where decides what it may do, never the token alone (L13).
 */

import { ConflictError, errorText, RookeryError } from "../../core/errors.ts";
import type { AgentId } from "../../core/ids.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { PressedButton } from "../../core/ports/connector.ts";
import { parseApprovalId } from "../../core/rights/approval.ts";
import type { Approvals } from "../approvals/approvals.ts";
import type { Directory } from "../people/directory.ts";
import { answerText, isAskedAt, openQuestion } from "../people/open-question.ts";
import type { PostRequest } from "./message-ingress.ts";

export interface PressDeps {
  readonly store: { fact(key: string): Promise<string | undefined> };
  readonly directory: Directory;
  readonly approvals: Pick<Approvals, "decide">;
  post(request: PostRequest): Promise<unknown>;
}

interface Pressed {
  readonly say: string;
  readonly done: boolean;
}

const GONE: Pressed = { say: "This question is no longer open.", done: true };

export async function pressButton(deps: PressDeps, press: PressedButton): Promise<Pressed> {
  const [kind, id = "", answer = ""] = press.token.split(":");
  try {
    if (kind === "a") return await decideApproval(deps, press, id, answer === "y");
    if (kind === "q") return await choose(deps, press, id, Number(answer));
    return GONE;
  } catch (error) {
    if (!(error instanceof RookeryError)) throw error;
    if (error.retryable && !(error instanceof ConflictError)) throw error;
    return { say: [errorText(error), error.hint].filter(Boolean).join(" "), done: error instanceof ConflictError };
  }
}

async function decideApproval(
  deps: PressDeps,
  press: PressedButton,
  given: string,
  approve: boolean,
): Promise<Pressed> {
  const id = parseApprovalId(given);
  if (id === undefined) return GONE;
  const now = await deps.directory.now();
  const person: PersonId = now.sender(press.connector, press.userId);
  const { tool, state } = await deps.approvals.decide(id, { approve }, { person, surface: press.connector });
  return { say: `${tool} is ${state === "denied" ? "denied" : "approved"}.`, done: true };
}

async function choose(deps: PressDeps, press: PressedButton, id: string, index: number): Promise<Pressed> {
  const stored = /^[0-9a-f]{24}$/u.test(id) ? await openQuestion(deps.store, id) : undefined;
  const choice = stored?.question.choices[index];
  // A button works in the chat it was shown in.
  if (!stored || choice === undefined || !isAskedAt(stored.question, press.delivery)) return GONE;
  const { question, answered } = stored;
  await deps.post({
    to: { agentId: question.agentId as AgentId },
    body: { kind: "user", text: answerText(question, choice), sender: { id: press.userId, name: press.senderName } },
    source: {
      connector: press.connector,
      accountId: press.accountId,
      channelId: press.channelId,
      messageId: `answer-${id}`,
    },
    sender: { connector: press.connector, userId: press.userId },
    delivery: question.target,
    first: [answered],
  });
  return { say: choice.slice(0, 190), done: true };
}
