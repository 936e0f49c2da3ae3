/** Files: what a message refers to is there with its bytes, what nothing refers to goes, and no one has more than the quota. */
import { broken, type View, type Violation } from "./audit-view.ts";

export function files(view: View): readonly Violation[] {
  const { files: evidence, listed } = view;
  if (!evidence) return [];
  const { rows, blobs, quotaBytes, oldest } = evidence;
  const byId = new Map(rows.map((row) => [row.id, row]));
  const named = new Set<string>();
  const violations: Violation[] = [];
  for (const { messages } of listed) {
    for (const { id, body } of messages) {
      for (const file of (body.kind === "user" && body.files) || []) {
        named.add(file.id);
        const row = byId.get(file.id);
        if (!row) violations.push(broken("files", `message ${id} refers to ${file.name}, which is no longer stored`));
        else if (!blobs.has(row.blob)) violations.push(broken("files", `${file.name} of message ${id} has no bytes`));
      }
    }
  }
  const used = new Map<string, number>();
  for (const { behalf, size, id, name, createdAt } of rows) {
    used.set(behalf.person, (used.get(behalf.person) ?? 0) + size);
    if (!named.has(id) && createdAt < oldest)
      violations.push(broken("files", `${name} is kept, and nothing refers to it`));
  }
  for (const [person, bytes] of used) {
    if (bytes > quotaBytes) violations.push(broken("files", `${person} has ${bytes} bytes of ${quotaBytes}`));
  }
  const known = new Set(rows.flatMap(({ blob, shown }) => ("blob" in shown ? [blob, shown.blob] : [blob])));
  for (const blob of goneBlobs(view)) {
    if (blobs.has(blob) && !known.has(blob)) violations.push(broken("files", `the bytes ${blob} are left behind`));
  }
  return violations;
}

/** Bytes that the store said are never used again, and then that they are deleted. */
const goneBlobs = ({ applied }: View): readonly string[] =>
  applied.flatMap(({ change }) => change.ops.flatMap((op) => (op.op === "file.gone" ? op.blobs : [])));
