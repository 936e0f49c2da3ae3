/** Text that the engine wrote for the model, for people: without tags, the ids of jobs and the files of a report. */
export const withoutIds = (text: string): string =>
  text
    .replace(/<\/?system_message[^<>]{0,300}>/gu, "")
    .replace(/\[cron:[^\s\]]+ ?/gu, "[")
    .replace(/ • (?:sessionKey|sessionId|transcript) [^\s•]+/gu, "");
