/** A directory with a package that says it is the pinned `baileys`, for `ROOKERY_PACKAGES`: the program loads it as it loads the real one. */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { lockOf, OPTIONAL_PACKAGES } from "../../src/adapters/connectors/packages/optional-package.ts";

export function fakePackages(source: URL): string {
  const root = mkdtempSync(join(tmpdir(), "rookery-fake-packages-"));
  const put = (path: string, content: string): void => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  };
  const directory = join(root, OPTIONAL_PACKAGES.baileys.name);
  for (const [place, { version }] of Object.entries(lockOf(OPTIONAL_PACKAGES.baileys))) {
    const name = place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
    put(join(directory, place, "package.json"), JSON.stringify({ name, version, main: "index.mjs", type: "module" }));
  }
  put(join(directory, "package.json"), "{}");
  put(join(directory, "node_modules", ".package-lock.json"), "{}");
  put(join(directory, "node_modules", OPTIONAL_PACKAGES.baileys.name, "index.mjs"), readFileSync(source, "utf8"));
  return root;
}
