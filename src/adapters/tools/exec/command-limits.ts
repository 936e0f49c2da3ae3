/**
 * How much a command may use, with everything it has started. The system itself limits the memory of each process and the size of each
 * file; the number of processes and their memory together are counted while it runs. Counted by the tree of processes, which nothing
 * inside of a sandbox leaves. Only on Linux.
 */
import { readdir, readFile } from "node:fs/promises";

export interface CommandLimits {
  readonly memoryMb: number;
  readonly processes: number;
  /** How much a command may add to its directories. */
  readonly diskMb: number;
}

const PAGE = 4_096;

/** Why it must end; undefined if it is within the limits. */
export async function overLimit(
  pid: number,
  { memoryMb, processes }: Omit<CommandLimits, "diskMb">,
): Promise<string | undefined> {
  const open = [pid];
  let [count, bytes] = [0, 0];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    count += 1;
    if (count > processes) return `it has more than ${processes} processes`;
    bytes += await residentBytes(one);
    if (bytes > memoryMb * 1024 * 1024) return `it uses more than ${memoryMb} MB of memory`;
    open.push(...(await childrenOf(one)));
  }
  return undefined;
}

async function residentBytes(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/statm`, "utf8").catch(() => "");
  return Number(text.split(" ")[1] ?? 0) * PAGE;
}

/** Each thread has children of its own. */
async function childrenOf(pid: number): Promise<readonly number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, "utf8").catch(() => "")),
  );
  return lists.flatMap((list) => list.split(" ").filter(Boolean).map(Number));
}
