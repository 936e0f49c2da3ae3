/** The accounts on channels: bots and other accounts that the engine starts, each under a name that the person chooses. */
import type { z } from "zod";
import { secretSchema } from "../secret.ts";
import { flag, httpUrl, named, oneOf, section, wholeNumber } from "../values.ts";

export const CONNECTOR_KINDS = ["telegram"] as const;
export type ConnectorKind = (typeof CONNECTOR_KINDS)[number];

export const connectorDefaults = {
  enabled: true,
  pollSeconds: 30,
  rich: "auto",
  drafts: true,
  reactions: true,
  groups: { activation: "mention", history: 30 },
  maxFileMb: 20,
} as const;

const accountSchema = section({
  /** Absent: the name of the entry. */
  kind: oneOf(CONNECTOR_KINDS).optional(),
  enabled: flag().default(connectorDefaults.enabled),
  token: secretSchema.optional(),
  apiRoot: httpUrl().optional(),
  pollSeconds: wholeNumber(0, 50).default(connectorDefaults.pollSeconds),
  webhook: section({
    url: httpUrl().optional(),
    secret: secretSchema,
  }).optional(),
  rich: oneOf(["auto", "off"]).default(connectorDefaults.rich),
  drafts: flag().default(connectorDefaults.drafts),
  reactions: flag().default(connectorDefaults.reactions),
  groups: section({
    activation: oneOf(["mention", "always"]).default(connectorDefaults.groups.activation),
    history: wholeNumber(0, 200).default(connectorDefaults.groups.history),
  }).prefault({}),
  maxFileMb: wholeNumber(1, 2_000).default(connectorDefaults.maxFileMb),
});
export type ConnectorAccount = z.output<typeof accountSchema>;

/** The kind of an entry: as it says, or its own name. */
export const kindOfAccount = (name: string, { kind }: Pick<ConnectorAccount, "kind">): ConnectorKind | undefined =>
  kind ?? CONNECTOR_KINDS.find((known) => known === name);

/** The account that an entry's messages name; undefined for the entry that is called like its kind. */
export const accountIdOf = (name: string, kind: ConnectorKind): string | undefined =>
  name === kind ? undefined : name;

const KIND = `expected a kind (${CONNECTOR_KINDS.map((kind) => `"${kind}"`).join(", ")}), or the kind as the name`;

export const connectorsSchema = named(accountSchema)
  .superRefine((accounts, context) => {
    for (const [name, account] of Object.entries(accounts)) {
      if (kindOfAccount(name, account) === undefined) {
        context.addIssue({ code: "custom", path: [name, "kind"], message: KIND });
      } else if (account.token === undefined) {
        context.addIssue({
          code: "custom",
          path: [name, "token"],
          message: 'expected a secret: { env: "NAME" } or { file: "path" }',
        });
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
