/** The question about a call: its row, and the text that people read. */
import type { AgentRecord } from "../../core/agent/agent.ts";
import { cutText } from "../../core/cut-text.ts";
import type { Button } from "../../core/delivery/delivery.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { JudgedRun } from "../../core/ports/gate.ts";
import { type ApprovalId, approvalIdOf, type NewApproval } from "../../core/rights/approval.ts";
import { RULE_WIDTHS } from "../../core/rights/rule-widths.ts";
import type { AlwaysWidths } from "./always-rules.ts";
import type { HeldCall } from "./settle-asked.ts";

/** Of the arguments in a question. */
const MAX_SHOWN = 2_000;
/** Of a button. */
const MAX_LABEL = 64;

export interface Asking {
  readonly agent: AgentRecord;
  readonly run: JudgedRun;
  readonly at: number;
  readonly dueAt: number;
  uuid(): string;
}

export function questionOf({ agent, run, at, dueAt, uuid }: Asking, held: HeldCall): NewApproval {
  const { judged, digest, files, behalf } = held;
  const { call, effects } = judged;
  return {
    id: approvalIdOf(uuid()),
    agentId: agent.id,
    runId: run.id,
    callId: call.callId,
    behalf,
    tool: call.name,
    arguments: call.arguments,
    digest,
    version: 2,
    files: files.length === 0 ? undefined : files,
    prompt: promptOf(held),
    effects: effects.map(({ action, target, of, rights, detail, needsYes }) => ({
      ...{ action, target, of, rights, detail, needsYes },
    })),
    delivery: run.body.delivery,
    askedAt: at,
    dueAt,
  };
}

function promptOf({ judged: { call, decision }, files, preview, behalf }: HeldCall): string {
  const args = shown(preview ?? JSON.stringify(call.arguments, undefined, 2));
  const covered =
    files.length === 0
      ? "No file is covered: the contents of files may change before the call."
      : `The contents of ${files.join(", ")} are covered. Other files are not.`;
  return `${call.name} for ${behalf.person} (${decision.reason}):\n${args}\n${covered}`;
}

const shown = (text: string): string =>
  text.length <= MAX_SHOWN ? text : `${cutText(text, MAX_SHOWN)}\n[cut: ${text.length} characters in all]`;

/** What the person who decides reads, wherever that is. */
export const questionText = ({ id, prompt, dueAt }: NewApproval): string =>
  `Approval ${id} is needed.\n${prompt}\nAnswer with "rookery approvals yes ${id}" or "rookery approvals no ${id}" before ${new Date(dueAt).toISOString()}.`;

type Pressed = Pick<NewApproval, "id" | "digest">;

/** The token of a button names the question, the answer, and the call as it was shown. */
const tokenOf = ({ id, digest }: Pressed, answer: string): string => `a:${id}:${answer}:${shortDigest(digest)}`;
export const shortDigest = (digest: string): string => digest.slice(0, 16);

export const approvalButtons = (asked: Pressed): readonly Button[] => [
  { label: "Yes, once", token: tokenOf(asked, "y"), style: "yes" },
  { label: "Yes, always …", token: tokenOf(asked, "w") },
  { label: "No", token: tokenOf(asked, "n"), style: "no" },
];

/** The three widths of "always", each with the rule that it would store. A width without a rule is left out. */
export const widthButtons = (asked: Pressed, widths: AlwaysWidths): readonly Button[] => [
  ...RULE_WIDTHS.flatMap((width): readonly Button[] => {
    const rules = widths[width];
    if ("not" in rules) return [];
    const texts = [...new Set(rules.map(({ allow }) => allow))].join(", ");
    return [
      { label: cutText(`Always, this ${width}: ${texts}`, MAX_LABEL), token: tokenOf(asked, width), style: "yes" },
    ];
  }),
  { label: "Back", token: tokenOf(asked, "b") },
];

/** What the run's person reads if someone else decides: the run waits, and the person may say no. */
export function waitingText(questions: readonly NewApproval[]): string {
  const asked = questions.map(({ id, tool }) => `${tool} (approval ${id})`).join(", ");
  const until = new Date(Math.min(...questions.map(({ dueAt }) => dueAt))).toISOString();
  const [first] = questions;
  return `The owner was asked for permission to use ${asked}. Without an answer until ${until} it is not done. You can go on writing here. To withdraw the request, send /deny ${first?.id}.`;
}

/** The text of the message that executes the call of a yes. */
export const lateYesText = (id: ApprovalId, tool: string, by: PersonId | string): string =>
  `Approval ${id} for ${tool} was given by ${by}.`;

/** What the agent reads about any other late end. */
export const lateEndText = (id: ApprovalId, tool: string, how: string): string =>
  `Approval ${id} for ${tool} was ${how}.`;
