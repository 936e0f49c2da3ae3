/** What the engine writes for the model, for people: the name of a job without its id, and the figures of a report without its files. */
export const withoutIds = (text: string): string =>
  text.replace(/^\[cron:[^\s\]]+ ?/u, "[").replace(/ • (?:sessionKey|sessionId|transcript) [^\s•]+/gu, "");
