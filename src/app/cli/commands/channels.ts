/** `rookery channels`: the accounts on channels, connecting one, and the deliveries to them. */
import type { Group } from "../command.ts";
import { connectGroup } from "./channels-add.ts";
import { listChannels } from "./channels-list.ts";
import { outboxGroup } from "./channels-outbox.ts";

export const channelsCommand: Group = {
  summary: "list channels, connect one, and see what was sent",
  actions: { list: listChannels, add: connectGroup, outbox: outboxGroup },
  fallback: "list",
};
