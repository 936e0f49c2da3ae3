/**
 * What a person may ask of an agent from the command line while no node runs: the request is posted, and the agent's owner
 * does it when the agent next works (M1). What is wrong is refused at once.
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
  summary: "change what an agent was told to do differently",
  usage: "<agent id or session key> <field=value …>",
  description: `Takes back what stands as field= with nothing behind it. Fields: ${Object.keys(SETTABLE).join(", ")}.`,
  arguments: { min: 2, max: 100 },
  run: (context) => {
    const patch = patchOf(context.args.slice(1));
    return ask(context, async ({ settingMessage }, store, { id }) => settingMessage(store, id, patch));
  },
});

export const backAction = defineAction({
  summary: "go back to an entry of the current session",
  usage: "<agent id or session key> <entry id>",
  description: "What is said next continues from that entry. Nothing is deleted. `rookery history --json` shows ids.",
  arguments: { min: 2, max: 2 },
  options: {
    summary: { type: "string", value: "TEXT", description: "what the model is told of the branch that is left" },
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
      json ? `${JSON.stringify({ ...to, ...accepted })}\n` : `Accepted; ${agent.id} does it when it next works.\n`,
    );
  } finally {
    await store.close();
  }
  return undefined;
}

/** `queueCap=5` is a number where the field takes one; everything else is text. */
function patchOf(pairs: readonly string[]): StatePatch {
  const patch: Record<string, unknown> = {};
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    if (at < 1) throw new InvalidInputError(`"${pair}" is no field=value.`);
    const [field, value] = [pair.slice(0, at), pair.slice(at + 1)];
    const number = /^queue(?:DebounceMs|Cap)$/.test(field) && /^\d+$/.test(value);
    patch[field] = value === "" ? null : number ? Number(value) : value;
  }
  return patch as StatePatch;
}
