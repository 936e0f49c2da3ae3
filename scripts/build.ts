/** `npm run build`: builds the published package in `dist/`: JavaScript and types from tsc, the SQL, lock and schema files beside them, and the control room. */
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildWeb } from "./build-web.ts";

const root = join(import.meta.dirname, "..");
const source = join(root, "src");
const target = join(root, "dist");

/** If the compiler fails, ends the process with its exit code. */
function compile(): void {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const { status, error } = spawnSync(process.execPath, [tsc, "--project", join(root, "tsconfig.build.json")], {
    stdio: "inherit",
  });
  if (error) console.error(error.message);
  if (status !== 0) process.exit(status ?? 1);
}

/** Copies the files that the sources read at run time to the same paths in `dist`. */
function copyData(): number {
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((name) =>
    /\.(?:sql|lock\.json|schema\.json)$/.test(name),
  );
  for (const file of files) {
    mkdirSync(dirname(join(target, file)), { recursive: true });
    copyFileSync(join(source, file), join(target, file));
  }
  return files.length;
}

rmSync(target, { recursive: true, force: true });
compile();
const copied = copyData();
await buildWeb(join(target, "web"));
for (const file of ["bin.js", "main.js"]) chmodSync(join(target, file), 0o755);
console.log(`built dist/ with ${copied} SQL, lock and schema files and the control room`);
