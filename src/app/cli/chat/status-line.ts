/** The last line of the screen: who answers, how full the context is, today's cost, what happens, and whether the engine is there. */
import { visibleWidth } from "@earendil-works/pi-tui";
import type { CleanText } from "./clean-text.ts";
import { fitted } from "./render-block.ts";
import type { Theme } from "./theme.ts";

export interface StatusFacts {
  readonly agent: CleanText;
  readonly model?: CleanText;
  readonly isOffline: boolean;
  readonly context?: { readonly used: number; readonly window: number };
  readonly dollars: number;
  readonly tokens: number;
  readonly queueMode?: CleanText;
  readonly waiting: number;
  readonly approvals: number;
  readonly background: number;
  readonly unread: number;
  readonly connection: "connecting" | "connected" | "lost";
  readonly isBusy: boolean;
}

interface Part {
  readonly text: string;
  /** Parts with the highest number leave first when there is no room. */
  readonly rank: number;
}

export function statusLine(facts: StatusFacts, width: number, theme: Theme): string {
  const right = connectionText(facts, theme);
  const room = Math.max(0, width - visibleWidth(right) - 3);
  let parts = partsOf(facts, theme);
  while (parts.length > 1 && visibleWidth(joined(parts)) > room) {
    const worst = Math.max(...parts.map(({ rank }) => rank));
    parts = parts.filter(({ rank }) => rank !== worst);
  }
  const left = fitted(joined(parts), Math.max(1, room));
  const gap = " ".repeat(Math.max(1, width - 2 - visibleWidth(left) - visibleWidth(right)));
  return fitted(` ${left}${gap}${right}`, width);
}

const joined = (parts: readonly Part[]): string => parts.map(({ text }) => text).join(" · ");

function partsOf(facts: StatusFacts, theme: Theme): readonly Part[] {
  const { dim, warn, accent } = theme;
  const { context, approvals, waiting, background, unread } = facts;
  const parts: Part[] = [{ text: accent(facts.agent), rank: 0 }];
  if (facts.model) parts.push({ text: facts.isOffline ? warn("offline model") : dim(facts.model), rank: 3 });
  if (approvals > 0) parts.push({ text: warn(`${approvals} to /approve`), rank: 1 });
  if (waiting > 0) parts.push({ text: dim(`${waiting} waiting`), rank: 4 });
  if (background > 0) parts.push({ text: dim(`${background} in background`), rank: 5 });
  if (unread > 0) parts.push({ text: accent(`${unread} unread`), rank: 2 });
  if (context && context.window > 0) {
    parts.push({ text: dim(`${Math.round((100 * context.used) / context.window)}% context`), rank: 7 });
  }
  parts.push({ text: dim(costText(facts)), rank: 6 });
  if (facts.queueMode) parts.push({ text: dim(facts.queueMode), rank: 8 });
  return parts;
}

/** A model without a price costs what it costs: then tokens say more than zero dollars. */
function costText({ dollars, tokens, isOffline }: StatusFacts): string {
  if (dollars === 0 && tokens > 0 && !isOffline) return `${compact(tokens)} tokens today`;
  return `$${dollars < 10 ? dollars.toFixed(2) : dollars.toFixed(0)} today`;
}

const compact = (count: number): string =>
  count < 1_000 ? String(count) : count < 1_000_000 ? `${(count / 1_000).toFixed(1)}k` : `${(count / 1e6).toFixed(1)}M`;

function connectionText({ connection, isBusy }: StatusFacts, theme: Theme): string {
  if (connection === "lost") return theme.bad("○ engine away");
  if (connection === "connecting") return theme.dim("○ connecting");
  return isBusy ? `${theme.good("●")} ${theme.dim("working")}` : `${theme.good("●")} ${theme.dim("idle")}`;
}
