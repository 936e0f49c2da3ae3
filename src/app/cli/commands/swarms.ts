/** `rookery swarms`: lists swarms, shows one with its contacts, publishes and removes one. */

import type { SwarmContact, SwarmRecord } from "../../../core/agent/swarm.ts";
import { NotFoundError } from "../../../core/errors.ts";
import { withApi } from "../client/with-api.ts";
import { defineAction, type Group } from "../command.ts";
import { oneLine, timeText } from "../plain-text.ts";
import { printList, printResult } from "../print.ts";
import { readHome } from "../read-home.ts";
import { createSwarmAction } from "./agent-create.ts";

const MAX_COUNT = 1_000;
const CONTACTS = 50;

const list = defineAction({
  summary: "list swarms by name",
  async run(context) {
    const items = await readHome(context.paths, (store) => store.swarms({ limit: MAX_COUNT }));
    const next = items.length < MAX_COUNT ? null : (items.at(-1)?.nametag ?? null);
    return printList(context, { items, next, line: lineOf, empty: "No swarms." });
  },
});

const show = defineAction({
  summary: "show one swarm and its contacts",
  usage: "<name>",
  arguments: { min: 1, max: 1 },
  async run(context) {
    const {
      args: [written = ""],
      paths,
    } = context;
    const { swarm, contacts } = await readHome(paths, async (store) => {
      const found = await store.swarm(nameOf(written));
      if (!found)
        throw new NotFoundError(`There is no swarm ${nameOf(written)}.`, {
          hint: "Run `rookery swarms` to see all swarms.",
        });
      return { swarm: found, contacts: await store.swarmContacts(found.nametag, { limit: CONTACTS }) };
    });
    const lines = [lineOf(swarm), oneLine(swarm.systemPrompt, 400), ...contacts.map(contactLine)];
    return printResult(context, { swarm, contacts }, lines.join("\n"));
  },
});

const remove = defineAction({
  summary: "remove a swarm and all its agents",
  usage: "<name>",
  arguments: { min: 1, max: 1 },
  async run(context) {
    const nametag = nameOf(context.args[0] ?? "");
    const path = `/api/swarms/${encodeURIComponent(nametag)}`;
    await withApi(context, (api) => api.ask({ method: "DELETE", path }));
    return printResult(context, { nametag }, `@${nametag} is removed. Its agents are removed when they rest.`);
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
