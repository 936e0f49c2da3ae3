/** Quotes arguments for a POSIX shell: the shell passes each of them on exactly as it is. */
export const quoteShell = (argv: readonly string[]): string => argv.map(quoted).join(" ");

const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
