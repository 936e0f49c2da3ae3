/** The names of a provider and an auth profile on a command line. */
import { UsageError } from "../../../core/errors.ts";
import type { CommandContext } from "../command.ts";

export const PROFILE = { type: "string", value: "NAME", description: "the auth profile (default: default)" } as const;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

export function providerAndProfile({
  args,
  flags,
}: Pick<CommandContext<{ profile: typeof PROFILE }>, "args" | "flags">): {
  readonly provider: string;
  readonly profile: string;
} {
  return { provider: named(args[0] ?? "", "provider"), profile: named(flags.profile ?? "default", "profile") };
}

function named(word: string, what: string): string {
  const name = word.trim();
  if (NAME.test(name)) return name;
  throw new UsageError(`This is not the name of a ${what}.`, {
    hint: "Do not write a key on the command line: pipe it in, or type it when asked.",
  });
}
