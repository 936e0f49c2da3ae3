/** The mistakes that `npm run mutate` makes, the samples it draws, and the switches that turn mutants on. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { mutated } from "./mutant.ts";
import { allMutants, folderOf, sampled } from "./plan.ts";
import { sqlMutants } from "./sql-mutants.ts";
import { switched } from "./switch-mutants.ts";
import { parse } from "./syntax.ts";
import { typescriptMutants } from "./typescript-mutants.ts";

const ROOT = new URL("../..", import.meta.url).pathname.replace(/\/$/, "");

describe("a mistake in TypeScript", () => {
  test.each([
    ["guard dropped", "function f(a) { if (a) return; g(); }", "function f(a) { if (false) return; g(); }"],
    ["two effects swapped", "function f() { save(); send(); }", "function f() { send();\nsave(); }"],
    ["await forgotten", "async function f() { await save(); }", "async function f() { void save(); }"],
    ["flag not cleared", "function f() { busy = false; }", "function f() { undefined; }"],
    ["boundary moved", "const late = a < b;", "const late = a <= b;"],
    ["boundary moved", "const page = 100;", "const page = (100 - 1);"],
    [
      "branch of a union left out",
      'switch (a) { case "x": f(); break; }',
      'switch (a) { case ("x" + "?"): f(); break; }',
    ],
    ["signal ignored", "f({ signal: abort.signal });", "f({ signal: undefined });"],
    ["default lost", "const a = b ?? 1;", "const a = b;"],
    ["one of two conditions enough", "const a = b && c;", "const a = b || c;"],
    ["not cancelled or released", "function f() { clearTimeout(timer); }", "function f() { ; }"],
    ["the wrong one of two", "f(runId, agentId);", "f(agentId, agentId);"],
    [
      "SQL: condition left out",
      "const q = `SELECT 1 FROM a WHERE b = 1\n AND c = 2\n`;",
      "const q = `SELECT 1 FROM a WHERE b = 1\n \n`;",
    ],
  ])("%s: %s", (operator, source, wanted) => {
    const made = typescriptMutants("x.ts", source).filter((one) => one.operator === operator);
    expect(made.map((one) => mutated(source, one))).toContain(wanted);
  });

  test.each(["this.#a = a; this.#b = new B(b);", "known.delete(id); this.#waiting.set(id, at);"])(
    "does not swap two independent effects: %s",
    (effects) => {
      const made = typescriptMutants("x.ts", `function f() { ${effects} }`);
      expect(made.filter((one) => one.operator === "two effects swapped")).toEqual([]);
    },
  );

  test.each(["this.#a = a; this.#b = new B(this.#a);", "known.delete(id); await save();", "a = next(); b = next();"])(
    "swaps two effects if one may depend on the other: %s",
    (effects) => {
      const made = typescriptMutants("x.ts", `async function f() { ${effects} }`);
      expect(made.filter((one) => one.operator === "two effects swapped")).toHaveLength(1);
    },
  );

  test("keeps the parentheses of the compared values", () => {
    const made = typescriptMutants("x.ts", "const late = (a ?? 0) > b;");
    expect(made.map((one) => one.replacement)).toContain("(a ?? 0) >= b");
  });

  test("is never in the message of an error, in a log or in a type", () => {
    const source = 'import a from "b";\ntype T = 1 | 2;\nthrow new UsageError("wants " + 1);\nlog.warn("late", 2);';
    expect(typescriptMutants("x.ts", source)).toEqual([]);
  });

  test("leaves a file that can be parsed, at every place", () => {
    const file = "src/engine/inbox/decide.ts";
    const source = readFileSync(`${ROOT}/${file}`, "utf8");
    const mutants = typescriptMutants(file, source);
    expect(mutants.length).toBeGreaterThan(50);
    for (const one of mutants.slice(0, 60)) expect(() => parse(mutated(source, one)), one.id).not.toThrow();
    expect(new Set(mutants.map((one) => one.id)).size).toBe(mutants.length);
  });
});

describe("a mistake in SQL", () => {
  test.each([
    ["SQL: lock left out", "SELECT 1 FROM a FOR UPDATE SKIP LOCKED;", "SELECT 1 FROM a ;"],
    ["SQL: order turned round", "SELECT 1 FROM a ORDER BY b;", "SELECT 1 FROM a ORDER BY b DESC;"],
    ["SQL: guard dropped", "IF a > b THEN RETURN; END IF;", "IF false THEN RETURN; END IF;"],
    ["SQL: boundary moved", "WHERE a <= b", "WHERE a < b"],
    ["SQL: negation dropped", "WHERE a IS NOT NULL", "WHERE a IS NULL"],
  ])("%s: %s", (operator, source, wanted) => {
    const made = sqlMutants("x.sql", source).filter((one) => one.operator === operator);
    expect(made.map((one) => mutated(source, one))).toContain(wanted);
  });

  test("is never in a comment", () => {
    expect(sqlMutants("x.sql", "-- WHERE a <= b AND c IS NULL\n")).toEqual([]);
  });
});

describe("a sample", () => {
  const all = allMutants(ROOT, ["src/core/people", "src/engine/inbox", "web/src/ui"]);
  const ids = (seed: number): readonly string[] => sampled(ROOT, all, 20, seed).map((one) => one.id);

  test("has as many mutants of each folder as asked for, also of the control room", () => {
    const folders = Map.groupBy(sampled(ROOT, all, 20, 1), ({ file }) => folderOf(file));
    expect([...folders].map(([folder, { length }]) => [folder, length])).toEqual([
      ["src/core/people", 20],
      ["src/engine/inbox", 20],
      ["web/src/ui", 20],
    ]);
  });

  test("repeats with its seed, differs from that of another, and holds no mutant twice", () => {
    expect(ids(1)).toEqual(ids(1));
    expect(ids(1)).not.toEqual(ids(2));
    expect(new Set(ids(1)).size).toBe(60);
  });
});

describe("many mutants behind switches", () => {
  const numbered = (file: string, source: string) =>
    typescriptMutants(file, source).map((mutant, number) => ({ mutant, number }));
  const source = `
    const LIMIT = 2;
    const f = (a, { b = 5, ...rest } = {}) => {
      const out = [];
      out.push(a);
      out.push(b);
      if (a > LIMIT && !rest.quiet) return { out, a };
      switch (a) { case 1: out.push("one"); break; default: out.push(\`\${a ?? "none"}\`); }
      return { ...rest, out: out.filter((each) => each !== undefined) };
    };
    globalThis.f = f;`;
  const inputs = [[1], [2, {}], [3, { b: 1 }], [undefined, { b: undefined, c: 4 }], [3, { quiet: true }]];

  /** Runs the program with one switch on and returns its results as text. */
  const outcome = (text: string, on: number | undefined): string => {
    const constants = new Map<number, (on: boolean) => void>();
    const world = {
      f: undefined as ((...all: unknown[]) => unknown) | undefined,
      rookerySwitch: (number: number) => number === on,
      rookeryConstant: (numbers: readonly number[], assign: (on: boolean) => void) => {
        for (const number of numbers) constants.set(number, assign);
      },
    };
    new Function("globalThis", text)(world);
    if (on !== undefined) constants.get(on)?.(true);
    return inputs.map((input) => attempt(() => JSON.stringify(world.f?.(...input)))).join("\n");
  };
  const attempt = (run: () => string): string => {
    try {
      return run();
    } catch (error) {
      return String(error);
    }
  };

  test("do nothing while every switch is off, and what the mutant does when its switch is on", () => {
    const all = numbered("x.ts", source);
    const { source: text, unplaced, constants } = switched(source, all);
    expect(outcome(text, undefined)).toBe(outcome(source, undefined));
    expect(constants.length).toBeGreaterThan(0);
    expect(unplaced.length).toBeLessThan(all.length / 5);
    for (const one of all.filter((each) => !unplaced.includes(each))) {
      expect(outcome(text, one.number), one.mutant.id).toBe(outcome(mutated(source, one.mutant), undefined));
    }
  });

  test("leave every source parsable", () => {
    for (const folder of ["src/core/people", "src/adapters/store/sqlite/deliveries.ts"]) {
      for (const [file, all] of Map.groupBy(allMutants(ROOT, [folder]), (one) => one.file)) {
        const text = readFileSync(`${ROOT}/${file}`, "utf8");
        const readable = all.filter((one) => attempt(() => parse(mutated(text, one)).type) === "Program");
        const { source: changed } = switched(
          text,
          readable.map((mutant, number) => ({ mutant, number })),
        );
        expect(() => parse(changed), file).not.toThrow();
      }
    }
  });
});
