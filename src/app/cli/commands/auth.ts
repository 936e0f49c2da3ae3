/** `rookery auth`: manages keys of model providers. A key is read from standard input, never from the command line. */
import { KNOWN_PROVIDERS } from "../../../config/known-providers.ts";
import { MASK } from "../../../config/secret.ts";
import { NotFoundError, UsageError } from "../../../core/errors.ts";
import { type CommandContext, defineAction, type Group } from "../command.ts";
import { printList, printResult } from "../print.ts";
import { readSecret } from "../read-secret.ts";

const PROFILE = { type: "string", value: "NAME", description: "the auth profile (default: default)" } as const;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const SHOWN_FROM = 20;

const set = defineAction({
  summary: "store a key that you pipe in or type",
  usage: "<provider>",
  description: "Replaces the key of the same profile. A running node uses the new key with its next call.",
  arguments: { min: 1, max: 1 },
  options: { profile: PROFILE },
  async run(context) {
    const { args, flags, stdin, stderr, paths } = context;
    const provider = named(args[0] ?? "", "provider");
    const profile = named(flags.profile ?? "default", "profile");
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
    const empty = "There are no keys. Run `rookery auth set <provider>` to store one.";
    const line = ({ provider, profile, where, key }: FoundKey): string =>
      `${provider}  ${profile}  ${key ?? "(not set)"}  ${where}`;
    return printList(context, { items: await foundKeys(context), line, empty });
  },
});

const remove = defineAction({
  summary: "remove a stored key",
  usage: "<provider>",
  arguments: { min: 1, max: 1 },
  options: { profile: PROFILE },
  async run(context) {
    const { args, flags, paths } = context;
    const provider = named(args[0] ?? "", "provider");
    const profile = named(flags.profile ?? "default", "profile");
    const { readAuthFile, writeKey } = await import("../../../adapters/models/auth-file.ts");
    if (readAuthFile(paths.auth)[provider]?.[profile] === undefined) {
      throw new NotFoundError(`No key of ${provider} is stored under the profile ${profile}.`, {
        hint: "Run `rookery auth list` to see all keys. Keys from the configuration or the environment are removed there.",
      });
    }
    writeKey(paths.auth, provider, profile, undefined);
    return printResult(context, { provider, profile, removed: true }, "Removed.");
  },
});

interface FoundKey {
  readonly provider: string;
  readonly profile: string;
  readonly where: string;
  /** Masked. Absent if it is not set. */
  readonly key?: string;
}

async function foundKeys({ paths, env, loadConfig }: CommandContext): Promise<readonly FoundKey[]> {
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
  return [...names].flatMap((provider) =>
    providers.keySources(provider).map(({ profile, where, reveal }) => {
      const key = reveal();
      return { provider, profile, where, key: key ? masked(key) : undefined };
    }),
  );
}

/** Shows the end of a long key, so that you can tell keys apart. */
const masked = (key: string): string => (key.length >= SHOWN_FROM ? `${MASK}${key.slice(-4)}` : MASK);

function named(word: string, what: string): string {
  if (NAME.test(word)) return word;
  throw new UsageError(`This is not the name of a ${what}.`, {
    hint: "Do not write a key on the command line: pipe it in, or type it when asked.",
  });
}

export const authCommand: Group = {
  summary: "store, list and remove keys of model providers",
  description: "Keys are stored in auth.json of the home, which only its owner can read. No command prints a key.",
  actions: { set, list, remove },
};
