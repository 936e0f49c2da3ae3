/**
 * The triggers of a node, from its configuration: the broker with its jobs, gates and zone, the heartbeat with the files of
 * its workspaces, the webhooks with their secrets; and the task files, read again when they change.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { modelProblem } from "../../adapters/models/model-problem.ts";
import type { OpenModels } from "../../adapters/models/open-models.ts";
import { gateRunner } from "../../adapters/system/gate-runner.ts";
import {
  cronTaskFiles,
  heartbeatTaskFiles,
  readHeartbeatFile,
  watchTaskFiles,
} from "../../adapters/workspace/task-files.ts";
import { openWorkspaces } from "../../adapters/workspace/workspaces.ts";
import type { Config } from "../../config/config-schema.ts";
import { secretDeps } from "../../config/load-config.ts";
import { FILE_MODE, type HomePaths } from "../../config/paths.ts";
import { DEFAULT_PROFILE } from "../../core/agent/agent.ts";
import { errorText } from "../../core/errors.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { AgentSystem } from "../../engine/agents/agent-system.ts";
import { syncTaskFiles } from "../../engine/triggers/files/sync-task-files.ts";
import { heartbeatProfiles } from "../../engine/triggers/heartbeat/heartbeat-config.ts";
import { Triggers } from "../../engine/triggers/triggers.ts";
import { zoneOf } from "./open-budgets.ts";

export interface TriggersWorld {
  readonly ports: Pick<Ports, "clock" | "ids" | "store" | "log">;
  readonly config: Config;
  readonly paths: HomePaths;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly models: Pick<OpenModels, "choose" | "providers">;
  /** Whether other nodes work on the same store. */
  readonly shared?: boolean;
}

export interface OpenTriggers {
  readonly triggers: Triggers;
  /** Reads the task files, then lets due times become messages. */
  start(agents: AgentSystem): Promise<void>;
  stop(): Promise<void>;
}

/** Jobs that another node was told of are found within this time. */
const SHARED_POLL_MS = 2_000;

/** What stands in a new HEARTBEAT.md: nothing to do, so that nothing is spent. */
const EMPTY_HEARTBEAT = "# Heartbeat\n\n## What to look at\n- [ ]\n";

export function openTriggers({ ports, config, paths, env, models, shared = false }: TriggersWorld): OpenTriggers {
  const { clock, log, store } = ports;
  const { missed, maxLatenessMinutes, commandGates } = config.cron;
  const workspaces = openWorkspaces(config, paths);
  const workspaceOf = (profile: string): string => workspaces({ profile, descriptor: { type: "heartbeat" } });
  const secrets = secretDeps(paths.home, env);
  const triggers = new Triggers(
    {
      ...ports,
      gates: gateRunner({ commands: commandGates, cwd: paths.workspace }),
      heartbeatFile: (profile) => readHeartbeatFile(workspaceOf(profile)),
      tasks: (profile) => heartbeatTaskFiles(workspaceOf(profile), log),
      modelProblem: (profile, model) => modelProblem(models, profile, model),
      reveal: (secret) => secret.reveal(secrets),
    },
    {
      get zone() {
        return zoneOf(config);
      },
      missed,
      mainKey: config.session.mainKey,
      heartbeat: config,
      webhooks: config.hooks,
      ...(shared ? { pollMs: SHARED_POLL_MS } : {}),
      ...(maxLatenessMinutes === undefined ? {} : { maxLatenessMs: maxLatenessMinutes * 60_000 }),
    },
  );
  const profiles = [...new Set([DEFAULT_PROFILE, ...Object.keys(config.profiles)])];
  const told = new Set<string>();
  let stopWatching = (): void => {};
  let syncing: Promise<void> | undefined;

  /** Two profiles may share a workspace: its files are the first one's. */
  async function syncAll(): Promise<void> {
    const seen = new Set<string>();
    for (const profile of profiles) {
      const workspace = workspaceOf(profile);
      if (seen.has(workspace)) continue;
      seen.add(workspace);
      const files = await cronTaskFiles(workspace);
      for (const { path, reason } of await syncTaskFiles(
        {
          ...ports,
          store,
          keepsMissing: shared,
          get zone() {
            return zoneOf(config);
          },
        },
        profile,
        files,
      )) {
        if (!told.has(`${path} ${reason}`)) log.warn("a file is no task and is left alone", { file: path, reason });
        told.add(`${path} ${reason}`);
      }
    }
  }

  function sync(): Promise<void> {
    syncing ??= syncAll()
      .then(() => triggers.wake())
      .catch((error) => log.warn("the task files will be read again", { error: errorText(error) }))
      .finally(() => {
        syncing = undefined;
      });
    return syncing;
  }

  return {
    triggers,
    async start(agents) {
      for (const profile of heartbeatProfiles(config)) await writeEmptyHeartbeat(workspaceOf(profile));
      await sync();
      await triggers.start(agents);
      stopWatching = watchTaskFiles([...new Set(profiles.map(workspaceOf))], clock, () => void sync());
    },
    async stop() {
      stopWatching();
      await syncing;
      await triggers.stop();
    },
  };
}

/** Only where there is none: a file that is missing would be asked of a model every half hour. */
const writeEmptyHeartbeat = (workspace: string): Promise<void> =>
  writeFile(join(workspace, "HEARTBEAT.md"), EMPTY_HEARTBEAT, { flag: "wx", mode: FILE_MODE }).catch(() => undefined);
