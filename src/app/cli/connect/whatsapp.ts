/**
 * `rookery channels add whatsapp`: tests a token of the Cloud API, adds the number to the configuration, and says what to enter at Meta. An engine
 * that runs connects it at once. Every step can be given by a flag.
 */
import { graphApi } from "../../../adapters/connectors/whatsapp/graph-api.ts";
import { ChannelUnavailableError, ConfigError, UsageError } from "../../../core/errors.ts";
import { type CommandContext, defineAction } from "../command.ts";
import {
  addEntry,
  askText,
  configWith,
  connected,
  entryName,
  entryText,
  type FoundSecret,
  givenSecret,
  keptSecret,
  newSecret,
  stateOf,
  tell,
  webhookAddress,
} from "./entry.ts";

const OPTIONS = {
  name: { type: "string", value: "NAME", description: "the name of the entry (default: whatsapp)" },
  "phone-number-id": { type: "string", value: "ID", description: "the id of the phone number, as Meta shows it" },
  "token-env": { type: "string", value: "VARIABLE", description: "the environment variable that has the access token" },
  "token-file": { type: "string", value: "FILE", description: "the file that has the access token" },
  "app-secret-env": { type: "string", value: "VARIABLE", description: "the variable that has the secret of the app" },
  "app-secret-file": { type: "string", value: "FILE", description: "the file that has the secret of the app" },
  "verify-token-env": {
    type: "string",
    value: "VARIABLE",
    description: "the variable that has the verify token; without it one is made",
  },
  owner: { type: "string", value: "NUMBER", description: "your own phone number, with the code of the country" },
  template: { type: "string", value: "NAME", description: "an approved template for messages after 24 hours" },
  language: { type: "string", value: "CODE", description: "the language of the template (default: en_US)" },
  "api-root": { type: "string", value: "URL", description: "another address of the Graph API" },
} as const;

export const connectWhatsapp = defineAction({
  summary: "connect a number of the WhatsApp Cloud API",
  description:
    "Make an app with WhatsApp at developers.facebook.com first. It shows the id of the phone number, the access token and, under its basic settings, the app secret. What flags leave open is asked in a terminal.",
  options: OPTIONS,
  async run(context) {
    const { flags } = context;
    const name = entryName(flags.name ?? "whatsapp");
    const phoneNumberId = flags["phone-number-id"] ?? (await askText(context, "Phone number id", "phone-number-id"));
    if (!/^\d{1,32}$/u.test(phoneNumberId)) throw new UsageError("The id of a phone number has only digits.");
    const token = await secretOf(context, name, "token", "Access token");
    const apiRoot = flags["api-root"];
    const number = await numberOf(graphApi({ token: token.value, phoneNumberId, apiRoot }));
    tell(context, `The token is valid: ${number}`);
    const appSecret = await secretOf(context, name, "app-secret", "App secret");
    const variable = flags["verify-token-env"];
    const given = givenSecret(context, { variable });
    const verify = given ?? keptSecret(context, `${name}.verify-token`, newSecret());
    const said =
      flags.owner ?? (await askText(context, "Your own phone number, with the code of the country", "owner"));
    const owner = said.replaceAll(/[\s()+.-]/gu, "");
    if (!/^\d{6,20}$/u.test(owner))
      throw new UsageError("The owner's number has digits only, such as +49 170 1234567.");
    const { template, language = "en_US" } = flags;
    const fields = {
      kind: name === "whatsapp" ? undefined : '"whatsapp"',
      phoneNumberId: JSON.stringify(phoneNumberId),
      token: token.reference,
      appSecret: appSecret.reference,
      webhook: `{ secret: ${verify.reference} }`,
      template: template && `{ name: ${JSON.stringify(template)}, language: ${JSON.stringify(language)} }`,
      apiRoot: apiRoot && JSON.stringify(apiRoot),
    };
    const config = configWith(context, name, entryText(fields));
    const secrets = [token, appSecret, verify];
    const added = await addEntry(context, { name, config, secrets, owner: `whatsapp:${owner}` });
    const address = await webhookAddress(context, name);
    tell(context, 'Enter this in your app at Meta, under WhatsApp, Configuration, and subscribe to "messages":');
    tell(context, `  Callback URL: ${address}\n  Verify token: ${verify.value}`);
    const next = "Start the engine with `rookery serve`, so that Meta can check the address.";
    const state = await stateOf(context, name, next);
    return connected(context, { ...added, address, secret: given ? undefined : verify.value, state });
  },
});

async function secretOf(
  context: CommandContext<typeof OPTIONS>,
  name: string,
  what: "token" | "app-secret",
  question: string,
): Promise<FoundSecret> {
  const { flags } = context;
  const given = givenSecret(context, { variable: flags[`${what}-env`], file: flags[`${what}-file`] });
  if (given) return given;
  return keptSecret(context, `${name}.${what}`, await askText(context, question, `${what}-env`, { secret: true }));
}

/** The number as people see it. */
async function numberOf(api: ReturnType<typeof graphApi>): Promise<string> {
  const found = await api.number();
  if (found.status === "ok") {
    const { display_phone_number: shown, verified_name: called } = found.result;
    return [shown ?? api.phoneNumberId, called && `(${called})`].filter(Boolean).join(" ");
  }
  if (found.status === "refused") {
    throw new ConfigError(`WhatsApp refuses the token or the number: ${found.reason}`, {
      hint: "Copy both again from the page of your app at Meta.",
    });
  }
  throw new ChannelUnavailableError(`WhatsApp cannot be reached: ${found.reason}`, {
    hint: "Check the network, then try again.",
  });
}
