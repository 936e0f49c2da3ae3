/** Sets one value of the configuration for a command: only if the whole file is valid with it, and as a change that can be undone. */
import type { Config } from "../../config/config-schema.ts";
import { START_KEYS } from "../../config/live-keys.ts";
import { checkConfig, formatNote } from "../../config/parse-config.ts";
import { withValue } from "../../config/set-value.ts";
import { ConfigError } from "../../core/errors.ts";
import { changeFile, readIfThere } from "./change-file.ts";
import type { CommandContext } from "./command.ts";

export interface SetValue {
  readonly key: string;
  readonly file: string;
  readonly needsRestart: boolean;
  /** For `rookery config changes undo`. Null if it had this value already. */
  readonly change: number | null;
}

/** `value` is JSON5. */
export async function setConfigValue(
  context: CommandContext,
  key: string,
  value: string,
): Promise<SetValue & { readonly config: Config }> {
  const { paths, env } = context;
  const before = readIfThere(paths.config);
  const text = withValue(before ?? "", key.split("."), value);
  const { config, errors } = checkConfig({ text, file: paths.config, env });
  const [error] = errors;
  if (error) throw new ConfigError(formatNote(error), { hint: "Nothing was changed." });
  if (!config) throw new ConfigError("The configuration cannot be read.", { hint: "Nothing was changed." });
  const change = await changeFile(context, { file: paths.config, text, before, why: `set ${key}` });
  const needsRestart = Object.keys(START_KEYS).some((one) => key === one || key.startsWith(`${one}.`));
  return { key, file: paths.config, needsRestart, change: change ?? null, config };
}

export function setText({ key, file, needsRestart, change }: SetValue): string {
  const takes = needsRestart ? "It takes effect at the next start." : "A running engine takes it at once.";
  if (change === null) return `${key} had this value already.`;
  return `${key} is set in ${file}. ${takes}\nUndo it with \`rookery config changes undo ${change}\`.`;
}
