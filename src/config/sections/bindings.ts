/** Which conversations belong to which profile: the most exact binding wins, a person before a whole account. */
import { list, oneOf, section, text } from "../values.ts";

const bindingSchema = section({
  profile: text("the name of a profile").describe("the profile; an unknown one means `main`"),
  match: section({
    channel: text("the name of a channel").describe("the channel of the conversation"),
    accountId: text('the name of an account, or "*" for any')
      .optional()
      .describe("the account on the channel; `*` means any. `default` if it is not set"),
    peer: section({
      kind: oneOf(["dm", "group", "channel"]).describe("whether `id` is a person, a group or a channel"),
      id: text("the channel's own id of a person, a group or a channel").describe(
        "the id of the person, group or channel at the channel",
      ),
    }).optional(),
    guildId: text("the id of a guild").optional().describe("the guild the conversation is in"),
    teamId: text("the id of a team").optional().describe("the team the conversation is in"),
  }),
});

export const bindingsSchema = list(bindingSchema)
  .prefault([])
  .meta({ description: "which conversations use which profile", page: "identity.md#profiles-and-bindings" });
