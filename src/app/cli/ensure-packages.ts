/** Installs the optional packages that channels need into the home, after one yes. Without a network it says which command does it. */
import { installPackage, prepareInstall } from "../../adapters/connectors/packages/install-package.ts";
import { missingPackages } from "../../adapters/connectors/packages/load-package.ts";
import type { OptionalPackage } from "../../adapters/connectors/packages/optional-package.ts";
import { ConfigError } from "../../core/errors.ts";
import { neededPackages } from "../node/configured-connectors.ts";
import type { CommandContext } from "./command.ts";
import { askYesNo } from "./confirm.ts";

interface MissingPackage {
  readonly one: OptionalPackage;
  readonly why: string;
  /** Installs it. */
  readonly command: string;
}

type Context = Pick<CommandContext, "paths" | "env" | "stdin" | "stderr">;
/** `yes`: without asking. `ask`: asks in a terminal; elsewhere the answer is no. */
type Consent = "yes" | "ask" | "no";

/** Returns what is missing afterwards. */
export async function ensurePackages(
  context: Context,
  needed: readonly OptionalPackage[],
  consent: Consent,
): Promise<readonly MissingPackage[]> {
  const { home } = context.paths;
  const deps = { home, env: context.env };
  const absent = missingPackages(needed, deps);
  if (absent.length === 0) return [];
  if (!(await isWanted(context, absent, consent))) {
    return absent.map((one) => ({ one, why: "it is not installed", command: prepareInstall(home, one) }));
  }
  const missing: MissingPackage[] = [];
  for (const one of absent) {
    context.stderr.write(`Installing ${one.name} ${one.version} into ${home} …\n`);
    const installed = await installPackage(one, deps);
    if (installed.status === "installed") continue;
    const { command, reason, status } = installed;
    missing.push({
      one,
      why: status === "no-network" ? `the registry cannot be reached (${reason})` : reason,
      command,
    });
  }
  return missing;
}

/** For a command that cannot go on without them. Rejects with the command that installs what is missing. */
export async function requirePackages(
  context: Context,
  needed: readonly OptionalPackage[],
  consent: Consent,
): Promise<void> {
  const [first] = await ensurePackages(context, needed, consent);
  if (!first) return;
  const { one, why, command } = first;
  throw new ConfigError(`${one.use} needs the package ${one.name} ${one.version}: ${why}.`, {
    hint: `Install it with: ${command}`,
  });
}

/** Empty if the missing packages of the configuration may be installed; else a line with the command for each. */
export async function packageCommands(
  context: Context & Pick<CommandContext, "loadConfig">,
  consent: Consent,
): Promise<readonly string[]> {
  const { home } = context.paths;
  const absent = missingPackages(neededPackages((await context.loadConfig()).config), { home, env: context.env });
  if (await isWanted(context, absent, consent)) {
    for (const { name, version } of absent) context.stderr.write(`Installing ${name} ${version} into ${home} …\n`);
    return [];
  }
  return absent.map(
    (one) => `${one.name} ${one.version} is not installed. Install it with: ${prepareInstall(home, one)}`,
  );
}

async function isWanted(
  { stdin, paths }: Context,
  absent: readonly OptionalPackage[],
  consent: Consent,
): Promise<boolean> {
  if (consent !== "ask") return consent === "yes";
  if (!stdin().isTTY) return false;
  const list = absent.map(({ name, version, use, megabytes }) => `${name} ${version} for ${use} (${megabytes} MB)`);
  return askYesNo(`Install ${list.join(", ")} into ${paths.home}?`);
}
