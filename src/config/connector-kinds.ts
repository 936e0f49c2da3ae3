/** The kinds of accounts on channels, and how an entry of the configuration names its kind and its account. */

export const CONNECTOR_KINDS = ["telegram", "whatsapp", "whatsapp-web", "webhook"] as const;
export type ConnectorKind = (typeof CONNECTOR_KINDS)[number];

/** The kind of an entry: as it says, or its own name. */
export const kindOfAccount = (name: string, { kind }: { readonly kind?: ConnectorKind }): ConnectorKind | undefined =>
  kind ?? CONNECTOR_KINDS.find((known) => known === name);

/** The account that an entry's messages name; undefined for the entry that is called like its kind. */
export const accountIdOf = (name: string, kind: ConnectorKind): string | undefined =>
  name === kind ? undefined : name;
