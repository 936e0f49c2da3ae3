/**
 * A question about a tool call, above the input: what exactly wants to happen, and a menu of answers. It never has the focus: letters
 * go to the input, and the arrows and Enter are its own only while the input is empty. A question that does not fit as a whole has no
 * yes. "Always" first shows what would be stored, and stores what the person chooses.
 */
import { type Component, isKeyRelease, matchesKey } from "@earendil-works/pi-tui";
import type { Approval } from "../../../core/rights/approval.ts";
import type { AlwaysScope } from "../../../core/rights/standing-yes.ts";
import { visibleText } from "../../../core/visible-text.ts";
import { type AlwaysOffers, offered } from "../../../engine/approvals/always-rules.ts";
import { boxed } from "./boxed.ts";
import { clean, cleanLine } from "./clean-text.ts";
import { wrapped } from "./render-block.ts";
import type { Theme } from "./theme.ts";

/** A scope: yes, and from now on what the rule of that scope covers. */
export type ApprovalAnswer = "yes" | AlwaysScope | "no" | "later";

interface Choice {
  readonly answer: ApprovalAnswer | "always" | "back";
  readonly text: string;
}

const REFUSALS: readonly Choice[] = [
  { answer: "no", text: "no" },
  { answer: "later", text: "later" },
];
const QUESTION: readonly Choice[] = [
  { answer: "yes", text: "yes, this once" },
  { answer: "always", text: "yes, always…" },
  ...REFUSALS,
];
const BACK: Choice = { answer: "back", text: "back" };

/** Keys that were meant for the input do not answer a question that has just appeared: its answers are shown after this time. */
export const QUIET_MS = 400;

export interface AskedApproval extends Approval {
  /** The rules that a yes for always would store. */
  readonly always?: AlwaysOffers;
}

interface PanelOptions {
  readonly theme: Theme;
  readonly approval: AskedApproval;
  readonly answer: (answer: ApprovalAnswer) => void;
  /** How many lines it may have. */
  readonly rows: () => number;
  /** The input is not empty. */
  readonly isTyping: () => boolean;
  readonly now?: () => number;
}

export class ApprovalPanel implements Component {
  readonly #options: PanelOptions;
  readonly #shownAt: number;
  #page: "question" | "always" = "question";
  #choices: readonly Choice[] = [];
  #selected = 0;

  constructor(options: PanelOptions) {
    this.#options = options;
    this.#shownAt = this.#now();
    this.#offer(REFUSALS);
  }

  render(width: number): string[] {
    const { theme, approval, rows } = this.#options;
    const inner = Math.max(10, width - 4);
    const head = `${theme.warn("?")} The agent asks for a yes ${theme.dim(`(${cleanLine(approval.id, 8)})`)}`;
    const text = wrapped(clean(visibleText(approval.prompt)), inner, theme.bold, "", "");
    const room = rows() - FRAME_LINES - 1;
    const choices = this.#page === "always" ? alwaysChoices(approval.always) : QUESTION;
    const fits = text.length + this.#answerLines(choices, inner).length <= room;
    this.#offer(fits ? choices : REFUSALS);
    const where = `Too long for this window. Read it with: rookery approvals show ${cleanLine(approval.id, 8)}`;
    const answers = [
      ...(fits ? [] : wrapped(cleanLine(where), inner, theme.warn, "", "")),
      ...this.#answerLines(this.#choices, inner),
    ];
    const shown = text.slice(0, Math.max(0, room - answers.length));
    return boxed([head, ...shown, "", ...this.#quietly(answers)], width, theme.warn);
  }

  /** Answers that keys do not choose now are not shown. */
  #quietly(answers: readonly string[]): readonly string[] {
    const { theme, isTyping } = this.#options;
    if (isTyping()) return [theme.dim("Send or clear what you typed to answer.")];
    return this.#isQuiet() ? [theme.dim("…")] : answers;
  }

  #now(): number {
    return this.#options.now?.() ?? performance.now();
  }

  #isQuiet(): boolean {
    return this.#now() - this.#shownAt < QUIET_MS;
  }

  #answerLines(choices: readonly Choice[], inner: number): readonly string[] {
    const { theme, approval } = this.#options;
    const texts = choices.map(({ text }, n) => (n === this.#selected ? theme.inverse(` ${text} `) : ` ${text} `));
    const hint = theme.dim("arrows and Enter");
    if (choices === QUESTION || choices === REFUSALS)
      return inner >= 72 ? [`${texts.join("  ")}   ${hint}`] : [...texts, hint];
    const none = approval.always?.call;
    const reasons = none && "not" in none ? wrapped(cleanLine(none.not), inner, theme.dim) : [];
    const lines = choices.flatMap(({ text }, n) =>
      wrapped(clean(text), inner, n === this.#selected ? theme.inverse : plain, "", ""),
    );
    return [theme.bold("Allow from now on, without a question:"), ...lines, ...reasons, hint];
  }

  /** Whether it took the key. */
  handleKey(data: string): boolean {
    if (isKeyRelease(data) || this.#options.isTyping()) return false;
    const step = KEYS.find(({ keys }) => keys.some((key) => matchesKey(data, key)))?.step;
    const [isEnter, isEscape] = [matchesKey(data, "enter"), matchesKey(data, "escape")];
    if (step === undefined && !isEnter && !isEscape) return false;
    if (this.#isQuiet()) return true;
    if (step !== undefined) this.#selected = (this.#selected + step + this.#choices.length) % this.#choices.length;
    else if (isEnter) this.#choose(this.#choices[this.#selected]);
    else this.#choose(this.#page === "question" ? undefined : BACK);
    return true;
  }

  #choose(choice: Choice | undefined): void {
    const answer = choice?.answer ?? "later";
    if (answer === "always") {
      this.#page = "always";
      this.#offer(alwaysChoices(this.#options.approval.always));
    } else if (answer === "back") {
      this.#page = "question";
      this.#offer(QUESTION);
    } else this.#options.answer(answer);
  }

  /** The last one is selected first: Enter alone allows nothing. */
  #offer(choices: readonly Choice[]): void {
    const isSame =
      choices.length === this.#choices.length && choices.every(({ text }, n) => text === this.#choices[n]?.text);
    this.#choices = choices;
    if (!isSame) this.#selected = choices.length - 1;
  }

  invalidate(): void {}
}

/** The frame, the first line and the empty one. */
const FRAME_LINES = 4;
const KEYS = [
  { keys: ["left", "up"], step: -1 },
  { keys: ["right", "down", "tab"], step: 1 },
] as const;
const plain = (text: string): string => text;

function alwaysChoices(always: AlwaysOffers | undefined): readonly Choice[] {
  const choices = always ? offered(always).map(({ scope, text }): Choice => ({ answer: scope, text })) : [];
  return [...choices, BACK];
}
