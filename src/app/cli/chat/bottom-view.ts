/** What stands above and below the input: messages on their way, what the agent does, and the status line. */
import type { Component } from "@earendil-works/pi-tui";
import type { Connection } from "./chat-session.ts";
import type { ChatState, Pending } from "./chat-state.ts";
import type { CleanText } from "./clean-text.ts";
import { durationText, fitted, wrapped } from "./render-block.ts";
import { type StatusFacts, statusLine } from "./status-line.ts";
import type { Theme } from "./theme.ts";

export interface BottomFacts {
  readonly state: ChatState;
  readonly connection: Connection;
  readonly now: number;
  /** A short hint, for example how to leave. */
  readonly hint: CleanText | undefined;
}

const SPINNER = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
export const SPIN_MS = 120;
const MAX_PENDING = 4;

const DOING = {
  thinking: "thinking",
  writing: "writing",
  tools: "working",
  compacting: "summarizing earlier messages",
  approval: "waits for your answer",
} as const;

/** Above the input. */
export class ActivityView implements Component {
  readonly #facts: () => BottomFacts;
  readonly #theme: Theme;

  constructor(theme: Theme, facts: () => BottomFacts) {
    this.#theme = theme;
    this.#facts = facts;
  }

  render(width: number): string[] {
    const { state, connection, now, hint } = this.#facts();
    const { theme } = { theme: this.#theme };
    const lines = state.pending.slice(-MAX_PENDING).flatMap((one) => pendingLines(one, connection, width, theme));
    if (connection === "lost") {
      lines.push(
        fitted(
          `${theme.warn("○")} ${theme.dim("The engine stopped. Waiting until it is back; nothing is lost.")}`,
          width,
        ),
      );
    } else if (state.live) {
      const spin = SPINNER[Math.floor(now / SPIN_MS) % SPINNER.length] ?? "";
      const since = durationText(Math.max(0, now - state.live.startedAt));
      const what = `${DOING[state.live.doing]} ${theme.dim(`${since} · esc stops`)}`;
      lines.push(fitted(`${theme.accent(spin)} ${what}`, width));
    }
    if (hint !== undefined) lines.push(fitted(`  ${theme.dim(hint)}`, width));
    return lines.length === 0 ? [""] : ["", ...lines];
  }

  invalidate(): void {}
}

function pendingLines({ text, state, will }: Pending, connection: Connection, width: number, theme: Theme): string[] {
  const short = (text.length > 400 ? `${text.slice(0, 399)}…` : text) as CleanText;
  const lines = wrapped(short, width, theme.dim, theme.dim("❯ ")).slice(0, 3);
  const isAway = state !== "accepted" && connection === "lost";
  const where = isAway ? "is sent when the engine is back" : state === "accepted" ? (will ?? "accepted") : "sending";
  return [...lines, ...wrapped(`↳ ${where}` as CleanText, width, theme.dim)];
}

export class StatusView implements Component {
  readonly #facts: () => StatusFacts;
  readonly #theme: Theme;

  constructor(theme: Theme, facts: () => StatusFacts) {
    this.#theme = theme;
    this.#facts = facts;
  }

  render(width: number): string[] {
    return [statusLine(this.#facts(), width, this.#theme)];
  }

  invalidate(): void {}
}
