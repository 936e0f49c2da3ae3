/**
 * A question about a tool call, above the conversation: what exactly wants to happen, and the answers. "Always" first shows the rule
 * that would be stored, in three widths, and stores the one that the person chooses.
 */
import { type Component, matchesKey } from "@earendil-works/pi-tui";
import type { Approval } from "../../../core/rights/approval.ts";
import { RULE_WIDTHS, type RuleWidth } from "../../../core/rights/rule-widths.ts";
import type { AlwaysWidths } from "../../../engine/approvals/always-rules.ts";
import { inputText } from "./blocks.ts";
import { boxed } from "./boxed.ts";
import { cleanLine } from "./clean-text.ts";
import { wrapped } from "./render-block.ts";
import type { Theme } from "./theme.ts";

/** A width: yes, and from now on what the rule of that width covers. */
export type ApprovalAnswer = "yes" | RuleWidth | "no" | "later";

interface Choice {
  readonly key: string;
  readonly answer: ApprovalAnswer | "always" | "back";
  readonly text: string;
}

const QUESTION: readonly Choice[] = [
  { key: "y", answer: "yes", text: "yes, this once" },
  { key: "a", answer: "always", text: "yes, always…" },
  { key: "n", answer: "no", text: "no" },
  { key: "l", answer: "later", text: "later" },
];
const WIDTHS: Readonly<Record<RuleWidth, string>> = { call: "this call", prefix: "this prefix", tool: "this tool" };
const BACK: Choice = { key: "b", answer: "back", text: "back" };

/** Keys that were meant for the input do not answer a question that has just appeared: its answers are shown after this time. */
export const QUIET_MS = 400;
const MAX_LINES = 8;

export interface AskedApproval extends Approval {
  readonly from?: string;
  /** The rules that a yes for always would store. */
  readonly always?: AlwaysWidths;
}

export class ApprovalPanel implements Component {
  readonly #theme: Theme;
  readonly #approval: AskedApproval;
  readonly #answer: (answer: ApprovalAnswer) => void;
  readonly #now: () => number;
  readonly #shownAt: number;
  #choices = QUESTION;
  /** The last one: Enter alone allows nothing. */
  #selected = QUESTION.length - 1;

  constructor(
    theme: Theme,
    approval: AskedApproval,
    answer: (answer: ApprovalAnswer) => void,
    now: () => number = () => performance.now(),
  ) {
    this.#theme = theme;
    this.#approval = approval;
    this.#answer = answer;
    this.#now = now;
    this.#shownAt = now();
  }

  render(width: number): string[] {
    const theme = this.#theme;
    const { tool, arguments: args, from, id } = this.#approval;
    const inner = Math.max(10, width - 4);
    const who = cleanLine(from ?? "An agent", 40);
    const input = wrapped(inputText(args), inner, theme.dim, "", "");
    const rest =
      input.length > MAX_LINES ? [theme.dim(`… ${input.length - MAX_LINES} more lines: /approve lists it`)] : [];
    const lines = [
      `${theme.warn("?")} ${who} wants to use ${theme.bold(cleanLine(String(tool), 60))} ${theme.dim(`(${cleanLine(id, 8)})`)}`,
      ...input.slice(0, MAX_LINES),
      ...rest,
      "",
      ...(this.#isQuiet() ? [theme.dim("…")] : this.#answerLines(inner)),
    ];
    return boxed(lines, width, theme.warn);
  }

  #isQuiet(): boolean {
    return this.#now() - this.#shownAt < QUIET_MS;
  }

  #answerLines(inner: number): readonly string[] {
    const texts = this.#choices.map((choice, n) => this.#choiceText(choice, n === this.#selected));
    if (this.#choices === QUESTION) return inner >= 56 ? [texts.join("   ")] : texts;
    const reasons = RULE_WIDTHS.flatMap((width) => {
      const rules = this.#approval.always?.[width];
      return rules && "not" in rules
        ? wrapped(cleanLine(`${WIDTHS[width]}: ${rules.not}`), inner, this.#theme.dim)
        : [];
    });
    return [this.#theme.bold("Allow from now on, without a question:"), ...texts, ...reasons];
  }

  #choiceText({ key, text }: Choice, isSelected: boolean): string {
    const theme = this.#theme;
    return isSelected ? theme.inverse(` ${key} ${text} `) : ` ${theme.bold(key)} ${text} `;
  }

  handleInput(data: string): void {
    if (this.#isQuiet()) return;
    const chosen = this.#choices.find(({ key }) => data === key || data === key.toUpperCase());
    if (chosen) this.#choose(chosen);
    else if (matchesKey(data, "escape")) this.#choose(this.#choices === QUESTION ? undefined : BACK);
    else if (matchesKey(data, "left") || matchesKey(data, "up")) this.#move(-1);
    else if (matchesKey(data, "right") || matchesKey(data, "down") || matchesKey(data, "tab")) this.#move(1);
    else if (matchesKey(data, "enter")) this.#choose(this.#choices[this.#selected]);
  }

  #choose(choice: Choice | undefined): void {
    const answer = choice?.answer ?? "later";
    if (answer === "always") this.#show(widthChoices(this.#approval.always));
    else if (answer === "back") this.#show(QUESTION);
    else this.#answer(answer);
  }

  #show(choices: readonly Choice[]): void {
    this.#choices = choices;
    this.#selected = choices.length - 1;
  }

  #move(by: number): void {
    this.#selected = (this.#selected + by + this.#choices.length) % this.#choices.length;
  }

  invalidate(): void {}
}

/** The widths that have a rule, each with that rule; the same rule once, in its narrowest width. */
function widthChoices(always: AlwaysWidths | undefined): readonly Choice[] {
  const seen = new Set<string>();
  const choices = RULE_WIDTHS.flatMap((width): readonly Choice[] => {
    const rules = always?.[width];
    if (!rules || "not" in rules) return [];
    const allowed = [...new Set(rules.map(({ allow, person }) => `${allow} for ${person}`))].join("; ");
    if (seen.has(allowed)) return [];
    seen.add(allowed);
    return [{ key: width[0] ?? "", answer: width, text: `${WIDTHS[width].padEnd(11)}  ${cleanLine(allowed, 250)}` }];
  });
  return [...choices, BACK];
}
