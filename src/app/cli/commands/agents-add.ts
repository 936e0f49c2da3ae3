/** `rookery agents add`, `rookery agents swarms add`: make an agent that others know by name. */

import { UsageError } from "../../../core/errors.ts";
import { agentArgument } from "../../../core/typed-name.ts";
import { withApi } from "../client/with-api.ts";
import { defineAction } from "../command.ts";
import { oneLine } from "../plain-text.ts";
import { printResult } from "../print.ts";

export const addAgentAction = defineAction({
  summary: "make a permanent agent, or change the one of that name",
  usage: "<name>",
  arguments: { min: 1, max: 1 },
  options: {
    description: { type: "string", value: "TEXT", description: "what it is for, in a sentence (required)" },
    prompt: { type: "string", value: "TEXT", description: "who it is and what it does (required)" },
    username: { type: "string", value: "NAME", description: "what it is called beside its name" },
    profile: { type: "string", value: "NAME", description: "the profile it speaks as (default: main)" },
  },
  async run(context) {
    const { args, flags } = context;
    const { description, prompt, username, profile } = flags;
    if (!description || !prompt) throw new UsageError("--description and --prompt are required.");
    const body = { name: args[0], description, systemPrompt: prompt, username, profile };
    const put = await withApi(context, (api) => api.ask({ method: "POST", path: "/api/agents", body }));
    const { agentId, created } = put as { readonly agentId: string; readonly created: boolean };
    const name = args[0] ?? "";
    const to = agentArgument({ id: agentId, name });
    const done = created ? `is made. Write to it: \`rookery send --to ${to} "hello"\`` : "changes when it next runs.";
    return printResult(context, put, context.here(`${oneLine(name, 80)} ${done}`));
  },
});

export const addSwarmAction = defineAction({
  summary: "publish a swarm under a name",
  usage: "<name>",
  arguments: { min: 1, max: 1 },
  options: {
    "first-name": { type: "string", value: "NAME", description: "what contacts call it (default: its name)" },
    prompt: { type: "string", value: "TEXT", description: "the prompt of its agents (required)" },
    bio: { type: "string", value: "TEXT", description: "who it is, in a sentence" },
    about: { type: "string", value: "TEXT", description: "what it can be asked" },
    memory: { type: "boolean", description: "let its agents see what the profile remembers" },
  },
  async run(context) {
    const { args, flags } = context;
    if (!flags.prompt) throw new UsageError("--prompt is required.");
    const nametag = (args[0] ?? "").trim().replace(/^@/u, "").toLowerCase();
    const { prompt: systemPrompt, bio, about, memory } = flags;
    const body = { nametag, firstName: flags["first-name"] ?? nametag, systemPrompt, bio, about, memory };
    const swarm = await withApi(context, (api) => api.ask({ method: "POST", path: "/api/swarms", body }));
    return printResult(context, { swarm }, `@${nametag} is published.`);
  },
});
