/**
 * The tables of docs/internals/message-path.md: the figures, and a row for each module that a message enters, with a sentence that people write.
 * A sentence stays with its module when the table is written again.
 */
import { figuresOf, mergeOrders, modulesOf, SURFACES, type Surface, type Traces } from "./trace.ts";

const FIGURES = ["<!-- figures: written by npm run tool -- walk -->", "<!-- end of figures -->"] as const;
const MODULES = [
  "<!-- modules: rows by npm run tool -- walk, sentences by hand -->",
  "<!-- end of modules -->",
] as const;
const ENTERS = "●";

interface Row {
  readonly module: string;
  readonly surfaces: readonly Surface[];
  readonly sentence: string;
}

/** The page with the rows and figures of these traces. A new module has an empty sentence. */
export function mergePage(page: string, traces: Traces): string {
  const sentences = new Map(readRows(page).map(({ module, sentence }) => [module, sentence]));
  const rows = walkedRows(traces).map(({ module, surfaces }) => {
    const marks = SURFACES.map((surface) => (surfaces.includes(surface) ? ENTERS : ""));
    return [`\`${module}\``, ...marks, sentences.get(module) ?? ""];
  });
  const modules = table(["module", ...SURFACES, "what it does with the message"], rows);
  const figures = table(
    ["from", "files", "modules", "module switches"],
    SURFACES.map((surface) => {
      const { files, modules, switches } = figuresOf(traces[surface]);
      return [surface, String(files), String(modules), String(switches)];
    }),
  );
  return replaceBlock(replaceBlock(page, MODULES, modules), FIGURES, figures);
}

/** Compares the table of modules with the traces; each problem is a line. Order and figures are not compared: work that starts together may vary. */
export function pageProblems(page: string, traces: Traces): readonly string[] {
  const rows = readRows(page);
  const walked = walkedRows(traces);
  const pairs = (from: readonly Row[]): readonly string[] =>
    from.flatMap(({ module, surfaces }) => surfaces.map((surface) => `${module} from ${surface}`));
  const [shown, found] = [pairs(rows), pairs(walked)];
  const different = [
    ...found
      .filter((pair) => !shown.includes(pair))
      .map((pair) => `A message enters ${pair}; the table does not say so.`),
    ...shown.filter((pair) => !found.includes(pair)).map((pair) => `No message enters ${pair}; the table says so.`),
  ];
  return [
    ...different,
    ...(different.length > 0 ? ["Run `npm run tool -- walk --write`."] : []),
    ...rows
      .filter(({ sentence }) => sentence === "")
      .map(({ module }) => `Write what ${module} does with the message.`),
  ];
}

const walkedRows = (traces: Traces): readonly Row[] =>
  mergeOrders(SURFACES.map((surface) => modulesOf(traces[surface]))).map((module) => ({
    module,
    surfaces: SURFACES.filter((surface) => modulesOf(traces[surface]).includes(module)),
    sentence: "",
  }));

function readRows(page: string): readonly Row[] {
  const { start, end } = findBlock(page, MODULES);
  return page
    .slice(start, end)
    .split("\n")
    .flatMap((line) => {
      const [, name = "", ...cells] = line.split("|").map((cell) => cell.trim());
      const module = /^`(.+)`$/.exec(name)?.[1];
      if (module === undefined) return [];
      return [
        {
          module,
          surfaces: SURFACES.filter((_, at) => cells[at] === ENTERS),
          sentence: cells[SURFACES.length] ?? "",
        },
      ];
    });
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

function replaceBlock(page: string, block: readonly [string, string], text: string): string {
  const { start, end } = findBlock(page, block);
  return `${page.slice(0, start)}\n${text}\n${page.slice(end)}`;
}

function findBlock(page: string, [open, close]: readonly [string, string]): { start: number; end: number } {
  const [at, end] = [page.indexOf(open), page.indexOf(close)];
  if (at < 0 || end < at) throw new Error(`The page has no block "${open}" … "${close}".`);
  return { start: at + open.length, end };
}
