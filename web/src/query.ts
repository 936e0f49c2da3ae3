/** Hooks that read from the API and read again when something changes. The old data stays on the screen until the new data is there. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { isSignedOut, type Page } from "./api.ts";
import { changes, whileVisible } from "./live.ts";
import { signedOut } from "./session.ts";
import { t } from "./texts.ts";

export interface Query<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  reload(): void;
}

export interface QueryOptions {
  /** Identifies the data: another value drops it and reads again. */
  readonly key: string;
  /** Also reads again after this time while the tab is visible, for what no event tells. */
  readonly pollMs?: number;
  /** Default true. */
  readonly isLive?: boolean;
}

export function useQuery<T>(read: (signal: AbortSignal) => Promise<T>, options: QueryOptions): Query<T> {
  const { key, pollMs, isLive = true } = options;
  const [state, setState] = useState<{ key: string; data?: T; error?: unknown; isLoading: boolean }>({
    key,
    isLoading: true,
  });
  const [asked, setAsked] = useState(0);
  const reading = useRef(read);
  reading.current = read;
  const reader = useRef<Reader>(undefined);
  const version = isLive ? changes.value : 0;
  useEffect(() => {
    setState((before) => (before.key === key ? before : { key, isLoading: true }));
    reader.current = readInTurn((signal) => reading.current(signal), {
      onData: (data) => setState({ key, data, isLoading: false }),
      onError(error) {
        if (isSignedOut(error)) return signedOut(t.signIn.ended);
        setState((before) => ({ ...before, key, error, isLoading: false }));
      },
    });
    return reader.current.stop;
  }, [key]);
  useEffect(() => reader.current?.ask(), [key, asked, version]);
  const reload = useCallback(() => setAsked((n) => n + 1), []);
  usePoll(pollMs, reload);
  const isCurrent = state.key === key;
  return {
    data: isCurrent ? state.data : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading: !isCurrent || state.isLoading,
    reload,
  };
}

interface Reader {
  readonly ask: () => void;
  readonly stop: () => void;
}

/** A read without an answer for this long gives way to the next one. */
const STUCK_MS = 15_000;

/** Reads one at a time: changes during a slow read cause one more after it, so that they neither cancel it nor pile up. */
function readInTurn<T>(
  read: (signal: AbortSignal) => Promise<T>,
  { onData, onError }: { onData(data: T): void; onError(error: unknown): void },
): Reader {
  let current: { readonly stop: AbortController; readonly since: number } | undefined;
  let isAskedAgain = false;
  const start = (): void => {
    const mine = { stop: new AbortController(), since: performance.now() };
    current = mine;
    isAskedAgain = false;
    const settle = (show: () => void): void => {
      if (current !== mine) return;
      current = undefined;
      show();
      if (isAskedAgain) start();
    };
    read(mine.stop.signal).then(
      (data) => settle(() => onData(data)),
      (error) => settle(() => onError(error)),
    );
  };
  const stop = (): void => {
    current?.stop.abort();
    current = undefined;
  };
  const ask = (): void => {
    if (current && performance.now() - current.since < STUCK_MS) {
      isAskedAgain = true;
      return;
    }
    stop();
    start();
  };
  return { ask, stop };
}

/** Reads again every `ms` milliseconds while the tab is visible. */
export function usePoll(ms: number | undefined, reload: () => void): void {
  useEffect(() => {
    if (ms === undefined) return undefined;
    return whileVisible((signal) => {
      const timer = setInterval(reload, ms);
      signal.addEventListener("abort", () => clearInterval(timer));
    });
  }, [ms, reload]);
}

export interface Paged<T> extends Query<readonly T[]> {
  readonly hasMore: boolean;
  more(): void;
}

const PAGE = 50;
/** More are not read again at once: the rest stays as it was read. */
const MOST_LIVE = 200;

/** A list that grows by pages; all of it is read again when something changes. */
export function usePaged<T>(
  read: (limit: number, cursor: string | number | undefined, signal: AbortSignal) => Promise<Page<T>>,
  options: QueryOptions,
): Paged<T> {
  const [size, setSize] = useState({ key: options.key, limit: PAGE });
  const limit = size.key === options.key ? size.limit : PAGE;
  const query = useQuery(
    async (signal) => {
      const items: T[] = [];
      let cursor: string | number | undefined;
      for (;;) {
        const page = await read(Math.min(limit - items.length, MOST_LIVE), cursor, signal);
        items.push(...page.items);
        if (page.next === null || items.length >= limit) return { items, next: page.next };
        cursor = page.next;
      }
    },
    { ...options, key: options.key },
  );
  const { data, reload } = query;
  const more = useCallback(() => {
    setSize({ key: options.key, limit: limit + PAGE });
    reload();
  }, [options.key, limit, reload]);
  return { ...query, data: data?.items, hasMore: data !== undefined && data.next !== null, more };
}

/** The value once it has stayed the same for a moment: a search asks when a person stops typing. */
export function useSettled<T>(value: T, ms = 250): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
