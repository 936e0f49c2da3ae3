/** What may follow the name of a command. */

export const nothing = (rest: string): boolean => rest === "";
export const anything = (): boolean => true;
/** At most one word: "/think about it" is a message. */
export const oneWord = (rest: string): boolean => !/\s/u.test(rest);

export const reply = (text: string): string => `⚙️ ${text}`;

/** Words that take a setting back. */
const RESET_WORDS: ReadonlySet<string> = new Set(["default", "reset", "inherit", "clear"]);
export const isResetWord = (word: string): boolean => word.length < 16 && RESET_WORDS.has(word.toLowerCase());
