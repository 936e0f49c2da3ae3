/**
 * `process`: the background commands of an agent (M33). They are found by their files, also after a crash. A process without
 * files here runs on another machine, or is lost.
 */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import type { Tool, ToolOutput } from "../../../core/ports/tool.ts";
import type { Effect } from "../../../core/rights/decide.ts";
import type { ExecDeps } from "./exec-deps.ts";
import { MAX_SHOWN, shownOutput, shownPart } from "./output-text.ts";
import { sizeOf, writeInfo } from "./process-files.ts";
import type { KnownProcess, ProcessState } from "./processes.ts";
import { settleFiles } from "./settle-files.ts";

const MAX_INPUT = 60_000;
const MAX_WAIT_SECONDS = 600;

const input = z.strictObject({
  action: z.enum(["list", "read", "write", "wait", "stop"]),
  id: z.string().optional(),
  offset: z.int().min(0).optional().describe("read: from this byte on"),
  text: z.string().max(MAX_INPUT).optional().describe("write: the input"),
  end: z.boolean().optional().describe("write: no more input follows"),
  seconds: z.int().min(1).max(MAX_WAIT_SECONDS).optional().describe("wait: at most so long"),
});
type ProcessInput = z.infer<typeof input>;

export const processTool = (deps: ExecDeps): Tool<ProcessInput> => ({
  name: "process",
  description: "Your background commands: list, read output, write input, wait for the end, stop.",
  input,
  rights: [],
  replay: "never",
  parallel: false,
  untrusted: true,
  maxOutput: MAX_SHOWN + 1_000,
  // Input can be a command: a shell may read it.
  effects: ({ action, text = "" }) => (action === "write" ? [inputEffect(text)] : []),
  async execute(given, { agent, signal }) {
    if (given.action === "list") return said(await listed(deps, agent));
    const known = await found(deps, agent, given.id);
    switch (given.action) {
      case "read":
        return said(await read(deps, known, given.offset));
      case "write":
        await deps.processes.write(known, given.text ?? "", given.end ?? false);
        return said(`Wrote ${given.text?.length ?? 0} characters.`);
      case "wait": {
        const state = await deps.processes.wait(known, (given.seconds ?? 60) * 1000, signal);
        // The agent reads it here, so no message needs to wake it.
        const info = { ...known.info, told: true } as const;
        if (state.is !== "running") {
          await writeInfo(known.files, info);
          await settleFiles(deps, { ...known, info });
        }
        return said(await read(deps, { ...known, state }));
      }
      case "stop": {
        if (known.state.is === "running") await deps.processes.end(known);
        await settleFiles(deps, known);
        return { ...said(`Stopped ${known.info.id}.`), processes: { forgotten: [known.info.id] } };
      }
    }
  },
});

const inputEffect = (line: string): Effect => ({
  ...{ action: "process", rights: ["exec"] },
  detail: { kind: "unparsed", line, cwd: "", why: "it is input for a program that runs" },
});

const said = (text: string): ToolOutput => ({ content: [{ type: "text", text }] });

async function found({ processes }: ExecDeps, agent: AgentRecord, id: string | undefined): Promise<KnownProcess> {
  if (id === undefined) throw new InvalidInputError("Name the process by its id.", { hint: "Use action list." });
  const known = await processes.find(agent.id, id);
  if (known) return known;
  const record = agent.state.processes?.find((one) => one.id === id);
  throw new NotFoundError(`There is no process ${id}.`, {
    hint:
      record && record.machine !== (await processes.machine)
        ? "It was started on another machine."
        : "Use action list.",
  });
}

/** Those with files here, and those that the agent's state names and that are not here. */
async function listed({ processes }: ExecDeps, agent: AgentRecord): Promise<string> {
  const here = await processes.ofAgent(agent.id);
  const machine = await processes.machine;
  const ids = new Set(here.map(({ info }) => info.id));
  const elsewhere = (agent.state.processes ?? []).filter(({ id }) => !ids.has(id));
  const lines = [
    ...here.map(({ info, state }) => `${info.id} ${stateText(state)}: ${oneLine(info.command)}`),
    ...elsewhere.map(
      (one) => `${one.id} ${one.machine === machine ? "lost" : "on another machine"}: ${oneLine(one.command)}`,
    ),
  ];
  return lines.length === 0 ? "There are no processes." : lines.join("\n");
}

const oneLine = (command: string): string => command.replace(/\p{Cc}/gu, " ").slice(0, 200);

function stateText(state: ProcessState): string {
  switch (state.is) {
    case "running":
      return "running";
    case "ended":
      return `exit code ${state.code}`;
    case "lost":
      return "lost: it ended without an exit code";
  }
}

async function read({ secretValues }: ExecDeps, { files, state }: KnownProcess, offset?: number): Promise<string> {
  if (offset === undefined) {
    const { text, bytes } = await shownOutput(files, secretValues());
    return `${text}\n[${stateText(state)}; ${bytes} bytes of output]`;
  }
  const size = await sizeOf(files.output);
  const next = Math.max(offset, Math.min(offset + MAX_SHOWN, size));
  const text = await shownPart(files.output, { begin: offset, end: next }, secretValues());
  return `${text}\n[${stateText(state)}; bytes ${offset} to ${next} of ${size}]`;
}
