/** `rookery models login`, `logout` and `status`: subscriptions and accounts in place of keys. No command prints a token. */
import { NotFoundError } from "../../../core/errors.ts";
import { type CommandContext, defineAction } from "../command.ts";
import { logInHere } from "../login/log-in-here.ts";
import { printList, printResult } from "../print.ts";
import { PROFILE, providerAndProfile } from "./models-key-names.ts";

export const login = defineAction({
  summary: "log in to a provider with your account instead of a key",
  usage: "<provider>",
  description:
    "Shows an address and a code, which you open and enter on any machine, so it works over ssh. Says first whether the provider permits other programs. The tokens are stored in logins.json of the home, which only its owner can read, and refreshed before they expire.",
  arguments: { min: 1, max: 1 },
  options: {
    profile: PROFILE,
    browser: { type: "boolean", description: "where there is a choice: confirm in a browser on this machine" },
    accept: { type: "boolean", description: "do not ask: you know what the provider says about other programs" },
  },
  async run(context) {
    const { flags } = context;
    const { provider, profile } = providerAndProfile(context);
    const method = flags.browser ? "browser" : "code";
    const made = await logInHere(context, { provider, profile, method, accept: flags.accept ?? false });
    const { describeLogins, loginStateText } = await import("../../../adapters/models/logins/describe-logins.ts");
    const [described] = describeLogins({ [provider]: { [profile]: made } }, made.loggedInAt);
    const says = described ? loginStateText(described) : "";
    const text = `Logged in to ${provider}; the token ${says}. Try it with \`rookery models test\`.`;
    return printResult(context, { ...described, file: context.paths.logins }, context.here(text));
  },
});

export const logout = defineAction({
  summary: "remove the tokens of a login from this home",
  usage: "<provider>",
  description: "The provider is not told: end the session there, too, if someone else may have the tokens.",
  arguments: { min: 1, max: 1 },
  options: { profile: PROFILE },
  async run(context) {
    const { provider, profile } = providerAndProfile(context);
    const { logOut } = await import("../../../adapters/models/logins/log-in.ts");
    const { systemClock: clock } = await import("../../../adapters/system/system-clock.ts");
    if (!(await logOut({ file: context.paths.logins, clock }, provider, profile))) {
      throw new NotFoundError(`There is no login of ${provider} under the profile ${profile}.`, {
        hint: "Run `rookery models logins` to see all logins.",
      });
    }
    return printResult(context, { provider, profile, removed: true }, "Removed.");
  },
});

export const logins = defineAction({
  summary: "list the logins and when they expire",
  async run(context) {
    const { loginStateText } = await import("../../../adapters/models/logins/describe-logins.ts");
    return printList(context, {
      items: await loginsOf(context),
      line: (one) => context.here(`${one.provider}  ${one.profile}  ${loginStateText(one)}`),
      empty: "There are no logins. Run `rookery models login <provider>` to make one.",
    });
  },
});

export async function loginsOf({ paths }: Pick<CommandContext, "paths">) {
  const { readLogins } = await import("../../../adapters/models/logins/login-file.ts");
  const { describeLogins } = await import("../../../adapters/models/logins/describe-logins.ts");
  const { systemClock } = await import("../../../adapters/system/system-clock.ts");
  return describeLogins(readLogins(paths.logins), systemClock.now());
}
