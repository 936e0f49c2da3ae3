import { describe, expect, it } from "vitest";
import { mergePage, pageProblems } from "./module-table.ts";
import type { Traces } from "./trace.ts";

const EMPTY = `text
<!-- figures: written by npm run tool -- walk -->
<!-- end of figures -->
<!-- modules: rows by npm run tool -- walk, sentences by hand -->
<!-- end of modules -->`;
const inbox = "src/engine/inbox/accept.ts";
const commit = "src/engine/commit/submit.ts";
const traces: Traces = {
  terminal: [inbox, commit, inbox, "src/engine/inbox/decide.ts"],
  HTTP: ["src/app/gateway/http/metrics.ts", inbox],
  Telegram: [inbox, "src/core/ids.ts", commit],
};

describe("mergePage", () => {
  it("writes figures, and modules in the order in which a message enters them", () => {
    const page = mergePage(EMPTY, traces);
    expect(page.match(/^\| [a-zA-Z`].*$/gm)).toEqual([
      "| from | files | modules | module switches |",
      "| terminal | 3 | 2 | 2 |",
      "| HTTP | 2 | 2 | 1 |",
      "| Telegram | 3 | 3 | 2 |",
      "| module | terminal | HTTP | Telegram | what it does with the message |",
      "| `src/app/gateway` |  | ● |  |  |",
      "| `src/engine/inbox` | ● | ● | ● |  |",
      "| `src/core` |  |  | ● |  |",
      "| `src/engine/commit` | ● |  | ● |  |",
    ]);
  });

  it("keeps the sentence of a module", () => {
    const page = mergePage(EMPTY, traces).replace(
      "`src/core` |  |  | ● |  |",
      "`src/core` |  |  | ● | ids and names |",
    );
    expect(mergePage(page, traces)).toBe(page);
    expect(mergePage(page, { ...traces, Telegram: [inbox] })).not.toContain("src/core");
  });
});

describe("pageProblems", () => {
  const page = mergePage(EMPTY, traces).replaceAll("|  |\n", "| a sentence |\n");

  it("accepts other files, another order and other figures", () => {
    const other = ["src/engine/commit/apply.ts", inbox, "src/engine/commit/apply.ts"];
    expect(pageProblems(page, { ...traces, terminal: other })).toEqual([]);
  });

  it("names modules that only the table or only a trace has", () => {
    expect(pageProblems(page, { ...traces, HTTP: [inbox, commit] })).toEqual([
      "A message enters src/engine/commit from HTTP; the table does not say so.",
      "No message enters src/app/gateway from HTTP; the table says so.",
      "Run `npm run tool -- walk --write`.",
    ]);
  });

  it("names a module without a sentence", () => {
    expect(pageProblems(page.replace("● | a sentence |\n<!-- end of m", "● |  |\n<!-- end of m"), traces)).toEqual([
      "Write what src/engine/commit does with the message.",
    ]);
  });
});
