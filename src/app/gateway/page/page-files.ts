/**
 * The files of the control room, in memory. The package has them built, in `dist/web`. In a clone they are built from `web/` with
 * the first request, by a process of its own, and kept by their content.
 */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { errorText } from "../../../core/errors.ts";
import { HttpError } from "../http/http-error.ts";

export interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json",
};
const BUILD_MS = 120_000;

let loading: Promise<ReadonlyMap<string, PageFile>> | undefined;

/** By name: `index.html`, `assets/…`. Read once; a failed build is tried again with the next request. */
export function pageFiles(): Promise<ReadonlyMap<string, PageFile>> {
  loading ??= load().catch((error) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function load(): Promise<ReadonlyMap<string, PageFile>> {
  const dir = await directory();
  const compress = promisify(gzip);
  const names = readdirSync(dir, { recursive: true, encoding: "utf8" }).filter((name) => extname(name) in TYPES);
  const files = names.map(async (name): Promise<[string, PageFile]> => {
    const bytes = readFileSync(join(dir, name));
    return [name, { type: TYPES[extname(name)] ?? "", bytes, gzipped: await compress(bytes, { level: 9 }) }];
  });
  return new Map(await Promise.all(files));
}

async function directory(): Promise<string> {
  const up = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
  const packaged = up("../../../web");
  if (existsSync(join(packaged, "index.html"))) return packaged;
  const script = up("../../../../scripts/build-web.ts");
  if (!existsSync(script)) throw missing();
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: BUILD_MS });
    return stdout.trim().split("\n").at(-1) ?? "";
  } catch (error) {
    throw missing(error);
  }
}

const missing = (cause?: unknown): HttpError =>
  new HttpError(
    503,
    "not_built",
    `The control room is not built${cause ? `: ${errorText(cause).slice(0, 2_000)}` : "."}`,
    {
      cause,
      hint: "From a clone, run `npm ci`, then `npm run build`.",
    },
  );
