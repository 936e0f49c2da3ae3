/** A question about a tool call, above the conversation: what exactly wants to happen, and the answers. */
import { type Component, matchesKey, visibleWidth } from "@earendil-works/pi-tui";
import type { Approval } from "../../../core/rights/approval.ts";
import { inputText } from "./blocks.ts";
import { cleanLine } from "./clean-text.ts";
import { fitted, wrapped } from "./render-block.ts";
import type { Theme } from "./theme.ts";

export type ApprovalAnswer = "yes" | "always" | "no" | "later";

interface Choice {
  readonly key: string;
  readonly answer: ApprovalAnswer;
  readonly text: string;
}

const CHOICES: readonly Choice[] = [
  { key: "y", answer: "yes", text: "yes, this once" },
  { key: "a", answer: "always", text: "yes, always" },
  { key: "n", answer: "no", text: "no" },
  { key: "l", answer: "later", text: "later" },
];
const LATER = CHOICES.length - 1;
/** Keys that were meant for the input do not answer a question that has just appeared. */
const QUIET_MS = 400;
const MAX_LINES = 8;

export interface AskedApproval extends Approval {
  readonly from?: string;
}

export class ApprovalPanel implements Component {
  readonly #theme: Theme;
  readonly #approval: AskedApproval;
  readonly #answer: (answer: ApprovalAnswer) => void;
  readonly #now: () => number;
  readonly #shownAt: number;
  /** Enter alone changes nothing. */
  #selected = LATER;

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
    const shown = input.slice(0, MAX_LINES);
    const rest =
      input.length > MAX_LINES ? [theme.dim(`… ${input.length - MAX_LINES} more lines: /approve lists it`)] : [];
    const choices = CHOICES.map((choice, n) => this.#choiceText(choice, n === this.#selected));
    const lines = [
      `${theme.warn("?")} ${who} wants to use ${theme.bold(cleanLine(String(tool), 60))} ${theme.dim(`(${cleanLine(id, 8)})`)}`,
      ...shown,
      ...rest,
      "",
      ...(inner >= 56 ? [choices.join("   ")] : choices),
    ];
    return boxed(lines, width, theme);
  }

  #choiceText({ key, text }: Choice, isSelected: boolean): string {
    const theme = this.#theme;
    const label = `${theme.bold(key)} ${text}`;
    return isSelected ? theme.inverse(` ${key} ${text} `) : ` ${label} `;
  }

  handleInput(data: string): void {
    if (this.#now() - this.#shownAt < QUIET_MS) return;
    const chosen = CHOICES.find(({ key }) => data === key || data === key.toUpperCase());
    if (chosen) this.#answer(chosen.answer);
    else if (matchesKey(data, "escape")) this.#answer("later");
    else if (matchesKey(data, "left") || matchesKey(data, "up")) this.#move(-1);
    else if (matchesKey(data, "right") || matchesKey(data, "down") || matchesKey(data, "tab")) this.#move(1);
    else if (matchesKey(data, "enter")) this.#answer(CHOICES[this.#selected]?.answer ?? "later");
  }

  #move(by: number): void {
    this.#selected = (this.#selected + by + CHOICES.length) % CHOICES.length;
  }

  invalidate(): void {}
}

/** Lines in a frame. */
export function boxed(lines: readonly string[], width: number, theme: Theme, title = ""): string[] {
  const inner = Math.max(1, width - 4);
  const bar = theme.warn("│");
  const head = title === "" ? "" : ` ${title} `;
  const top = theme.warn(`╭${head}${"─".repeat(Math.max(0, width - 2 - head.length))}╮`);
  const bottom = theme.warn(`╰${"─".repeat(Math.max(0, width - 2))}╯`);
  const padded = lines.map((line) => {
    const cut = fitted(line, inner);
    return `${bar} ${cut}${" ".repeat(Math.max(0, inner - visibleWidth(cut)))} ${bar}`;
  });
  return [fitted(top, width), ...padded, fitted(bottom, width)];
}
