/**
 * Where Node keeps the compiled code of this program between two starts: in the cache directory of the user. Node's own default is
 * in the directory for temporary files, where another user could put code that this program would run. A directory that
 * someone else owns, or may write to, is not used: then the program compiles its code at each start.
 */
import { lstatSync, mkdirSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { DIRECTORY_MODE } from "../../config/paths.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Changes nothing if the environment names a cache or turns it off, which Node itself obeys. */
export function useCompileCache(
  env: Environment = process.env,
  enable: (directory: string) => unknown = enableCompileCache,
): void {
  if (env.NODE_COMPILE_CACHE !== undefined || env.NODE_DISABLE_COMPILE_CACHE !== undefined) return;
  const directory = compileCacheDirectory(env);
  if (directory !== undefined) enable(directory);
}

/** Made if it is missing. Undefined if there is no directory that only this user can write to. */
function compileCacheDirectory(env: Environment): string | undefined {
  const { XDG_CACHE_HOME: named } = env;
  try {
    const caches = named !== undefined && isAbsolute(named) ? named : join(env.HOME || homedir(), ".cache");
    const own = join(caches, "rookery");
    mkdirSync(own, { recursive: true, mode: DIRECTORY_MODE });
    const directory = join(own, "compiled");
    mkdirSync(directory, { recursive: true, mode: DIRECTORY_MODE });
    return isPrivate(own) && isPrivate(directory) ? directory : undefined;
  } catch {
    return undefined;
  }
}

function isPrivate(directory: string): boolean {
  const found = lstatSync(directory);
  const isOwn = !process.getuid || found.uid === process.getuid();
  return found.isDirectory() && isOwn && (found.mode & 0o022) === 0;
}
