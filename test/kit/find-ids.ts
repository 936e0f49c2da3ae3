/** Finds what people should not read: session keys, ids of agents and uuids. Their beginnings, which commands take, are allowed. */
const IDS =
  /\bagent:[\w-]+:[^\s,;)]+|\bcron:[0-9a-f]{8}-[^\s,;)]+|\b(?=[a-z]*[0-9])[a-z][a-z0-9]{23}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gu;

export const idsIn = (text: string): readonly string[] => text.match(IDS) ?? [];
