/** What the killed process promised over its lives, as the world outside heard it. */

export interface Promised {
  /** By token: where the message was said to be. */
  readonly accepted: Map<string, { readonly agentId: string; readonly seq: number }>;
  readonly answered: Set<string>;
}

export const noPromises = (): Promised => ({ accepted: new Map(), answered: new Set() });

/** Takes down a line of the pipe. The kill may have torn the last one: half a promise is none. */
export function hear(promised: Promised, line: string): void {
  const [what, agentId, seq, token, ...rest] = line.split(" ");
  if (agentId === undefined || seq === undefined || token === undefined || rest.length > 0) return;
  if (what === "accepted") promised.accepted.set(token, { agentId, seq: Number(seq) });
  if (what === "answered") promised.answered.add(token);
}
