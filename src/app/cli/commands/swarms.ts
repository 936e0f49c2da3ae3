/** `rookery swarms`: lists swarms, shows one with its contacts, and removes one. */

import type { SwarmContact, SwarmRecord } from "../../../core/agent/swarm.ts";
import { NotFoundError } from "../../../core/errors.ts";
import { removeSwarmOps } from "../../../engine/agents/remove-swarm.ts";
import { changeHome } from "../change-home.ts";
import { defineAction, type Group } from "../command.ts";
import { oneLine, timeText } from "../plain-text.ts";
import { readHome } from "../read-home.ts";

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
  async run({ args: [written = ""], paths, json, stdout }) {
    const nametag = nameOf(written);
    await changeHome(paths, "cli.swarms", async (store, now) => ({
      ops: await removeSwarmOps(store, nametag, "a person", now),
      result: nametag,
    }));
    stdout.write(
      json
        ? `${JSON.stringify({ nametag })}\n`
        : `@${nametag} is removed. Its agents are removed when a node next runs.\n`,
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
  summary: "list swarms; show or remove one",
  description: "list and show only read; a node may run at the same time. remove needs the home for itself.",
  actions: { list, show, remove },
  fallback: "list",
};
