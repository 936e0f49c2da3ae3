/** `rookery swarms`: lists swarms, shows one with its contacts, publishes and removes one. */

import type { SwarmContact, SwarmRecord } from "../../../core/agent/swarm.ts";
import { NotFoundError } from "../../../core/errors.ts";
import { withApi } from "../client/with-api.ts";
import { defineAction, type Group } from "../command.ts";
import { oneLine, timeText } from "../plain-text.ts";
import { readHome } from "../read-home.ts";
import { createSwarmAction } from "./agent-create.ts";

const MAX_COUNT = 1_000;
const CONTACTS = 50;

const list = defineAction({
  summary: "list swarms by name",
  async run({ paths, json, stdout }) {
    const swarms = await readHome(paths, (store) => store.swarms({ limit: MAX_COUNT }));
    if (json) stdout.write(`${JSON.stringify({ swarms })}\n`);
    else if (swarms.length === 0) stdout.write("No swarms.\n");
    else for (const swarm of swarms) stdout.write(`${lineOf(swarm)}\n`);
    return undefined;
  },
});

const show = defineAction({
  summary: "show one swarm and its contacts",
  usage: "<name>",
  arguments: { min: 1, max: 1 },
  async run({ args: [written = ""], paths, json, stdout }) {
    const { swarm, contacts } = await readHome(paths, async (store) => {
      const found = await store.swarm(nameOf(written));
      if (!found)
        throw new NotFoundError(`There is no swarm ${nameOf(written)}.`, {
          hint: "Run `rookery swarms` to see all swarms.",
        });
      return { swarm: found, contacts: await store.swarmContacts(found.nametag, { limit: CONTACTS }) };
    });
    if (json) stdout.write(`${JSON.stringify({ swarm, contacts })}\n`);
    else
      stdout.write(`${[lineOf(swarm), oneLine(swarm.systemPrompt, 400), ...contacts.map(contactLine)].join("\n")}\n`);
    return undefined;
  },
});

const remove = defineAction({
  summary: "remove a swarm and all its agents",
  usage: "<name>",
  arguments: { min: 1, max: 1 },
  async run(context) {
    const { args, json, stdout } = context;
    const nametag = nameOf(args[0] ?? "");
    const path = `/api/swarms/${encodeURIComponent(nametag)}`;
    await withApi(context, (api) => api.ask({ method: "DELETE", path }));
    stdout.write(
      json ? `${JSON.stringify({ nametag })}\n` : `@${nametag} is removed. Its agents are removed when they rest.\n`,
    );
    return undefined;
  },
});

const nameOf = (written: string): string => written.trim().replace(/^@/u, "").toLowerCase();

const lineOf = ({ nametag, firstName, lastName, bio, createdAt }: SwarmRecord): string =>
  `@${nametag}  ${oneLine([firstName, lastName].filter(Boolean).join(" "), 60)}  created ${timeText(createdAt)}${bio ? `  ${oneLine(bio, 120)}` : ""}`;

const contactLine = ({ contact, messagesReceived, messagesSent, lastContactAt }: SwarmContact): string =>
  `${contact}  ${messagesReceived} received, ${messagesSent} sent, last ${timeText(lastContactAt)}`;

export const swarmsCommand: Group = {
  summary: "list swarms; show, publish or remove one",
  actions: { list, show, create: createSwarmAction, remove },
  fallback: "list",
};
