/** The search index broken: what it is given, or how it writes. Each is found by comparing it with the history. */
import type { IndexParts } from "../world/index-follower.ts";
import type { Mutation } from "./mutations.ts";

const search = { law: "M35", scenario: "search", from: 3 } as const;

export const SEARCH_MUTATIONS: readonly (Mutation & { readonly index: (parts: IndexParts) => IndexParts })[] = [
  {
    ...search,
    name: "mark before the lines",
    about: "how far the index has come is written before what it has read",
    index: ({ index, source }) => ({
      source,
      index: {
        ...index,
        transaction(act) {
          const { last } = source.bounds();
          index.putMeta("change", String(last));
          index.putMeta("changeId", source.changeId(last) ?? "");
          index.transaction(act);
        },
      },
    }),
  },
  {
    ...search,
    name: "lines without their position",
    about: "lines and the position behind them are not one transaction, so a crash in between adds them twice",
    index: ({ index, source }) => ({ source, index: { ...index, transaction: (act) => act() } }),
  },
  {
    ...search,
    name: "skipped on restart",
    about: "a restart begins with the newest change",
    index({ index, source }) {
      const { last } = source.bounds();
      if (index.meta("change") !== undefined) {
        index.putMeta("change", String(last));
        index.putMeta("changeId", source.changeId(last) ?? "");
      }
      return { index, source };
    },
  },
  {
    ...search,
    name: "gap in the log overlooked",
    about: "changes that are missing from the log are taken for read",
    index: ({ index, source }) => ({
      index,
      source: {
        ...source,
        changeId: (n) => source.changeId(n) ?? index.meta("changeId"),
        changesAfter(n, limit) {
          const [first, ...others] = source.changesAfter(n, limit);
          return first ? [{ ...first, n: n + 1 }, ...others] : [];
        },
      },
    }),
  },
  {
    ...search,
    name: "removed agents stay",
    about: "what a removed agent said is still found",
    index: ({ index, source }) => ({ source, index: { ...index, removeWhere() {} } }),
  },
  {
    ...search,
    name: "last line again",
    about: "each reading begins with the last line that is there already",
    index: ({ index, source }) => ({
      index,
      source: { ...source, lines: (no, from, limit) => source.lines(no, Math.max(0, from - 1), limit) },
    }),
  },
];
