/**
 * Reads what lies in rows. One that cannot be read is left as it is and tells so to whoever asks for it by name; lists pass
 * it over, so that it stops nobody else (L11).
 */
import { CorruptDataError } from "../../core/errors.ts";

export function storedJson<T>(text: unknown): T {
  try {
    return JSON.parse(text as string) as T;
  } catch (cause) {
    throw new CorruptDataError("A record in the store cannot be read.", {
      cause,
      hint: "It was left as it is; `rookery repair` says what can be saved.",
    });
  }
}

/** Those that can be read, in their order. */
export function readable<Row, T>(rows: readonly Row[], of: (row: Row) => T): T[] {
  return rows.flatMap((row) => {
    try {
      return [of(row)];
    } catch (error) {
      if (error instanceof CorruptDataError) return [];
      throw error;
    }
  });
}

/** A page of those that can be read: full where there are enough, however many before them cannot. */
export async function readablePage<Row, T>(
  limit: number,
  of: (row: Row) => T,
  read: (limit: number) => Promise<readonly Row[]> | readonly Row[],
): Promise<T[]> {
  for (let asked = limit; ; ) {
    const rows = await read(asked);
    const found = readable(rows, of);
    if (found.length >= limit || rows.length < asked) return found.slice(0, limit);
    asked += limit - found.length;
  }
}
