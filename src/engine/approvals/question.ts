/**
 * The one question about a call, for every surface (M44): what runs comes first, from validated arguments, and every character of it
 * can be seen. Terminal, page and command line show `prompt` as it is; a message shows it as code, so no part of it is Markdown, a
 * link or a command. Where it does not fit as a whole there is no yes.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import { shortAgentName } from "../../core/agent/agent-name.ts";
import type { Button } from "../../core/delivery/delivery.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { JudgedRun } from "../../core/ports/gate.ts";
import { type ApprovalId, approvalIdOf, type NewApproval } from "../../core/rights/approval.ts";
import { visibleLine, visibleText } from "../../core/visible-text.ts";
import { type AlwaysOffers, offered } from "./always-rules.ts";
import type { HeldCall } from "./settle-asked.ts";

/** Longer ones are not asked: no one reads them. */
const MAX_PROMPT = 20_000;
/** The longest question in a message: no channel takes less, and a phone shows it without a cut. */
const MAX_MESSAGE = 2_000;
const MAX_MESSAGE_LINES = 60;
/** Of a button. */
const MAX_LABEL = 64;

interface Asking {
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
    prompt: promptOf(agent, held),
    effects: effects.map(({ action, target, of, rights, detail, needsYes }) => ({
      ...{ action, target, of, rights, detail, needsYes },
    })),
    delivery: run.body.delivery,
    askedAt: at,
    dueAt,
  };
}

/** The text of the question. Only the lines of the call are indented, so nothing in it looks like one of the others. */
function promptOf(agent: AgentRecord, held: HeldCall): string {
  const { judged, files, preview, directory, behalf } = held;
  const { call, decision, effects } = judged;
  const shown = preview === undefined ? argumentLines(judged.input ?? call.arguments) : [visibleText(preview)];
  const { state, descriptor } = agent;
  const name = state.label ?? state.displayName ?? (descriptor.type === "user" ? "The agent" : shortAgentName(agent));
  const rights = [...new Set(effects.flatMap((effect) => effect.rights))].join(", ");
  const details = preview === undefined ? effects : [];
  const changed = [
    ...new Set(
      details.flatMap(({ detail }) => (detail?.kind === "path" && detail.access === "write" ? detail.path : [])),
    ),
  ];
  const covered =
    files.length === 0
      ? "No file is covered: the contents of files may change before the call."
      : `The contents of ${files.map(visibleLine).join(", ")} are covered. Other files are not.`;
  return [
    visibleLine(call.name),
    ...shown.map((text) => `\n${text}`.replaceAll("\n", "\n  ").slice(1)),
    `${visibleLine(name)} asks for ${visibleLine(behalf.person)}: ${visibleLine(decision.reason)}`,
    ...(directory === undefined ? [] : [`It works in ${visibleLine(directory)}`]),
    ...(changed.length === 0 ? [] : [`It changes ${changed.map(visibleLine).join(", ")}`]),
    ...(rights === "" ? [] : [`It may use: ${rights}`]),
    covered,
  ].join("\n");
}

/** In the order of the tool's own definition: what runs comes before what is said about it. */
function argumentLines(input: unknown): readonly string[] {
  if (typeof input !== "object" || input === null) return [visibleText(JSON.stringify(input))];
  return Object.entries(input).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const text = visibleText(typeof value === "string" ? value : JSON.stringify(value));
    return [`${visibleLine(name)}:${text.includes("\n") ? `\n${text}`.replaceAll("\n", "\n  ") : ` ${text}`}`];
  });
}

/** Why a call is not asked about: no one could read its question. */
export function unreadable(agent: AgentRecord, held: HeldCall): string | undefined {
  const { length } = promptOf(agent, held);
  if (length <= MAX_PROMPT) return undefined;
  return `Not executed: the question about this call would have ${length} characters, and people are shown at most ${MAX_PROMPT}. Make several smaller calls.`;
}

const fits = (text: string, max: number): boolean =>
  text.length <= Math.min(max, MAX_MESSAGE) && text.split("\n").length <= MAX_MESSAGE_LINES;

/** The text as code, for everything that reads Markdown. It cannot end the code. */
export const asCode = (text: string): string =>
  `\`\`\`\n${text.replace(/`{3,}/gu, (ticks) => "<U+0060>".repeat(ticks.length))}\n\`\`\``;

const whereToRead = (id: ApprovalId): string =>
  `It is too long for this chat. Read it on the page under Approvals or with "rookery approvals show ${id}", and answer there.`;

/** The question in a chat, and the answers there. `max`: the longest text of the channel. */
export function questionMessage(
  asked: NewApproval,
  max = MAX_MESSAGE,
): { readonly text: string; readonly buttons: readonly Button[] } {
  const { id, prompt, dueAt } = asked;
  const until = new Date(dueAt).toISOString();
  const head = `Approval ${id} is needed.`;
  const whole = `${head}\n${asCode(prompt)}\nAnswer with "rookery approvals yes ${id}" or "rookery approvals no ${id}" before ${until}.`;
  if (fits(whole, max)) return { text: whole, buttons: approvalButtons(asked) };
  const no = approvalButtons(asked).filter(({ style }) => style === "no");
  return { text: `${head}\n${whereToRead(id)} Without an answer before ${until} it is not done.`, buttons: no };
}

/** Whether a chat can show the question whole, and so take a yes to it. */
export const fitsChat = ({ prompt }: Pick<NewApproval, "prompt">): boolean =>
  fits(asCode(visibleText(prompt)), MAX_MESSAGE);

/** Why a chat takes no yes to this question. */
export const tooLong = (id: ApprovalId): string => `Approval ${id} was not given. ${whereToRead(id)}`;

/** The open questions in one message: each as a whole, or where to read it. */
export function questionList(questions: readonly NewApproval[]): string {
  let left = MAX_MESSAGE;
  return questions
    .map(({ id, tool, prompt }) => {
      const whole = `${id}:\n${asCode(visibleText(prompt))}`;
      const short = `${id}: ${visibleLine(tool)}. ${whereToRead(id)}`;
      const text = fits(whole, left) ? whole : short;
      left -= text.length;
      return text;
    })
    .join("\n");
}

type Pressed = Pick<NewApproval, "id" | "digest">;

/** The token of a button names the question, the answer, and the call as it was shown. */
const tokenOf = ({ id, digest }: Pressed, answer: string): string => `a:${id}:${answer}:${shortDigest(digest)}`;
export const shortDigest = (digest: string): string => digest.slice(0, 16);

export const approvalButtons = (asked: Pressed): readonly Button[] => [
  { label: "Yes, once", token: tokenOf(asked, "y"), style: "yes" },
  { label: "Yes, always …", token: tokenOf(asked, "w") },
  { label: "No", token: tokenOf(asked, "n"), style: "no" },
];

/** What "always" would store, each as a button. One that no button shows whole is left out. */
export const alwaysButtons = (asked: Pressed, offers: AlwaysOffers): readonly Button[] => [
  ...offered(offers).flatMap(({ scope, text }): readonly Button[] => {
    const label = `Always: ${text}`;
    return label.length > MAX_LABEL ? [] : [{ label, token: tokenOf(asked, scope), style: "yes" }];
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
