/** The file store broken around the engine: each names the check that must find it. */
import { type BreakPorts, committing, reading, rewriting } from "./break-ports.ts";
import type { Mutation } from "./mutations.ts";

const files = { law: "files", scenario: "files" } as const;

export const FILE_MUTATIONS: readonly (Mutation & { readonly ports: BreakPorts })[] = [
  {
    ...files,
    name: "references not counted",
    about: "a message does not hold its files, so the sweep removes them",
    ports: committing((store, change) =>
      store.commit({ ...change, ops: change.ops.map((op) => (op.op === "file.hold" ? { ...op, files: [] } : op)) }),
    ),
  },
  {
    ...files,
    name: "held by a message that comes again",
    about: "a message that was accepted without its file holds it when it is delivered again",
    scenario: "files-nodes",
    from: 80,
    ports: rewriting((op) => (op.op === "file.hold" ? { ...op, ifPosted: undefined } : op)),
  },
  {
    ...files,
    name: "row without bytes",
    about: "the bytes are acknowledged and not written",
    ports: (ports) => ({ ...ports, files: { ...ports.files, write: async (name: string) => name } }),
  },
  {
    ...files,
    name: "quota only read",
    about: "uploads at the same moment are checked before, and not in their commit",
    ports: (ports) =>
      reading(() => ({ fileBytes: async () => 0 }))(
        rewriting((op) => (op.op === "file.put" ? { ...op, quota: Number.MAX_SAFE_INTEGER } : op))(ports),
      ),
  },
  {
    ...files,
    name: "bytes left behind",
    about: "the sweep says that bytes are deleted and leaves them",
    ports: (ports) => ({ ...ports, files: { ...ports.files, remove: async () => {} } }),
  },
];
