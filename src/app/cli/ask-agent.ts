/**
 * The actions that change an agent's session. Each posts a message, and the engine that works on the agent applies it (M1).
 * Invalid input is refused at once.
 */
import type { StatePatch } from "../../core/agent/patch-state.ts";
import { SETTABLE_FIELDS } from "../../core/agent/settable-fields.ts";
import { UsageError } from "../../core/errors.ts";
import type { Posted } from "../../core/store/change.ts";
import { type Api, withApi } from "./client/with-api.ts";
import { type CommandContext, defineAction } from "./command.ts";
import { printResult } from "./print.ts";

export const setAction = defineAction({
  summary: "change the settings of an agent",
  usage: "<agent id, key or name> <field=value …>",
  description: `Write field= to clear a setting. Fields: ${SETTABLE_FIELDS.join(", ")}.`,
  arguments: { min: 2, max: 100 },
  run: (context) => {
    const body = patchOf(context.args.slice(1));
    return post(context, { method: "PATCH", path: `${agentPath(context)}/state`, body });
  },
});

export const backAction = defineAction({
  summary: "go back to an earlier entry of the current session",
  usage: "<agent id, key or name> <entry id>",
  description:
    "The next message continues from that entry. Nothing is deleted. Run `rookery sessions show <agent> --json` to see the entry ids.",
  arguments: { min: 2, max: 2 },
  options: {
    summary: { type: "string", value: "TEXT", description: "a summary of the abandoned branch, for the model" },
  },
  run: (context) => {
    const body = { entryId: context.args[1], summary: context.flags.summary, wait: false };
    return post(context, { method: "POST", path: `${agentPath(context)}/branch`, body });
  },
});

/** Prints what was accepted. */
async function post(context: CommandContext, request: Parameters<Api["ask"]>[0]): Promise<undefined> {
  const posted = (await withApi(context, (api) => api.ask(request))) as Pick<Posted, "agentId" | "seq">;
  const text = "Accepted. The agent applies it when it next runs.";
  return printResult(context, { status: "accepted", ...posted }, text);
}

const agentPath = ({ args }: CommandContext): string => `/api/agents/${encodeURIComponent(args[0] ?? "")}`;

/** Numeric fields become numbers, an empty value becomes null, and everything else stays text. */
function patchOf(pairs: readonly string[]): StatePatch {
  const patch: Record<string, unknown> = {};
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    if (at < 1)
      throw new UsageError(`"${pair}" is not of the form field=value.`, {
        hint: "Write for example queueCap=5.",
      });
    const [field, value] = [pair.slice(0, at), pair.slice(at + 1)];
    const number = /^queue(?:DebounceMs|Cap)$/.test(field) && /^\d+$/.test(value);
    patch[field] = value === "" ? null : number ? Number(value) : value;
  }
  return patch as StatePatch;
}
