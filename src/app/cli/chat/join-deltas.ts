/** Puts the parts of an answer together that arrived between two frames. */
import type { AgentEvent } from "./apply-event.ts";

/** Deltas of one kind that follow each other, as one. */
export function joinDeltas(deltas: readonly AgentEvent[]): readonly AgentEvent[] {
  const groups: { first: AgentEvent; texts: string[] }[] = [];
  for (const event of deltas) {
    const last = groups.at(-1);
    const isSame = last?.first.data.stream === event.data.stream && last?.first.data.runId === event.data.runId;
    if (last && isSame) last.texts.push(String(event.data.text));
    else groups.push({ first: event, texts: [String(event.data.text)] });
  }
  return groups.map(({ first, texts }) => ({ ...first, data: { ...first.data, text: texts.join("") } }));
}
