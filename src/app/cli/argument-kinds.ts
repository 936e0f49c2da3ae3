/** What the arguments of an action are, from its usage: `<agent id, key or name> [entry id]`. Short ids and completion use it. */

const ARGUMENT_KINDS = [
  "agent",
  "run",
  "delivery",
  "job",
  "model",
  "person",
  "provider",
  "file",
  "shell",
  "key",
  "skill",
] as const;
export type ArgumentKind = (typeof ARGUMENT_KINDS)[number];

/** The kind of the argument at an index; undefined if its name is none of the known ones. */
export function argumentKind(usage: string | undefined, index: number): ArgumentKind | undefined {
  // Each part begins with the name of an argument; the first part is what stands before all of them.
  const name = (usage ?? "").split(/[<[]/)[index + 1] ?? "";
  const [first = ""] = name.split(/[ >\]]/, 1);
  return ARGUMENT_KINDS.find((kind) => kind === first);
}
