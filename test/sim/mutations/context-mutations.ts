/** Deliberately broken compaction around the real engine, through a store with the effect of a careless change. */

import type { Ports } from "../../../src/core/ports/ports.ts";
import type { Op } from "../../../src/core/store/change.ts";
import type { Mutation } from "./mutations.ts";

interface Record {
  readonly type?: string;
  readonly id?: string;
  readonly parentId?: string;
  readonly firstKeptEntryId?: string;
  readonly details?: { readonly covered?: { readonly from: string } };
}

export const CONTEXT_MUTATIONS: readonly Mutation[] = [
  {
    name: "tail not kept",
    about: "a compaction keeps only the last entry, although it reports that it covers less",
    law: "L10",
    scenario: "compaction",
    ports: writingLines((line) => ({ ...line, firstKeptEntryId: line.parentId })),
  },
  {
    name: "second compaction behind the first",
    about: "the next compaction begins after the entries that the one before kept",
    law: "L10",
    scenario: "compaction",
    ports: readingLines((line) => ({ ...line, firstKeptEntryId: line.id })),
  },
  {
    name: "compaction passed over",
    about: "a context is built as if it had never been compacted",
    law: "L10",
    scenario: "compaction",
    ports: readingLines((line) => ({ ...line, type: "custom", name: "x" })),
  },
  {
    name: "measures forgotten",
    about: "a run does not know which measures it has taken since its last answer",
    law: "L10",
    scenario: "overflows",
    from: 48,
    ports: readingLines((line) => ({ ...line, details: { ...line.details, runId: "another" } })),
  },
  {
    name: "measure without effect",
    about: "a compaction leaves every entry in the context, so that no measure makes it smaller",
    law: "L10",
    scenario: "long-runs",
    ports: readingLines((line) => ({
      ...line,
      firstKeptEntryId: line.details?.covered?.from ?? line.firstKeptEntryId,
    })),
  },
  {
    name: "summary paid for twice",
    about: "a second summary is requested while the first is being written",
    law: "M15",
    scenario: "background",
    ports: (ports) => ({
      ...ports,
      model: {
        ...ports.model,
        call: async (request, signal, onEvent) => {
          if (request.system.startsWith("You summarise")) void ports.model.call(request, signal, onEvent);
          return ports.model.call(request, signal, onEvent);
        },
      },
    }),
  },
  {
    name: "flush not counted",
    about: "the memory flush is not recorded",
    law: "L10",
    scenario: "flush",
    ports: rewriting((op) => {
      if (op.op !== "state.put") return op;
      const { memoryFlushCompactionCount: _, ...state } = op.state;
      return { ...op, state: state as typeof op.state };
    }),
  },
];

function rewriting(rewrite: (op: Op) => Op): (ports: Ports) => Ports {
  return (ports) => ({
    ...ports,
    store: { ...ports.store, commit: (change) => ports.store.commit({ ...change, ops: change.ops.map(rewrite) }) },
  });
}

const changed = (line: string, change: (record: Record) => object): string => {
  const record = JSON.parse(line) as Record;
  return record.type === "compaction" ? JSON.stringify(change(record)) : line;
};

function writingLines(change: (record: Record) => object): (ports: Ports) => Ports {
  return rewriting((op) =>
    op.op === "entries.append" ? { ...op, lines: op.lines.map((line) => changed(line, change)) } : op,
  );
}

function readingLines(change: (record: Record) => object): (ports: Ports) => Ports {
  return (ports) => ({
    ...ports,
    store: {
      ...ports.store,
      linesBack: async (agentId, page) =>
        (await ports.store.linesBack(agentId, page)).map((one) => ({ ...one, line: changed(one.line, change) })),
    },
  });
}
