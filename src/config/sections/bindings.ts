/** Which conversations belong to which profile: the most exact binding wins, a person before a whole account. */
import { list, oneOf, section, text } from "../values.ts";

const bindingSchema = section({
  profile: text("the name of a profile"),
  match: section({
    channel: text("the name of a channel"),
    accountId: text('the name of an account, or "*" for any').optional(),
    peer: section({
      kind: oneOf(["dm", "group", "channel"]),
      id: text("the channel's own id of a person, a group or a channel"),
    }).optional(),
    guildId: text("the id of a guild").optional(),
    teamId: text("the id of a team").optional(),
  }),
});

export const bindingsSchema = list(bindingSchema).prefault([]);
