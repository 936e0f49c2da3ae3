/**
 * The mistakes that `npm run mutate` makes in SQL, in `.sql` files and in the texts of statements: conditions, boundaries,
 * order, limits, locks, values.
 */
import { asMutants, type Edit, type Mutant } from "./mutant.ts";

interface Rule {
  readonly operator: string;
  readonly pattern: RegExp;
  readonly replace: (found: RegExpExecArray) => string;
}

const RULES: readonly Rule[] = [
  { operator: "condition left out", pattern: /\bAND\s+[^\n;]*(?=\n)/g, replace: () => "" },
  { operator: "one of two conditions enough", pattern: /\bAND\b/g, replace: () => "OR" },
  {
    operator: "boundary moved",
    pattern: /<=|>=|(?<![<>=-])[<>](?![<>=])/g,
    replace: ([sign]) => (sign.length === 2 ? sign.slice(0, 1) : `${sign}=`),
  },
  {
    operator: "order turned round",
    pattern: /\bORDER BY ([\w.]+)(?=[\s,;)])(?!\s+DESC)/g,
    replace: ([all]) => `${all} DESC`,
  },
  { operator: "lock left out", pattern: /\bFOR UPDATE(?: SKIP LOCKED)?\b/g, replace: () => "" },
  { operator: "negation dropped", pattern: /\bIS NOT NULL\b/g, replace: () => "IS NULL" },
  { operator: "negation added", pattern: /\bIS NULL\b/g, replace: () => "IS NOT NULL" },
  { operator: "negation dropped", pattern: /\bNOT EXISTS\b/g, replace: () => "EXISTS" },
  { operator: "guard dropped", pattern: /\bIF ([^;\n]+) THEN\b/g, replace: () => "IF false THEN" },
  { operator: "default lost", pattern: /\bCOALESCE\(([\w.]+), *[^()]+\)/gi, replace: ([, first]) => first ?? "" },
  { operator: "conflict not handled", pattern: /\bON CONFLICT[^;]*DO NOTHING\b/g, replace: () => "" },
  {
    operator: "boundary moved",
    // Not the 1 of `EXISTS (SELECT 1 …)` or of rows that are only counted (`RETURNING 1`): its value is unused.
    pattern: /(?<=[\s(])(?<!\b(?:SELECT|RETURNING) )\d+(?=[\s;,)])/g,
    replace: ([number]) => String(Number(number) + 1),
  },
];

export function sqlMutants(file: string, source: string): readonly Mutant[] {
  return asMutants(file, source, sqlEdits(source, 0));
}

/** The mistakes in one piece of SQL that begins at a position of its file. */
export function sqlEdits(text: string, begin: number): readonly Edit[] {
  const code = text.replace(/--[^\n]*/g, (comment) => " ".repeat(comment.length));
  const edits: Edit[] = [];
  for (const { operator, pattern, replace } of RULES) {
    for (const found of code.matchAll(pattern)) {
      const start = begin + found.index;
      edits.push({ operator: `SQL: ${operator}`, start, end: start + found[0].length, replacement: replace(found) });
    }
  }
  return edits.toSorted((one, other) => one.start - other.start);
}
