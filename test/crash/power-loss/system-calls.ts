/** Reads a trace: one record per system call, with the lines at which it began and at which it returned. */

export interface SystemCall {
  readonly name: string;
  readonly args: string;
  readonly result: number;
  readonly begun: number;
  readonly ended: number;
}

/** Calls of several threads overlap: `<unfinished ...>` and `resumed` belong together by the thread's number. */
export function systemCalls(trace: string): SystemCall[] {
  const calls: SystemCall[] = [];
  const unfinished = new Map<string, { name: string; args: string; begun: number }>();
  for (const [line, text] of trace.split("\n").entries()) {
    const thread = text.slice(0, text.indexOf(" "));
    const rest = text.slice(thread.length).trimStart();
    const resumed = /^<\.\.\. (\w+) resumed>/.exec(rest);
    if (resumed) {
      const open = unfinished.get(thread);
      unfinished.delete(thread);
      const result = resultOf(rest);
      if (open && result !== undefined) {
        const args = open.args + rest.slice(resumed[0].length);
        calls.push({ name: open.name, args, result, begun: open.begun, ended: line });
      }
      continue;
    }
    const name = /^(\w+)\(/.exec(rest)?.[1];
    if (name === undefined) continue;
    const args = rest.slice(name.length + 1);
    if (args.endsWith("<unfinished ...>")) {
      unfinished.set(thread, { name, args: args.slice(0, -"<unfinished ...>".length).trimEnd(), begun: line });
      continue;
    }
    const result = resultOf(args);
    if (result !== undefined) calls.push({ name, args, result, begun: line, ended: line });
  }
  return calls;
}

function resultOf(text: string): number | undefined {
  const found = /\) += (-?\d+)[^=]*$/.exec(text.slice(-4_000));
  return found ? Number(found[1]) : undefined;
}

const unhex = (text: string): Buffer => Buffer.from(text.replaceAll("\\x", ""), "hex");

/** The first descriptor of a call, and its path in the trace. */
export function descriptorIn(args: string): { fd: number; path: string } | undefined {
  const found = /^(\d+)<([^>]*)>/.exec(args);
  return found ? { fd: Number(found[1]), path: unhex(found[2] ?? "").toString() } : undefined;
}

/** Every quoted string of a call. */
export function stringsIn(args: string): Buffer[] {
  const parts = args.split('"');
  return parts.filter((_, index) => index % 2 === 1).map(unhex);
}

/** The last plain number among the arguments: an offset, a length. */
export function lastNumberIn(args: string): number {
  const found = /(\d+) *\) += -?\d+[^=]*$/.exec(args.slice(-4_000));
  if (!found) throw new Error(`No number at the end of ${args.slice(-100)}`);
  return Number(found[1]);
}
