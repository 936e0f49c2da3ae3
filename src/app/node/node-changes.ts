/** The kept changes of a home, as its configuration names the workspaces now. */

import type { FileChanges } from "../../adapters/workspace/changes/file-changes.ts";
import { openFileChanges } from "../../adapters/workspace/changes/open-file-changes.ts";
import { guardedFilesOf } from "../../adapters/workspace/guarded-workspace-files.ts";
import type { Config } from "../../config/config-schema.ts";
import { checkConfig, formatNote } from "../../config/parse-config.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { Current } from "../../core/current.ts";
import { InvalidInputError } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Log } from "../../core/ports/log.ts";

interface NodeChangesParts {
  readonly settings: Current<Pick<Config, "profiles">>;
  readonly paths: HomePaths;
  readonly clock: Pick<Clock, "now">;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly log?: Pick<Log, "warn">;
}

export const nodeChanges = ({ settings, paths, clock, log, env = {} }: NodeChangesParts): FileChanges =>
  openFileChanges({
    paths,
    log,
    roots: () => guardedFilesOf(settings.current, paths).roots,
    now: () => clock.now(),
    checkConfig(text) {
      const { errors } = checkConfig({ text, file: paths.config, env });
      if (errors.length > 0)
        throw new InvalidInputError(errors.map(formatNote).join("\n"), { hint: "Nothing was changed." });
    },
  });
