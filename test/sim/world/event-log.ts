/** The event log, line by line. Two runs of one seed write the same bytes; the digest compares them without keeping them. */
export interface EventLog {
  write(who: string, what: string): void;
  readonly lines: readonly string[];
  /** A running hash over all lines. */
  digest(): string;
}

export function makeEventLog(time: () => number): EventLog {
  const lines: string[] = [];
  let hash = 0x811c9dc5;
  return {
    lines,
    write(who, what) {
      const line = `${String(time()).padStart(8)} ${who.padEnd(6)} ${what}`;
      lines.push(line);
      for (let i = 0; i < line.length; i++) hash = Math.imul(hash ^ line.charCodeAt(i), 0x01000193);
    },
    digest: () => `${lines.length}:${(hash >>> 0).toString(16)}`,
  };
}
