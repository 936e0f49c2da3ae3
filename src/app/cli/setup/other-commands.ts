/** Parts of setup that are commands of their own: they ask and say what they always do, on the same home. */
import { resolveHome } from "../../../config/paths.ts";
import type { CommandContext } from "../command.ts";
import { runCli } from "../router.ts";
import type { SetupFlags } from "./options.ts";

/** False if it failed; it has said why. */
export async function runOther(context: CommandContext, argv: readonly string[]): Promise<boolean> {
  const { env, stdin, stderr, program, home, paths, json } = context;
  const stdout = json ? stderr : context.stdout;
  const where = home === resolveHome(undefined, env) ? [] : ["--home", home];
  const store = paths.sharedStore === undefined ? [] : ["--store", paths.sharedStore];
  return (await runCli([...argv, ...where, ...store], { env, stdin, stdout, stderr, program })) === 0;
}

/** The command that connects Telegram, with what the flags say. What they leave open it asks. */
export const connectTelegram = (flags: SetupFlags): readonly string[] => [
  ...["channels", "add", "telegram"],
  ...flagOf("token-env", flags["telegram-token-env"]),
  ...flagOf("token-file", flags["telegram-token-file"]),
  ...flagOf("owner", flags["telegram-owner"]),
  ...flagOf("api-root", flags["telegram-api-root"]),
];

const flagOf = (name: string, value: string | undefined): readonly string[] =>
  value === undefined ? [] : [`--${name}`, value];
