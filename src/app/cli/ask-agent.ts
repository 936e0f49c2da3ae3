/**
 * The actions that change an agent from the command line while no node runs. Each posts a message, and the node that next
 * works on the agent applies it (M1). Invalid input is refused at once.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import { SETTABLE, type StatePatch } from "../../core/agent/patch-state.ts";
import { InvalidInputError } from "../../core/errors.ts";
import type { EntryId } from "../../core/ids.ts";
import type { MessageBody } from "../../core/message/message.ts";
import type { Store } from "../../core/store/store.ts";
import { type CommandContext, defineAction } from "./command.ts";

const DAY_MS = 86_400_000;

export const setAction = defineAction({
  summary: "change the settings of an agent",
  usage: "<agent id or session key> <field=value …>",
  description: `Write field= to clear a setting. Fields: ${Object.keys(SETTABLE).join(", ")}.`,
  arguments: { min: 2, max: 100 },
  run: (context) => {
    const patch = patchOf(context.args.slice(1));
    return ask(context, async ({ settingMessage }, store, { id }) => settingMessage(store, id, patch));
  },
});

export const backAction = defineAction({
  summary: "go back to an earlier entry of the current session",
  usage: "<agent id or session key> <entry id>",
  description:
    "The next message continues from that entry. Nothing is deleted. Run `rookery history <agent> --json` to see the entry ids.",
  arguments: { min: 2, max: 2 },
  options: {
    summary: { type: "string", value: "TEXT", description: "a summary of the abandoned branch, for the model" },
  },
  run: (context) => {
    const { args, flags } = context;
    return ask(context, async ({ branchMessage }, store, { id }) =>
      branchMessage(store, id, args[1] as EntryId, flags.summary),
    );
  },
});

type Commands = typeof import("../../engine/agents/sessions/session-control.ts");

async function ask(
  { args: [who = ""], home, json, stdout, loadConfig }: CommandContext,
  bodyOf: (commands: Commands, store: Store, agent: AgentRecord) => Promise<MessageBody>,
): Promise<undefined> {
  const [{ openSqliteStore }, { systemClock: clock }, { systemIds }, { accept }, { findAgent }, commands, { config }] =
    await Promise.all([
      import("../../adapters/store/sqlite/open-store.ts"),
      import("../../adapters/system/system-clock.ts"),
      import("../../adapters/system/system-ids.ts"),
      import("../../engine/inbox/accept.ts"),
      import("./find-agent.ts"),
      import("../../engine/agents/sessions/session-control.ts"),
      loadConfig(),
    ]);
  const store = openSqliteStore({ home });
  try {
    const agent = await findAgent(store, who, config.session.mainKey);
    const body = await bodyOf(commands, store, agent);
    const message = { body, acceptedAt: clock.now() };
    const to = { agentId: agent.id };
    const accepted = await accept({ store, clock, ids: systemIds() }, { to, message, replayHorizonMs: DAY_MS });
    stdout.write(
      json
        ? `${JSON.stringify({ ...to, ...accepted })}\n`
        : `Accepted. Agent ${agent.id} applies it when it next runs.\n`,
    );
  } finally {
    await store.close();
  }
  return undefined;
}

/** Numeric fields become numbers, an empty value becomes null, and everything else stays text. */
function patchOf(pairs: readonly string[]): StatePatch {
  const patch: Record<string, unknown> = {};
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    if (at < 1)
      throw new InvalidInputError(`"${pair}" is not of the form field=value.`, {
        hint: "Write for example queueCap=5.",
      });
    const [field, value] = [pair.slice(0, at), pair.slice(at + 1)];
    const number = /^queue(?:DebounceMs|Cap)$/.test(field) && /^\d+$/.test(value);
    patch[field] = value === "" ? null : number ? Number(value) : value;
  }
  return patch as StatePatch;
}
