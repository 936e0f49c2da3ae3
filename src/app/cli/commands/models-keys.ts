/** `rookery models keys`: manages keys of model providers. A key is read from standard input, never from the command line. */
import type { DescribedLogin } from "../../../adapters/models/logins/describe-logins.ts";
import { KNOWN_PROVIDERS } from "../../../config/known-providers.ts";
import { MASK } from "../../../config/secret.ts";
import { NotFoundError } from "../../../core/errors.ts";
import { type CommandContext, defineAction, type Group } from "../command.ts";
import { printList, printResult } from "../print.ts";
import { readSecret } from "../read-secret.ts";
import { PROFILE, providerAndProfile } from "./models-key-names.ts";
import { loginsOf } from "./models-logins.ts";

const SHOWN_FROM = 20;

const add = defineAction({
  summary: "store a key that you pipe in or type",
  usage: "<provider>",
  description: "Replaces the key of the same profile. A running node uses the new key with its next call.",
  arguments: { min: 1, max: 1 },
  options: { profile: PROFILE },
  async run(context) {
    const { stdin, stderr, paths } = context;
    const { provider, profile } = providerAndProfile(context);
    const { config } = await context.loadConfig();
    if (!Object.hasOwn(KNOWN_PROVIDERS, provider) && !Object.hasOwn(config.models.providers, provider)) {
      stderr.write(`rookery: warning: the configuration has no provider "${provider}" yet\n`);
    }
    const key = await readSecret(stdin(), stderr, `Key for ${provider} (not shown): `);
    const { writeKey } = await import("../../../adapters/models/auth-file.ts");
    writeKey(paths.auth, provider, profile, key);
    return printResult(context, { provider, profile, file: paths.auth }, `Stored in ${paths.auth}`);
  },
});

const list = defineAction({
  summary: "list the keys and where each comes from; keys are masked",
  async run(context) {
    const { loginStateText } = await import("../../../adapters/models/logins/describe-logins.ts");
    const empty =
      "There are no keys. Run `rookery models keys add <provider>` to store one, or `rookery models login <provider>` to use an account.";
    const line = ({ provider, profile, where, key, login }: FoundKey): string =>
      context.here(`${provider}  ${profile}  ${login ? loginStateText(login) : `${key ?? "(not set)"}  ${where}`}`);
    return printList(context, { items: await foundKeys(context), line, empty });
  },
});

const remove = defineAction({
  summary: "remove a stored key",
  usage: "<provider>",
  arguments: { min: 1, max: 1 },
  options: { profile: PROFILE },
  async run(context) {
    const { paths } = context;
    const { provider, profile } = providerAndProfile(context);
    const { readAuthFile, writeKey } = await import("../../../adapters/models/auth-file.ts");
    if (readAuthFile(paths.auth)[provider]?.[profile] === undefined) {
      throw new NotFoundError(`No key of ${provider} is stored under the profile ${profile}.`, {
        hint: "Run `rookery models keys list` to see all keys. Keys from the configuration or the environment are removed there.",
      });
    }
    writeKey(paths.auth, provider, profile, undefined);
    return printResult(context, { provider, profile, removed: true }, "Removed.");
  },
});

export interface FoundKey {
  readonly provider: string;
  readonly profile: string;
  readonly where: string;
  /** Masked. Absent if it is not set. */
  readonly key?: string;
  /** Set for the token of a login. */
  readonly login?: DescribedLogin;
}

async function foundKeys(context: CommandContext): Promise<readonly FoundKey[]> {
  const { paths, env, loadConfig } = context;
  const { config } = await loadConfig();
  const { readAuthFile } = await import("../../../adapters/models/auth-file.ts");
  const { Providers } = await import("../../../adapters/models/providers.ts");
  const { secretDeps } = await import("../../../config/load-config.ts");
  const { systemClock: clock } = await import("../../../adapters/system/system-clock.ts");
  const stored = readAuthFile(paths.auth);
  const secrets = secretDeps(paths.home, env);
  const providers = new Providers(config.models, { clock, secrets, storedKeys: () => stored });
  const names = new Set([
    ...Object.keys(config.models.providers),
    ...Object.keys(stored),
    ...Object.keys(KNOWN_PROVIDERS),
  ]);
  const keys = [...names].flatMap((provider) =>
    providers.keySources(provider).map(({ profile, where, reveal }) => {
      const key = reveal();
      return { provider, profile, where, key: key ? masked(key) : undefined };
    }),
  );
  const logins = (await loginsOf(context)).map((login) => {
    const { provider, profile } = login;
    return { provider, profile, where: `the login made with \`rookery models login ${provider}\``, login };
  });
  return [...keys, ...logins];
}

/** Shows the end of a long key, so that you can tell keys apart. */
const masked = (key: string): string => (key.length >= SHOWN_FROM ? `${MASK}${key.slice(-4)}` : MASK);

export const keysGroup: Group = {
  summary: "store, list and remove keys of model providers",
  description:
    "Keys are stored in auth.json of the home, tokens of logins in logins.json. Only its owner can read them. No command prints a key.",
  actions: { list, add, remove },
  fallback: "list",
};
