/** `rookery agents swarms`: lists swarms, shows one with its contacts, publishes and removes one. */

import type { SwarmContact, SwarmRecord } from "../../../core/agent/swarm.ts";
import { reading, withApi } from "../client/with-api.ts";
import { defineAction, type Group } from "../command.ts";
import { oneLine, timeText } from "../plain-text.ts";
import { printList, printResult } from "../print.ts";
import { upTo } from "../up-to.ts";
import { addSwarmAction } from "./agents-add.ts";

const MAX_COUNT = 1_000;

const list = defineAction({
  summary: "list swarms by name",
  async run(context) {
    const page = await reading(context, ({ swarm }) =>
      upTo(MAX_COUNT, undefined, (limit, after: string | undefined) => swarm.list({ limit, after })),
    );
    return printList(context, { ...page, line: lineOf, empty: "No swarms." });
  },
});

const show = defineAction({
  summary: "show one swarm and its contacts",
  usage: "<name>",
  arguments: { min: 1, max: 1 },
  async run(context) {
    const name = nameOf(context.args[0] ?? "");
    const { swarm, contacts } = await reading(context, (rookery) => rookery.swarm.get(name));
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

export const swarmsGroup: Group = {
  summary: "list swarms; show, publish or remove one",
  actions: { list, show, add: addSwarmAction, remove },
  fallback: "list",
};
