/**
 * The scope under which conversations are told apart, the scopes before it, and which conversations were carried over. One durable
 * value, changed by comparison: of several nodes one wins, and after a kill all of a change is there or none of it.
 */
import { z } from "zod";
import { DEFAULT_DM_SCOPE, DM_SCOPES, type DmScope } from "../../core/agent/session-key.ts";
import { ConflictError, CorruptDataError } from "../../core/errors.ts";
import type { Ports } from "../../core/ports/ports.ts";
import { CONVERSATIONS_FACT, type Op, RIGHTS_REVISION } from "../../core/store/change.ts";
import { submit } from "../commit/submit.ts";

const scope = z.enum(DM_SCOPES);
const bookSchema = z.object({
  scope: scope.default(DEFAULT_DM_SCOPE),
  /** Scopes whose conversations nobody has decided about. */
  earlier: z.array(scope).default([]),
  /** When the scope last changed. */
  since: z.number().int().default(0),
  /** The key by a scope → the key of the conversation that goes on under it. */
  carried: z.record(z.string(), z.string()).default({}),
});
export type ConversationBook = z.infer<typeof bookSchema>;

export type BookPorts = Pick<Ports, "store" | "ids" | "clock">;
const TRIES = 8;
/** Beyond this number the ones carried first are dropped: their people begin a new conversation. */
const MAX_CARRIED = 20_000;

export const readBook = async ({ store }: { store: Pick<Ports["store"], "fact"> }): Promise<ConversationBook> =>
  parsed(await store.fact(CONVERSATIONS_FACT));

function parsed(text: string | undefined): ConversationBook {
  const read = bookSchema.safeParse(text === undefined ? {} : JSON.parse(text));
  if (!read.success) throw new CorruptDataError("The list of carried conversations cannot be read.");
  return read.data;
}

/** Durable when it resolves. `change` may be called several times; undefined changes nothing. The revision moves, so every node reads it again. */
export async function changeBook(
  ports: BookPorts,
  change: (book: ConversationBook) => ConversationBook | undefined,
  also: readonly Op[] = [],
): Promise<ConversationBook> {
  const { store } = ports;
  for (let tries = 1; tries <= TRIES; tries++) {
    const before = await store.fact(CONVERSATIONS_FACT);
    const revision = await store.fact(RIGHTS_REVISION);
    const book = parsed(before);
    const next = change(book);
    if (!next) return book;
    const bounded = { ...next, carried: Object.fromEntries(Object.entries(next.carried).slice(-MAX_CARRIED)) };
    const ops: Op[] = [
      { op: "fact.put", key: CONVERSATIONS_FACT, value: JSON.stringify(bounded), expect: before ?? null },
      { op: "fact.put", key: RIGHTS_REVISION, value: String(Number(revision ?? 0) + 1), expect: revision ?? null },
      ...also,
    ];
    if ((await submit(ports, "conversations", ops)).ok) return bounded;
  }
  throw new ConflictError("The list of conversations was changed at the same moment.", { hint: "Try again." });
}

/** The scope in force is another one now. Returns the scope before; undefined if nothing has changed. */
export async function noteScope(ports: BookPorts, now: DmScope): Promise<DmScope | undefined> {
  let before: DmScope | undefined;
  await changeBook(ports, (book) => {
    before = book.scope === now ? undefined : book.scope;
    if (before === undefined) return undefined;
    const earlier = [...new Set([...book.earlier, before])].filter((one) => one !== now);
    return { ...book, scope: now, earlier, since: ports.clock.now() };
  });
  return before;
}
