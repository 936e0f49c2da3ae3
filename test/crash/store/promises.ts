/** The promises of the killed process in all its lives, as read from the pipe. */

export interface Promised {
  /** By token: the reported place of the message. */
  readonly accepted: Map<string, { readonly agentId: string; readonly seq: number }>;
  readonly answered: Set<string>;
}

export const noPromises = (): Promised => ({ accepted: new Map(), answered: new Set() });

/** Records a line of the pipe. A kill may have cut the last line: half a promise does not count. */
export function hear(promised: Promised, line: string): void {
  const [what, agentId, seq, token, ...rest] = line.split(" ");
  if (agentId === undefined || seq === undefined || token === undefined || rest.length > 0) return;
  if (what === "accepted") promised.accepted.set(token, { agentId, seq: Number(seq) });
  if (what === "answered") promised.answered.add(token);
}
