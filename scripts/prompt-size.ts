/**
 * `node scripts/prompt-size.ts`: the tokens of a default agent's prompt and of each tool that its model is sent, and of the tools
 * it finds only when it searches. With `--check` it prints only what is too much.
 */
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { type ChangingTools, toolHost } from "../src/adapters/tools/tool-host.ts";
import type { AgentRecord } from "../src/core/agent/agent.ts";
import type { Tool } from "../src/core/ports/tool.ts";
import { buildSystemPrompt } from "../src/engine/context/prompt/system-prompt.ts";
import { modelTool } from "../src/engine/runtime/model-call.ts";
import { tools } from "./rights/rights-table.ts";

/** Tokens of the prompt and the tools of a default agent, before anyone has said a word. */
export const MAX_TOKENS = 2_500;
/** The same for a model with a small window. */
export const MAX_SMALL_TOKENS = 1_000;

const WINDOWS = { large: 200_000, small: 8_000 } as const;

const descriptor = { type: "user", connector: "telegram", userId: "1", channelId: "1" } as const;
const agent = { id: "a", profile: "main", descriptor, state: {} } as unknown as AgentRecord;

export interface Size {
  readonly part: string;
  readonly tokens: number;
}

export interface PromptSize {
  readonly prompt: readonly Size[];
  readonly tools: readonly Size[];
  readonly hidden: readonly Size[];
  readonly total: number;
}

export function promptSize(window: keyof typeof WINDOWS = "large", changing?: ChangingTools): PromptSize {
  const contextWindow = WINDOWS[window];
  const host = toolHost({ tools: tools.filter(({ name }) => name !== "find_tools"), search: true, changing });
  const shown = host.shown?.(agent, contextWindow) ?? [];
  const { text } = buildSystemPrompt({
    descriptor,
    workspace: "/home/ann/.rookery/workspace",
    readFile: () => undefined,
    contextWindow,
  });
  const prompt = text.split("\n\n").map((part): Size => ({ part: part.slice(0, 30), tokens: countTokens(part) }));
  const sent = shown.map(sizeOf);
  const hidden = host.list(agent).filter((tool) => !shown.includes(tool));
  return { prompt, tools: sent, hidden: hidden.map(sizeOf), total: sum([...prompt, ...sent]) };
}

/** As a provider is sent it. */
const sizeOf = (tool: Tool): Size => ({
  part: tool.name,
  tokens: countTokens(JSON.stringify({ type: "function", function: modelTool(tool) })),
});

const sum = (sizes: readonly Size[]): number => sizes.reduce((all, { tokens }) => all + tokens, 0);

/** One sentence for each size above its limit. */
export function problems(): readonly string[] {
  const over = (name: string, { total }: PromptSize, limit: number): readonly string[] =>
    total <= limit
      ? []
      : [
          `The prompt and tools of ${name} have ${total} tokens, more than ${limit}: shorten them, or add a tool to SELDOM.`,
        ];
  return [
    ...over("a default agent", promptSize("large"), MAX_TOKENS),
    ...over("an agent with a small window", promptSize("small"), MAX_SMALL_TOKENS),
  ];
}

if (import.meta.main) {
  const found = problems();
  if (!process.argv.includes("--check")) {
    for (const window of ["large", "small"] as const) {
      const { prompt, tools: sent, hidden, total } = promptSize(window);
      const lines = (sizes: readonly Size[]): string =>
        sizes.map(({ part, tokens }) => `${tokens}\t${part}`).join("\n");
      const limit = window === "large" ? MAX_TOKENS : MAX_SMALL_TOKENS;
      process.stdout.write(
        `${window} window: ${total} of ${limit} tokens\n\nprompt ${sum(prompt)}\n${lines(prompt)}\n\n`,
      );
      process.stdout.write(
        `tools ${sum(sent)}\n${lines(sent)}\n\nfound by search ${sum(hidden)}\n${lines(hidden)}\n\n`,
      );
    }
  }
  for (const problem of found) process.stderr.write(`${problem}\n`);
  process.exitCode = found.length > 0 ? 1 : 0;
}
