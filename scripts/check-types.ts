/**
 * Type-checks the code and, in the same run, each program of the documentation, as part of `npm run check`. A program may leave
 * its variables unused. Files that have not changed since the last run are not checked again.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileName } from "./docs/markdown.ts";
import { ROOT, readPages } from "./docs/pages.ts";

/** "… is declared but never used", of a variable, an import and a type. */
const UNUSED = /: error TS(?:6133|6192|6196):/;
/** A declaration cannot be written. Only the package needs declarations: `npm run build` makes them of `src`. */
const UNDECLARED = /: error TS4\d{3}:/;
const isShipped = (line: string): boolean => /^src\//.test(line) && !/\.(?:test|test-kit)\.ts\(/.test(line);

/** Holds the programs and the compiler's record of the last run. */
const dir = join(ROOT, "node_modules/.cache/rookery-types");
const programs = [...readPages()].flatMap(([path, { blocks }]) =>
  blocks.filter(({ language }) => language === "ts").map(({ line, text }) => ({ at: `${path}:${line}`, text })),
);
if (programs.length === 0) throw new Error("The documentation has no programs.");
mkdirSync(dir, { recursive: true });
for (const old of readdirSync(dir)) if (old.endsWith(".ts")) rmSync(join(dir, old));
writeFileSync(join(dir, "package.json"), JSON.stringify({ type: "module" }));
const files = new Map(programs.map(({ at, text }, n) => [fileName(text) ?? `${n}.ts`, { at, text }]));
if (files.size < programs.length) throw new Error("Two programs of the documentation have one name.");
for (const [name, { text }] of files) writeFileSync(join(dir, name), placed(text));
const { include } = JSON.parse(readFileSync(join(ROOT, "tsconfig.json"), "utf8")) as { include: readonly string[] };
const config = {
  extends: join(ROOT, "tsconfig.json"),
  compilerOptions: { declaration: true, incremental: true, tsBuildInfoFile: "./last.tsbuildinfo" },
  include: ["./*.ts", ...include.map((path) => join(ROOT, path))],
};
writeFileSync(join(dir, "tsconfig.json"), JSON.stringify(config));
const tsc = join(ROOT, "node_modules/.bin/tsc");
const { status, stdout, stderr } = spawnSync(tsc, ["--noEmit", "--pretty", "false", "-p", dir], {
  cwd: ROOT,
  encoding: "utf8",
  maxBuffer: 1 << 28,
});
const found = stdout.split("\n").filter(Boolean);
const problems = found.flatMap((line) => {
  const name = new RegExp(`${dir.split("/").at(-1)}/([\\w-]+\\.ts)`).exec(line)?.[1];
  if (UNDECLARED.test(line) && !isShipped(line)) return [];
  if (name === undefined) return [line];
  return UNUSED.test(line) ? [] : [`${files.get(name)?.at}: ${line}`];
});
for (const line of problems) console.error(line);
if (stderr !== "") console.error(stderr);
if (problems.length > 0 || (status !== 0 && found.length === 0)) process.exitCode = 1;

/** A program whose first line is `// src/…/x.ts` is checked as if it were in that file. */
function placed(text: string): string {
  const file = /^\/\/ (src\/\S+\.ts)/.exec(text)?.[1];
  if (file === undefined) return text;
  return text.replace(/(from |import\()"(\.[^"]+)"/g, (_, how: string, specifier: string) => {
    const target = posix.relative(dir, join(ROOT, posix.join(dirname(file), specifier)));
    return `${how}"${target}"`;
  });
}
