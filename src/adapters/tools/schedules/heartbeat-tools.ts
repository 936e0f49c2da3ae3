/** The heartbeat's tasks under daycare's names: what is looked at with every tick. */
import { z } from "zod";
import { InvalidInputError } from "../../../core/errors.ts";
import type { Tool } from "../../../core/ports/tool.ts";
import type { HeartbeatApi } from "./cron-api.ts";
import { said } from "./cron-tool.ts";

const common = { rights: ["schedule"], replay: "safe", parallel: false, maxOutput: 8_000 } as const;

/** What a task's id may be: a plain word, never a path. */
export function checkedTaskId(id: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/u.test(id)) return id;
  throw new InvalidInputError("Heartbeat task id contains invalid characters.");
}

const addInput = z.object({
  id: z.string().optional().describe("a word for it; made from the title where it is left out"),
  title: z.string().min(1).max(200),
  prompt: z.string().min(1).max(32_000).describe("what is looked at"),
});
const idInput = z.object({ id: z.string().min(1) });
const nothing = z.object({});

export const heartbeatTools = (api: HeartbeatApi): readonly Tool[] => [
  {
    ...common,
    name: "heartbeat_add",
    description: "Adds a task that is looked at with every heartbeat, or replaces the one with this id.",
    input: addInput,
    async execute(input, { agent }) {
      const { id, title, prompt } = addInput.parse(input);
      const task = { id: id === undefined ? undefined : checkedTaskId(id), title, prompt };
      const added = await api.tasks.addOps(agent.profile, task);
      return { ...said({ id: added.id, title }), ops: added.ops };
    },
  },
  {
    ...common,
    name: "heartbeat_list",
    description: "Lists the tasks that are looked at with every heartbeat.",
    input: nothing,
    parallel: true,
    execute: async (_, { agent }) => said(await api.tasks.list(agent.profile)),
  },
  {
    ...common,
    name: "heartbeat_remove",
    description: "Removes a task from the heartbeat.",
    input: idInput,
    async execute(input, { agent }) {
      const id = checkedTaskId(idInput.parse(input).id);
      return { ...said({ removed: id }), ops: await api.tasks.removeOps(agent.profile, id) };
    },
  },
  {
    ...common,
    name: "heartbeat_run",
    description: "Asks for a heartbeat soon, outside of its rhythm.",
    input: nothing,
    async execute(_, { agent }) {
      api.requestNow("manual", agent.profile);
      return said("A heartbeat was asked for.");
    },
  },
];
