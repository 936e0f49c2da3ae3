/** The words that begin a new session, recognised on the connector's side: the engine never reads commands out of text. */

export const DEFAULT_RESET_TRIGGERS: readonly string[] = ["/new", "/reset"];

export interface ResetCommand {
  /** The trigger as it is configured. */
  readonly trigger: string;
  /** What was said behind it, its case kept; absent where nothing was. */
  readonly text?: string;
}

/**
 * A trigger alone or with a text behind it, in any case. `mentions` are the names the agent is addressed by in groups
 * (`@rook`): one in front is passed over, as is one joined to the trigger (`/reset@rook`).
 */
export function parseResetCommand(
  text: string,
  triggers: readonly string[] = DEFAULT_RESET_TRIGGERS,
  mentions: readonly string[] = [],
): ResetCommand | undefined {
  const said = withoutMention(text.trim(), mentions);
  const [first = ""] = said.split(/\s/u, 1);
  const rest = said.slice(first.length).trim();
  const word = first.toLowerCase();
  for (const trigger of triggers) {
    const wanted = trigger.trim().toLowerCase();
    if (wanted === "") continue;
    const joined = mentions.some((name) => word === `${wanted}@${bare(name)}`);
    if (word === wanted || joined) return { trigger, ...(rest === "" ? {} : { text: rest }) };
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
