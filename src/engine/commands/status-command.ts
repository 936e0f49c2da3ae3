/** `/status`: the model, how full the context is, what today has cost, and what waits and why. */

import { costText } from "../../core/cost-text.ts";
import { refusedKeyText } from "../../core/refused-key.ts";
import type { ChatCommand, CommandContext } from "./chat-command.ts";
import { DAY_MS } from "./level-commands.ts";
import { nothing, reply } from "./words.ts";

const MAX_LISTED = 10;

export const statusCommand: ChatCommand = {
  name: "status",
  help: "the model, the context, today's cost, and what waits and why",
  who: "own",
  reads: nothing,
  async run(_, context) {
    const { agent, now, parts } = context;
    const described = await parts.models?.describe(agent);
    const { tokens, dollars } = await context.spentSince(parts.dayStart?.(now) ?? now - DAY_MS);
    const { run, waiting } = await context.waits();
    const questions = await context.approvals.pending();
    const lines = [
      ...waiting.map(({ what, why }) => `${what}: ${why}`),
      ...questions.map(({ id, tool }) => `${tool} waits for a yes: /approve ${id} or /deny ${id}`),
    ];
    const more = lines.length > MAX_LISTED ? [`- … and ${lines.length - MAX_LISTED} more`] : [];
    return {
      text: [
        reply(
          `Model: ${described?.model ?? agent.state.tokens?.model ?? "n/a"}, thinking ${described?.thinking ?? agent.state.thinkingLevel ?? "default"}`,
        ),
        ...(described?.refusedKeys ?? []).map((key) => refusedKeyText(key, now)),
        `Context: ${await contextText(context)}`,
        `Today: ${tokens} tokens, ${costText(dollars, tokens)}`,
        `Run: ${run ?? "none"}`,
        lines.length === 0 ? "Waiting: nothing" : "Waiting:",
        ...lines.slice(0, MAX_LISTED).map((line) => `- ${line}`),
        ...more,
      ].join("\n"),
    };
  },
};

async function contextText({ agent, contextWindow }: CommandContext): Promise<string> {
  const used = agent.state.tokens?.size;
  const window = await contextWindow();
  if (!used) return window === undefined ? "n/a" : `n/a of ${window} tokens`;
  const size = used.input + used.cacheRead + used.cacheWrite + used.output;
  if (window === undefined || window <= 0) return `${size} tokens`;
  return `${size} of ${window} tokens (${Math.round((100 * size) / window)} %)`;
}
