/** The owner's accounts. Their direct messages share the main conversation; those of the terminal always do. */
import { list, section, text } from "../values.ts";

const ACCOUNT = 'an account as "channel:id"';

export const ownerSchema = section({
  accounts: list(text(ACCOUNT).regex(/^[^:\s]+:\s*\S.*$/u, `expected ${ACCOUNT}`))
    .prefault([])
    .describe(
      'the accounts of the owner, each `"channel:id"`; their direct messages share the main conversation with the terminal',
    ),
})
  .prefault({})
  .meta({ description: "the owner of this installation", page: "identity.md" });
