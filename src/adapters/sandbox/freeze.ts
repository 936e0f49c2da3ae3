/** Mounts that keep a file of a writable directory as it is. */
import { dirname } from "node:path";

/**
 * The writable and the frozen directories of a policy for these paths. The directories on the way to a frozen file are mounts of their own: a mount
 * cannot be renamed, so nothing else can be put in the place of the file.
 */
export function freeze(
  writable: readonly string[],
  paths: readonly string[],
): { readonly writable: readonly string[]; readonly frozen: readonly string[] } {
  const frozen = [...new Set(paths)].filter((path) => writable.some((root) => isBelow(root, path)));
  const onTheWay = frozen.flatMap((path) => {
    const found: string[] = [];
    for (let at = dirname(path); writable.some((root) => isBelow(root, at)); at = dirname(at)) found.push(at);
    return found;
  });
  return { writable: [...new Set([...writable, ...onTheWay])], frozen };
}

const isBelow = (root: string, path: string): boolean => path.startsWith(`${root}/`);
