/** The words that begin a new session. Recognised on the connector's side; the engine never reads commands from text. */

export const DEFAULT_RESET_TRIGGERS: readonly string[] = ["/new", "/reset"];

export interface ResetCommand {
  /** The trigger as the configuration spells it. */
  readonly trigger: string;
  /** The text after the trigger, with its case. */
  readonly text?: string;
}

/**
 * A trigger alone or with a text after it, in any case. `mentions`: the agent's names in groups (`@rook`). One in front of the
 * trigger or joined to it (`/reset@rook`) is skipped.
 */
export function parseResetCommand(
  text: string,
  triggers: readonly string[] = DEFAULT_RESET_TRIGGERS,
  mentions: readonly string[] = [],
): ResetCommand | undefined {
  const typed = withoutMention(text.trim(), mentions);
  const [first = ""] = typed.split(/\s/u, 1);
  const rest = typed.slice(first.length).trim();
  const word = first.toLowerCase();
  for (const trigger of triggers) {
    const wanted = trigger.trim().toLowerCase();
    if (wanted === "") continue;
    const joined = mentions.some((name) => word === `${wanted}@${bare(name)}`);
    if (word === wanted || joined) return { trigger, text: rest || undefined };
  }
  return undefined;
}

const bare = (mention: string): string => mention.trim().toLowerCase().replace(/^@/u, "");

function withoutMention(text: string, mentions: readonly string[]): string {
  const [first = ""] = text.split(/\s/u, 1);
  const name = first.toLowerCase().replace(/[,:]$/u, "");
  const isMention = mentions.some((mention) => bare(mention) !== "" && name === `@${bare(mention)}`);
  return isMention ? text.slice(first.length).trim() : text;
}
