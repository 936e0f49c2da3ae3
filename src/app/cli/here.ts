/** Hints name commands as `rookery …`. Here they become what works where they are printed: the way the program was called. */

export interface Invocation {
  /** How the program is called here. */
  readonly program: string;
  /** The home that the command line named. */
  readonly home?: string;
}

/** From a checkout there is no command `rookery`. */
export function programOf(env: Readonly<Record<string, string | undefined>>, file: string): string {
  if (env.npm_lifecycle_event === "start") return "npm start --";
  if (env.npm_command === "exec") return "npx rookery";
  return file.endsWith(".ts") ? "node src/main.ts" : "rookery";
}

/** The text with every command in backticks as it works here. */
export function here(text: string, { program, home }: Invocation): string {
  if (program === "rookery" && home === undefined) return text;
  return text.replaceAll(/`rookery(?: ([^`]*))?`/gu, (_, rest: string | undefined) => {
    const named = home === undefined || rest?.includes("--home") ? [] : ["--home", quoted(home)];
    return `\`${[program, ...(rest ? [rest] : []), ...named].join(" ")}\``;
  });
}

const quoted = (word: string): string =>
  /^[\w@%+=:,./~-]+$/u.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
