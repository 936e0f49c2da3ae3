/** Tools that record every execution outside, so that a repeated one is seen whatever the program's own tables say (L4). */
import { z } from "zod";
import type { DeliveryContext } from "../../../src/core/delivery/delivery.ts";
import type { Tool, ToolHost, ToolOutput } from "../../../src/core/ports/tool.ts";
import type { ReplayPolicy } from "../../../src/core/run/run.ts";
import type { Random } from "../../kit/random.ts";
import type { EventLog } from "./event-log.ts";
import type { SimProcess } from "./process.ts";
import type { Scheduler } from "./scheduler.ts";
import { tokenText } from "./tokens.ts";

export interface Execution {
  readonly tool: string;
  readonly replay: ReplayPolicy;
  readonly runId: string;
  readonly callId: string;
  readonly token: string;
  readonly process: string;
  readonly startedAt: number;
}

export interface SimTools {
  readonly executions: readonly Execution[];
  port(process: SimProcess): ToolHost;
}

export interface ToolsWorld {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly log: EventLog;
  /** Where the conversation of a token is answered. */
  routeOf(token: string): DeliveryContext | undefined;
}

const input = z.object({ token: z.string() });
type Input = z.infer<typeof input>;

interface Kind {
  readonly name: string;
  readonly replay: ReplayPolicy;
  readonly parallel: boolean;
  readonly ms: readonly [number, number];
  output(given: Input): ToolOutput;
  /** How often it kills its node per token. */
  readonly kills?: number;
}

const said = (text: string): ToolOutput => ({ content: [{ type: "text", text }] });

export function makeSimTools({ scheduler, random, log, routeOf }: ToolsWorld): SimTools {
  const executions: Execution[] = [];
  const killed = new Map<string, number>();
  const kinds: readonly Kind[] = [
    { name: "sim_safe", replay: "safe", parallel: true, ms: [5, 60], output: () => said("done") },
    { name: "sim_never", replay: "never", parallel: false, ms: [5, 60], output: () => said("done once") },
    { name: "sim_slow", replay: "never", parallel: true, ms: [1_000, 6_000], output: () => said("done at last") },
    {
      name: "sim_throw",
      replay: "safe",
      parallel: true,
      ms: [5, 30],
      output: () => {
        throw new Error("the tool failed");
      },
    },
    { name: "sim_big", replay: "safe", parallel: true, ms: [5, 30], output: () => said("word ".repeat(3_000)) },
    {
      name: "sim_trip",
      replay: "safe",
      parallel: true,
      ms: [5, 60],
      output: () => said("done, the second time"),
      kills: 1,
    },
    {
      name: "sim_poison",
      replay: "safe",
      parallel: true,
      ms: [5, 60],
      output: () => said("survived"),
      kills: Number.POSITIVE_INFINITY,
    },
    {
      name: "sim_send",
      replay: "never",
      parallel: false,
      ms: [5, 30],
      output: ({ token }) => {
        const target = routeOf(token);
        return {
          ...said("owed"),
          deliveries: target ? [{ target, payload: { text: `sends ${tokenText(token)}` } }] : [],
        };
      },
    },
  ];

  const toolOf = (process: SimProcess, kind: Kind): Tool<Input> => ({
    name: kind.name,
    description: "A simulated tool.",
    input,
    rights: kind.name === "sim_safe" ? ["write"] : [],
    replay: kind.replay,
    parallel: kind.parallel,
    maxOutput: 4_000,
    execute: (given, context) =>
      process.call<ToolOutput>("exec", kind.name, (answer) => {
        const { runId, callId } = context;
        executions.push({
          tool: kind.name,
          replay: kind.replay,
          runId,
          callId,
          token: given.token,
          process: process.name,
          startedAt: scheduler.time,
        });
        log.write(process.name, `executes ${kind.name} ${callId} for ${given.token}`);
        const ms = random.int(...kind.ms);
        let open = true;
        const deaths = killed.get(given.token) ?? 0;
        if (deaths < (kind.kills ?? 0)) {
          scheduler.after(ms / 2, () => {
            if (!open || process.state === "dead") return;
            killed.set(given.token, deaths + 1);
            process.kill(`by ${kind.name}`);
          });
        }
        const end = (outcome: () => ToolOutput): void => {
          if (!open) return;
          open = false;
          try {
            answer({ value: outcome() });
          } catch (error) {
            answer({ error: error as Error });
          }
        };
        scheduler.after(ms / 2, () => process.enter(() => open && context.progress("half way")));
        scheduler.after(ms, () => end(() => kind.output(given)));
        context.signal.addEventListener("abort", () => {
          scheduler.after(1, () => end(() => ({ ...said("aborted"), isError: true })));
        });
      }),
  });

  return {
    executions,
    port(process) {
      const tools = new Map(kinds.map((kind) => [kind.name, toolOf(process, kind) as Tool]));
      return { list: () => [...tools.values()], find: (_agent, name) => tools.get(name) };
    },
  };
}
