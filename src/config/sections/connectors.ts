/** The accounts on channels: bots and other accounts that the engine starts, each under a name that the person chooses. */
import { z } from "zod";
import { CONNECTOR_KINDS, type ConnectorKind, kindOfAccount } from "../connector-kinds.ts";
import { secretSchema } from "../secret.ts";
import { flag, httpUrl, named, oneOf, section, text } from "../values.ts";

export const connectorDefaults = {
  enabled: true,
  drafts: true,
  reactions: true,
  readMarks: true,
  linkPreviews: false,
  groups: { activation: "mention" },
} as const;

const PHONE_NUMBER_ID = "expected the id of a phone number, which has only digits";

const PAIR_PHONE = "expected a phone number with the code of the country, in digits";

const accountSchema = section({
  kind: oneOf(CONNECTOR_KINDS).optional().describe("the kind of channel; the name of the account if it is not set"),
  enabled: flag().default(connectorDefaults.enabled).describe("whether it is connected"),
  token: secretSchema.optional().describe("the token of the account; required by Telegram and WhatsApp"),
  apiRoot: httpUrl().optional().describe("another address of the channel's API"),
  webhook: section({
    secret: secretSchema.describe(
      "the secret that each call of the channel has; the verify token at Meta; it signs both ways for a webhook channel. The channel then sends messages to `gateway.publicUrl` + `/channels/<name>`",
    ),
  }).optional(),
  sendUrl: httpUrl().optional().describe("of a webhook channel: the address that gets the answers"),
  phoneNumberId: z
    .string({ error: PHONE_NUMBER_ID })
    .regex(/^\d{1,32}$/u, PHONE_NUMBER_ID)
    .optional()
    .describe("of WhatsApp: the id of the phone number at Meta"),
  appSecret: secretSchema.optional().describe("of WhatsApp: the secret of the app, which signs webhooks"),
  pairPhone: z
    .string({ error: PAIR_PHONE })
    .regex(/^\d{6,20}$/u, PAIR_PHONE)
    .optional()
    .describe(
      "of WhatsApp Web: the number of the phone, in digits; it is linked with a code to type instead of one to scan",
    ),
  template: section({
    name: text("the name of a template").describe(
      "of WhatsApp: the approved template that carries texts after 24 hours",
    ),
    language: text("a language, such as en_US").describe("the language of the template, such as `en_US`"),
  }).optional(),
  readMarks: flag()
    .default(connectorDefaults.readMarks)
    .describe("of WhatsApp: whether accepted messages are marked as read"),
  linkPreviews: flag()
    .default(connectorDefaults.linkPreviews)
    .describe(
      "of Telegram and WhatsApp: whether the channel may fetch addresses in what agents write to show a preview",
    ),
  drafts: flag()
    .default(connectorDefaults.drafts)
    .describe(
      "whether a run is shown while it works: in private chats a draft with a Stop button, in groups one status message",
    ),
  reactions: flag().default(connectorDefaults.reactions).describe("whether accepted messages are marked with 👀"),
  groups: section({
    activation: oneOf(["mention", "always"])
      .default(connectorDefaults.groups.activation)
      .describe("which messages of a group are answered: those that address the bot, or all"),
  }).prefault({}),
});
export type ConnectorAccount = z.output<typeof accountSchema>;

/** What an account of each kind cannot do without. */
const REQUIRED: Readonly<Record<ConnectorKind, readonly (keyof typeof EXPECTED)[]>> = {
  telegram: ["token"],
  whatsapp: ["token", "phoneNumberId", "appSecret", "webhook"],
  "whatsapp-web": [],
  webhook: ["sendUrl", "webhook"],
};

const EXPECTED = {
  token: 'expected a secret: { env: "NAME" } or { file: "path" }',
  appSecret: 'expected a secret: { env: "NAME" } or { file: "path" }',
  phoneNumberId: PHONE_NUMBER_ID,
  sendUrl: "expected the address that gets the answers",
  webhook: 'expected { secret: { env: "NAME" } }',
} as const;

const KIND = `expected a kind (${CONNECTOR_KINDS.map((kind) => `"${kind}"`).join(", ")}), or the kind as the name`;

export const connectorsSchema = named(accountSchema)
  .superRefine((accounts, context) => {
    for (const [name, account] of Object.entries(accounts)) {
      const kind = kindOfAccount(name, account);
      if (kind === undefined) context.addIssue({ code: "custom", path: [name, "kind"], message: KIND });
      for (const key of kind === undefined ? [] : REQUIRED[kind]) {
        if (account[key] !== undefined) continue;
        context.addIssue({ code: "custom", path: [name, key], message: EXPECTED[key] });
      }
      if (name === "default") {
        context.addIssue({
          code: "custom",
          path: [name],
          message: `expected another name than "default", which stands for an account without a name`,
        });
      }
    }
  })
  .prefault({})
  .meta({ description: "accounts on channels, each under a name you choose", page: "channels.md" });
