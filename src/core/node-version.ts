/** Which Node the program needs. This file and those that import it before anything else run on every Node with modules. */

export const MIN_NODE = 24;

/** One sentence for a person, or undefined if this version can run the program. */
export function nodeProblem(version: string): string | undefined {
  return Number.parseInt(version, 10) >= MIN_NODE
    ? undefined
    : `Rookery needs Node ${MIN_NODE} or newer, and this is Node ${version}: install it from https://nodejs.org, or run "npx -y -p node@${MIN_NODE} rookery".`;
}
