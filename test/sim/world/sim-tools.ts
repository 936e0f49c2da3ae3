/** Tools that record every execution outside the program, so that a repeated one shows without the program's tables (L4). */
import { z } from "zod";
import type { DeliveryContext } from "../../../src/core/delivery/delivery.ts";
import { SuspendedError } from "../../../src/core/errors.ts";
import type { Tool, ToolContext, ToolHost, ToolOutput } from "../../../src/core/ports/tool.ts";
import type { Effect } from "../../../src/core/rights/decide.ts";
import type { ReplayPolicy } from "../../../src/core/run/run.ts";
import type { Random } from "../../kit/random.ts";
import type { EventLog } from "./event-log.ts";
import type { SimProcess } from "./process.ts";
import { GRANTED_TOOL } from "./revocations.ts";
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

export interface ToolsDeps {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly log: EventLog;
  /** Where answers to a token's conversation go. */
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
  /** Whether the first execution for a token is suspended. */
  readonly suspends?: boolean;
}

const textOutput = (text: string): ToolOutput => ({ content: [{ type: "text", text }] });

const quick = { replay: "safe", parallel: true, ms: [5, 60] } as const;
const KINDS: readonly Kind[] = [
  { ...quick, name: "sim_safe", output: () => textOutput("done") },
  { ...quick, name: "sim_never", replay: "never", parallel: false, output: () => textOutput("done once") },
  { ...quick, name: "sim_act", output: () => textOutput("done with a right") },
  { ...quick, name: "sim_risky", replay: "never", parallel: false, output: () => textOutput("done after a yes") },
  { ...quick, name: "sim_slow", replay: "never", ms: [1_000, 6_000], output: () => textOutput("done at last") },
  { ...quick, name: "sim_steady", ms: [3_000, 5_000], output: () => textOutput("done after some seconds") },
  { ...quick, name: "sim_long", ms: [11_000, 15_000], output: () => textOutput("done after a long time") },
  {
    ...quick,
    name: "sim_throw",
    ms: [5, 30],
    output: () => {
      throw new Error("the tool failed");
    },
  },
  { ...quick, name: "sim_big", ms: [5, 30], output: () => textOutput("word ".repeat(3_000)) },
  { ...quick, name: "sim_web", output: ({ token }) => textOutput(`a page ${tokenText(`w${token.slice(1)}`)}`) },
  { ...quick, name: "sim_suspend", output: () => textOutput("done after a wait"), suspends: true },
  { ...quick, name: "sim_pages", output: () => textOutput("word ".repeat(200)) },
  { ...quick, name: "sim_trip", output: () => textOutput("done, the second time"), kills: 1 },
  { ...quick, name: "sim_poison", output: () => textOutput("survived"), kills: Number.POSITIVE_INFINITY },
];

/** Of the others: none. */
const RIGHTS: Readonly<Record<string, Tool["rights"]>> = {
  sim_safe: ["write"],
  sim_web: ["network"],
  [GRANTED_TOOL]: ["exec"],
};

/** What a tool says that it is about to do: rules about commands count for this one too. */
const EFFECTS: Readonly<Record<string, readonly Effect[]>> = {
  [GRANTED_TOOL]: [
    { action: GRANTED_TOOL, rights: ["exec"], detail: { kind: "command", argv: [GRANTED_TOOL], cwd: "/" } },
  ],
};

/** Sends a delivery with its result. */
const sendKind = (routeOf: ToolsDeps["routeOf"]): Kind => ({
  name: "sim_send",
  replay: "never",
  parallel: false,
  ms: [5, 30],
  output: ({ token }) => {
    const target = routeOf(token);
    const deliveries = target ? [{ target, payload: { text: `sends ${tokenText(token)}` } }] : [];
    return { ...textOutput("owed"), deliveries };
  },
});

export class SimTools {
  readonly executions: Execution[] = [];
  readonly #deps: ToolsDeps;
  readonly #kinds: readonly Kind[];
  /** How often the execution for a token killed its node. */
  readonly #killed = new Map<string, number>();
  /** The tokens for which a call was suspended. */
  readonly #suspended = new Set<string>();

  constructor(deps: ToolsDeps) {
    this.#deps = deps;
    this.#kinds = [...KINDS, sendKind(deps.routeOf)];
  }

  port(process: SimProcess): ToolHost {
    const tools = new Map(this.#kinds.map((kind) => [kind.name, this.#tool(process, kind) as Tool]));
    return { list: () => [...tools.values()], find: (_agent, name) => tools.get(name) };
  }

  #tool(process: SimProcess, kind: Kind): Tool<Input> {
    const { name, replay, parallel } = kind;
    return {
      name,
      description: "A simulated tool.",
      input,
      rights: RIGHTS[name] ?? [],
      effects: EFFECTS[name] && (() => EFFECTS[name] ?? []),
      replay,
      parallel,
      maxOutput: 4_000,
      execute: (given, context) => this.#execute(process, kind, given, context),
    };
  }

  #execute(process: SimProcess, kind: Kind, given: Input, context: ToolContext): Promise<ToolOutput> {
    const { scheduler, random } = this.#deps;
    return process.call<ToolOutput>("exec", kind.name, (answer) => {
      this.#record(process, kind, given, context);
      const ms = random.int(...kind.ms);
      let open = true;
      const deaths = this.#killed.get(given.token) ?? 0;
      if (deaths < (kind.kills ?? 0)) {
        scheduler.after(ms / 2, () => {
          if (!open || process.state === "dead") return;
          this.#killed.set(given.token, deaths + 1);
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
      scheduler.after(ms, () =>
        end(() => {
          if (kind.suspends && !this.#suspended.has(given.token)) {
            this.#suspended.add(given.token);
            throw new SuspendedError("The call waits for something else.");
          }
          return kind.output(given);
        }),
      );
      context.signal.addEventListener("abort", () => {
        scheduler.after(1, () => end(() => ({ ...textOutput("aborted"), isError: true })));
      });
    });
  }

  #record(process: SimProcess, { name, replay }: Kind, { token }: Input, { runId, callId }: ToolContext): void {
    const { scheduler, log } = this.#deps;
    const startedAt = scheduler.time;
    this.executions.push({ tool: name, replay, runId, callId, token, process: process.name, startedAt });
    log.write(process.name, `executes ${name} ${callId} for ${token}`);
  }
}
