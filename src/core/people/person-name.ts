/** The names of people and channels in texts for people: "Ann", "77 on Telegram", "zoe on the API", "group -100 on WhatsApp". */
import { apiUserOf } from "./api-user.ts";
import { applicationOf, kindOfPerson, type PersonId } from "./person.ts";
import type { PersonRecord } from "./person-record.ts";

const CHANNELS: Readonly<Record<string, string>> = {
  telegram: "Telegram",
  whatsapp: "WhatsApp",
  api: "the API",
  terminal: "the terminal",
  webhook: "a webhook",
};

/** A channel as people call it; a channel that a program defines keeps its own name. */
export const channelName = (channel: string): string => CHANNELS[channel] ?? channel;

/** `record`: the one of this person, if there is one. */
export function personName(id: PersonId | string, record?: Pick<PersonRecord, "name">): string {
  const kind = kindOfPerson(id);
  if (record?.name !== undefined) return record.name;
  switch (kind) {
    case "app": {
      const application = applicationOf(id as PersonId) ?? "";
      return `${id.slice(id.indexOf("/") + 1)} of ${application}`;
    }
    case "group": {
      const [channel = "", word = "group", ...rest] = id.split(":");
      return `${word} ${rest.join(":")} on ${channelName(channel)}`;
    }
    case "account": {
      const colon = id.indexOf(":");
      const [channel, account] = [id.slice(0, colon), id.slice(colon + 1).replace(/^dm:/, "")];
      if (channel === "link") return account;
      return `${apiUserOf(id as PersonId) ?? account} on ${channelName(channel)}`;
    }
    default:
      return id;
  }
}
