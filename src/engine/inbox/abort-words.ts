/** The words by which a person stops a run, as clawdbot knows them: alone in a message, in any case. */
const ABORT_WORDS: ReadonlySet<string> = new Set(["stop", "esc", "abort", "wait", "exit", "interrupt", "/stop"]);

export const isAbortText = (text: string): boolean => ABORT_WORDS.has(text.trim().toLowerCase());
