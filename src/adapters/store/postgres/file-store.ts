/** The table `files`: files in the shared database, so that every node finds them. A path to one begins with `store:`. */
import { InvalidInputError } from "../../../core/errors.ts";
import type { BlobStore } from "../../../core/ports/ports.ts";
import type { Statement } from "./batched-reads.ts";
import type { Connections } from "./connections.ts";

const PREFIX = "store:";
const SELECT: Statement = { name: "select-file", text: "SELECT content FROM files WHERE path = $1" };
const PUT =
  "INSERT INTO files (path, content) VALUES ($1, $2) ON CONFLICT (path) DO UPDATE SET content = excluded.content, written_at = now()";

const REMOVE = "DELETE FROM files WHERE path = $1";

function nameIn(path: string): string {
  if (!path.startsWith(PREFIX)) throw new InvalidInputError(`"${path}" is not in the file store.`);
  return path.slice(PREFIX.length);
}

export function databaseFileStore(connections: Connections): BlobStore {
  return {
    async write(name, content) {
      if (name === "" || /[/\\\0]/.test(name)) throw new InvalidInputError(`"${name}" is not a file name.`);
      await connections.use("read", (client) => client.query(PUT, [name, Buffer.from(content as string)]));
      return `${PREFIX}${name}`;
    },
    pathOf: (name) => `${PREFIX}${name}`,
    async remove(path) {
      const name = nameIn(path);
      await connections.use("read", (client) => client.query(REMOVE, [name]));
    },
    async read(path) {
      const row = await connections.one<{ content: Buffer }>(SELECT, nameIn(path));
      return row && new Uint8Array(row.content);
    },
  };
}
