/**
 * A person pressed a button: the answer to a question about a call (M31), a choice of `ask_user`, or whether a group is let in. A
 * token names something stored; who pressed it and where decides what it may do, never the token alone (L13).
 */

import { ConflictError, errorText, NotFoundError, RookeryError } from "../../core/errors.ts";
import type { AgentId } from "../../core/ids.ts";
import { OWNER, type PersonId } from "../../core/people/person.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { PressedButton, PressResult } from "../../core/ports/connector.ts";
import { type Approval, parseApprovalId } from "../../core/rights/approval.ts";
import { ALWAYS_SCOPES } from "../../core/rights/standing-yes.ts";
import type { Approvals } from "../approvals/approvals.ts";
import { alwaysButtons, approvalButtons, fitsChat, shortDigest, tooLong } from "../approvals/question.ts";
import type { Directory } from "../people/directory.ts";
import { answerText, isAskedAt, isTooOld, openQuestion } from "../people/open-question.ts";
import type { Pairing } from "../people/pairing.ts";
import type { PostRequest } from "./message-ingress.ts";

interface PressDeps {
  readonly clock: Pick<Clock, "now">;
  readonly store: { fact(key: string): Promise<string | undefined> };
  readonly directory: Directory;
  readonly approvals: Pick<Approvals, "decide" | "get" | "offers">;
  readonly pairing: Pick<Pairing, "answerGroup">;
  post(request: PostRequest): Promise<unknown>;
}

const GONE: PressResult = { say: "This question is no longer open.", done: true };
const OLD: PressResult = {
  say: "This question is too old for its buttons. Write your answer as a message.",
  done: true,
};

export async function pressButton(deps: PressDeps, press: PressedButton): Promise<PressResult> {
  const [kind, id = "", answer = "", asked = ""] = press.token.split(":");
  try {
    if (kind === "a") return await answerApproval(deps, press, { given: id, answer, digest: asked });
    if (kind === "g") return await answerGroup(deps, press, id, answer === "y");
    if (kind === "q" && isTooOld(asked, deps.clock.now())) return OLD;
    if (kind === "q") return await choose(deps, press, id, Number(answer));
    return GONE;
  } catch (error) {
    if (!(error instanceof RookeryError)) throw error;
    if (error.retryable && !(error instanceof ConflictError)) throw error;
    return { say: errorText(error), done: error instanceof ConflictError };
  }
}

/** Whether the group that the button is shown in is let in. */
async function answerGroup(deps: PressDeps, press: PressedButton, code: string, isYes: boolean): Promise<PressResult> {
  const person = (await deps.directory.now()).sender(press.connector, press.userId);
  if (person !== OWNER) return { say: "Only the owner can answer this.", done: false };
  try {
    await deps.pairing.answerGroup(code, press, isYes, { person, surface: press.connector });
  } catch (error) {
    if (error instanceof NotFoundError) return GONE;
    throw error;
  }
  return { say: isYes ? "I answer in this group from now on. Write again." : "I stay out of this group.", done: true };
}

/** `digest`: the beginning of the digest that was shown. `y` yes once, `n` no, a scope: yes for always, `w` shows what that would store, `b` goes back. */
async function answerApproval(
  deps: PressDeps,
  press: PressedButton,
  { given, answer, digest }: { readonly given: string; readonly answer: string; readonly digest: string },
): Promise<PressResult> {
  const id = parseApprovalId(given);
  if (id === undefined) return GONE;
  const now = await deps.directory.now();
  const person: PersonId = now.sender(press.connector, press.userId);
  const asked = await deps.approvals.get(id, person);
  if (shortDigest(asked.digest) !== digest) return GONE;
  if (answer === "w" || answer === "b") return showOffers(deps, asked, answer === "w");
  const always = ALWAYS_SCOPES.find((scope) => scope === answer);
  const approve = answer === "y" || always !== undefined;
  if (approve && !fitsChat(asked)) return { say: tooLong(id), done: false };
  const said = { approve, always, digest: asked.digest };
  const { tool, state } = await deps.approvals.decide(id, said, { person, surface: press.connector });
  const how = state === "denied" ? "denied" : always === undefined ? "approved" : "approved, and allowed from now on";
  return { say: `${tool} is ${how}.`, done: true };
}

/** Nothing is decided. */
async function showOffers(deps: PressDeps, asked: Approval, open: boolean): Promise<PressResult> {
  if (asked.state !== "pending") return GONE;
  if (!open) return { say: "", done: false, buttons: approvalButtons(asked) };
  const buttons = alwaysButtons(asked, await deps.approvals.offers(asked));
  if (buttons.length > 1) return { say: "Choose what to allow from now on.", done: false, buttons };
  return { say: "Nothing can be allowed from now on. Say yes once.", done: false };
}

async function choose(deps: PressDeps, press: PressedButton, id: string, index: number): Promise<PressResult> {
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
