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
  /** Absent: the name of the entry. */
  kind: oneOf(CONNECTOR_KINDS).optional(),
  enabled: flag().default(connectorDefaults.enabled),
  token: secretSchema.optional(),
  apiRoot: httpUrl().optional(),
  webhook: section({ secret: secretSchema }).optional(),
  sendUrl: httpUrl().optional(),
  phoneNumberId: z
    .string({ error: PHONE_NUMBER_ID })
    .regex(/^\d{1,32}$/u, PHONE_NUMBER_ID)
    .optional(),
  appSecret: secretSchema.optional(),
  pairPhone: z
    .string({ error: PAIR_PHONE })
    .regex(/^\d{6,20}$/u, PAIR_PHONE)
    .optional(),
  template: section({ name: text("the name of a template"), language: text("a language, such as en_US") }).optional(),
  readMarks: flag().default(connectorDefaults.readMarks),
  linkPreviews: flag().default(connectorDefaults.linkPreviews),
  drafts: flag().default(connectorDefaults.drafts),
  reactions: flag().default(connectorDefaults.reactions),
  groups: section({
    activation: oneOf(["mention", "always"]).default(connectorDefaults.groups.activation),
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
  .prefault({});
