/**
 * Builds the control room from `web/`. `node scripts/build-web.ts DIR` builds it into a directory. Without an argument it builds into
 * a cache, once for each content of the sources, and prints the directory: a gateway that runs from a clone serves it from there.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "vite";

const ROOT = join(import.meta.dirname, "..");
const SOURCES = [
  "web",
  "src/app/client",
  "src/core",
  "src/client-browser.ts",
  "package-lock.json",
  "scripts/build-web.ts",
];

export async function buildWeb(outDir: string): Promise<void> {
  await build({
    root: join(ROOT, "web"),
    configFile: false,
    logLevel: "error",
    base: "./",
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    build: {
      outDir: resolve(outDir),
      emptyOutDir: true,
      assetsInlineLimit: 0,
      // One sheet of styles and no list of what to load first: both cost more than they save on a page this small.
      cssCodeSplit: false,
      modulePreload: false,
    },
  });
}

/** Changes when a source changes. */
function digest(): string {
  const hash = createHash("sha256");
  const files = SOURCES.flatMap((source) => {
    const path = join(ROOT, source);
    if (/\.\w+$/.test(source)) return [path];
    const names = readdirSync(path, { recursive: true, withFileTypes: true });
    return names.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
  });
  for (const file of files.sort()) hash.update(file.slice(ROOT.length)).update(readFileSync(file));
  return hash.digest("hex").slice(0, 16);
}

/** Two processes may build at the same time: each in a directory of its own, and one of them is renamed. */
async function buildOnce(): Promise<string> {
  const cache = join(ROOT, "node_modules", ".cache", "rookery-web");
  const dir = join(cache, digest());
  if (existsSync(join(dir, "index.html"))) return dir;
  mkdirSync(cache, { recursive: true });
  const own = mkdtempSync(join(cache, "building-"));
  await buildWeb(own);
  try {
    renameSync(own, dir);
  } catch {
    rmSync(own, { recursive: true, force: true });
  }
  return dir;
}

if (import.meta.main) {
  const [target] = process.argv.slice(2);
  if (target === undefined) console.log(await buildOnce());
  else await buildWeb(target);
}
