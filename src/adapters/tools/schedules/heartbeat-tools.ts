/** Daycare's tools for the heartbeat's tasks, which every tick checks. */
import { z } from "zod";
import { InvalidInputError } from "../../../core/errors.ts";
import type { Tool } from "../../../core/ports/tool.ts";
import type { HeartbeatApi } from "./cron-api.ts";
import { toolOutput } from "./cron-tool.ts";

const common = { rights: ["schedule"], replay: "safe", parallel: false, maxOutput: 8_000 } as const;

/** An id must not look like a path. */
export function checkedTaskId(id: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/u.test(id)) return id;
  throw new InvalidInputError("Heartbeat task id contains invalid characters.");
}

const addInput = z.strictObject({
  id: z.string().optional().describe("its id; made from the title if left out"),
  title: z.string().min(1).max(200),
  prompt: z.string().min(1).max(32_000).describe("what to check"),
});
const idInput = z.strictObject({ id: z.string().min(1) });
const nothing = z.strictObject({});

export const heartbeatTools = (api: HeartbeatApi): readonly Tool[] => [
  {
    ...common,
    name: "heartbeat_add",
    description: "Adds a task that every heartbeat checks, or replaces the one with this id.",
    input: addInput,
    async execute(input, { agent }) {
      const { id, title, prompt } = addInput.parse(input);
      const task = { id: id === undefined ? undefined : checkedTaskId(id), title, prompt };
      const added = await api.tasks.addOps(agent.profile, task);
      return { ...toolOutput({ id: added.id, title }), ops: added.ops };
    },
  },
  {
    ...common,
    name: "heartbeat_list",
    description: "Lists the tasks that every heartbeat checks.",
    input: nothing,
    parallel: true,
    execute: async (_, { agent }) => toolOutput(await api.tasks.list(agent.profile)),
  },
  {
    ...common,
    name: "heartbeat_remove",
    description: "Removes a task from the heartbeat.",
    input: idInput,
    async execute(input, { agent }) {
      const id = checkedTaskId(idInput.parse(input).id);
      return { ...toolOutput({ removed: id }), ops: await api.tasks.removeOps(agent.profile, id) };
    },
  },
  {
    ...common,
    name: "heartbeat_run",
    description: "Requests a heartbeat soon, outside of its schedule.",
    input: nothing,
    async execute(_, { agent }) {
      api.requestNow("manual", agent.profile);
      return toolOutput("A heartbeat is requested.");
    },
  },
];
