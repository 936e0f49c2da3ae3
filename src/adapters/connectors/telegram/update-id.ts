/** What every update has: its number, and the chat it belongs to. */

export const idOf = (update: unknown): number | undefined => {
  const id = (update as { update_id?: unknown } | null)?.update_id;
  return Number.isSafeInteger(id) ? (id as number) : undefined;
};

/** The updates of one chat are handled in order, those of others beside them. */
export function orderOf(update: unknown): string {
  const chats = Object.values(
    (update ?? {}) as Record<string, { chat?: { id?: unknown }; message?: { chat?: { id?: unknown } } }>,
  );
  const chat = chats.map((one) => one?.chat?.id ?? one?.message?.chat?.id).find((id) => id !== undefined);
  return String(chat ?? "");
}
