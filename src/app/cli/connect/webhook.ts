/** `rookery channels add webhook`: makes a program a channel. It adds the entry, and says where messages are posted and how they are signed. */
import { UsageError } from "../../../core/errors.ts";
import { defineAction } from "../command.ts";
import {
  addEntry,
  askText,
  configWith,
  connected,
  entryName,
  entryText,
  givenSecret,
  keptSecret,
  newSecret,
  stateOf,
  tell,
  webhookAddress,
} from "./entry.ts";

export const connectWebhook = defineAction({
  summary: "make a program of yours a channel",
  description:
    "The program posts messages to the gateway and gets answers at its own address. Both ways are signed with one secret, which is made and kept in a file of the home unless a flag names where it is.",
  options: {
    name: { type: "string", value: "NAME", description: "the name of the entry (default: webhook)" },
    "send-url": { type: "string", value: "URL", description: "the address that gets the answers" },
    "secret-env": { type: "string", value: "VARIABLE", description: "the environment variable that has the secret" },
    owner: {
      type: "string",
      value: "ID",
      description: "your own id on this channel; without it you are let in by a code",
    },
  },
  async run(context) {
    const { flags } = context;
    const name = entryName(flags.name ?? "webhook");
    const sendUrl = flags["send-url"] ?? (await askText(context, "Address that gets the answers", "send-url"));
    if (!URL.canParse(sendUrl) || !/^https?:$/u.test(new URL(sendUrl).protocol))
      throw new UsageError(`"${sendUrl}" is not an address.`, {
        hint: "Write it as https://bridge.example.org/answers.",
      });
    const given = givenSecret(context, { variable: flags["secret-env"] });
    const secret = given ?? keptSecret(context, `${name}.secret`, newSecret());
    const fields = {
      kind: name === "webhook" ? undefined : '"webhook"',
      sendUrl: JSON.stringify(sendUrl),
      webhook: `{ secret: ${secret.reference} }`,
    };
    const config = configWith(context, name, entryText(fields));
    const { owner } = flags;
    const added = await addEntry(context, { name, config, secrets: [secret], owner: owner && `webhook:${owner}` });
    const address = await webhookAddress(context, name);
    tell(context, `Messages are posted to ${address}`);
    if (!given) tell(context, `The secret of both sides: ${secret.value}`);
    const state = await stateOf(context, name, "Start the engine with `rookery serve`, then post a message.");
    return connected(context, { ...added, address, secret: given ? undefined : secret.value, state });
  },
});
