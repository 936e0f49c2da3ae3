/** Builds the triggers of a node from its configuration: jobs with their gates, the heartbeat, webhooks and task files. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { modelProblem } from "../../adapters/models/model-problem.ts";
import type { OpenModels } from "../../adapters/models/open-models.ts";
import { gateRunner } from "../../adapters/system/gate-runner.ts";
import { outgoingHttp } from "../../adapters/system/outgoing-http.ts";
import { AllowedAddresses } from "../../adapters/system/public-address.ts";
import type { FileMarks } from "../../adapters/tools/files/file-marks.ts";
import type { TrustedFiles } from "../../adapters/tools/files/prompt-guard.ts";
import { taskFileSync } from "../../adapters/workspace/task-file-sync.ts";
import { heartbeatTaskFiles, readHeartbeatFile } from "../../adapters/workspace/task-files.ts";
import { profileWorkspaces } from "../../adapters/workspace/workspaces.ts";
import { secretDeps } from "../../config/load-config.ts";
import { FILE_MODE, type HomePaths } from "../../config/paths.ts";
import type { CurrentSettings } from "../../config/settings.ts";
import { DEFAULT_PROFILE } from "../../core/agent/agent.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { AgentSystem } from "../../engine/agents/agent-system.ts";
import { heartbeatProfiles } from "../../engine/triggers/heartbeat/heartbeat-config.ts";
import { Triggers } from "../../engine/triggers/triggers.ts";
import { jobProblem } from "./job-problem.ts";

interface TriggerDeps {
  readonly ports: Pick<Ports, "clock" | "ids" | "store" | "log">;
  readonly settings: CurrentSettings;
  readonly paths: HomePaths;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly models: Pick<OpenModels, "choose" | "providers">;
  /** The files that carry the mark of untrusted text. Default: none. */
  readonly marks?: FileMarks;
  /** What prompt files and tasks count as. Default: what the disk has. */
  readonly guard?: TrustedFiles;
  /** Set if other nodes work on the same store: how long their leases last. */
  readonly leaseMs?: number;
  /** The channels that the node has now. */
  readonly channels?: () => Iterable<string>;
}

export interface OpenTriggers {
  readonly triggers: Triggers;
  /** Reads the task files and starts to post a message whenever a trigger is due. */
  start(agents: AgentSystem): Promise<void>;
  /** Posts the messages of the jobs that are due now, and nothing later. */
  fireOnce(agents: AgentSystem): Promise<void>;
  stop(): Promise<void>;
}

/** How often a node looks for jobs that another node changed. */
const SHARED_POLL_MS = 2_000;

/** The text of a new HEARTBEAT.md. It contains no task, so the heartbeat makes no model call. */
const EMPTY_HEARTBEAT = "# Heartbeat\n\n## What to look at\n- [ ]\n";

export function openTriggers(deps: TriggerDeps): OpenTriggers {
  const { ports, settings, paths, env, models, marks, guard, leaseMs, channels } = deps;
  const { log } = ports;
  const shared = leaseMs !== undefined;
  // Tasks and the heartbeat are the owner's: other people's directories are never read for them (L13).
  const workspaceOf = (profile: string): string => profileWorkspaces(settings.current, paths)(profile);
  const secrets = secretDeps(paths.home, env);
  const triggers = new Triggers(
    {
      ...ports,
      gates: gateRunner({
        commands: () => settings.current.cron.commandGates,
        cwd: paths.workspace,
        http: outgoingHttp({ allowed: () => new AllowedAddresses(settings.current.network.allowPrivate) }),
      }),
      heartbeatFile: (profile) => readHeartbeatFile(workspaceOf(profile), guard),
      tasks: (profile) => heartbeatTaskFiles(workspaceOf(profile), log, marks, guard),
      modelProblem: (profile, model) => modelProblem(models, ports.clock, profile, model),
      reveal: (secret) => secret.reveal(secrets),
    },
    {
      settings,
      leaseMs,
      pollMs: shared ? SHARED_POLL_MS : undefined,
      jobProblem: (job) => jobProblem(settings.current, channels?.() ?? [], job),
    },
  );
  const taskFiles = taskFileSync(ports, {
    profiles: () => [...new Set([DEFAULT_PROFILE, ...Object.keys(settings.current.profiles)])],
    workspaceOf,
    timeZone: () => settings.current.zone,
    shared,
    marks,
    guard,
    onSynced: () => triggers.wake(),
  });
  const openFiles = async (): Promise<void> => {
    for (const profile of heartbeatProfiles(settings.current)) await writeEmptyHeartbeat(workspaceOf(profile));
    await taskFiles.start();
  };
  let started = false;
  // Other profiles and workspaces, another heartbeat.
  settings.onReload(async (reloaded) => {
    if (started) await openFiles();
    await triggers.updateConfig(reloaded.settings);
  });
  return {
    triggers,
    async start(agents) {
      started = true;
      await openFiles();
      await triggers.start(agents);
    },
    async fireOnce(agents) {
      const due = await ports.store.nextJobs({ before: ports.clock.now(), limit: 1 });
      if (due.length === 0) return;
      // The files may have changed since a process read them.
      await taskFiles.sync();
      await triggers.fireOnce(agents);
    },
    async stop() {
      await taskFiles.stop();
      await triggers.stop();
    },
  };
}

/** Never replaces a file. Without this file the heartbeat would ask a model every half hour. */
const writeEmptyHeartbeat = (workspace: string): Promise<void> =>
  writeFile(join(workspace, "HEARTBEAT.md"), EMPTY_HEARTBEAT, { flag: "wx", mode: FILE_MODE }).catch(() => undefined);
