/** A home with a workspace, another person's directory and planted secrets, and the tools for commands on it. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeDiskDirectory } from "../../../../test/kit/disk-directory.ts";
import { configSchema } from "../../../config/config-schema.ts";
import { homePaths, processDirectory } from "../../../config/paths.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { stateWithProcesses } from "../../../core/agent/background-process.ts";
import type { WorkspaceAccess } from "../../../core/agent/exec-fields.ts";
import { freshState } from "../../../core/agent/fresh-state.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { Tool, ToolContext, ToolOutput } from "../../../core/ports/tool.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { commandEnvironment } from "../../system/command-environment.ts";
import { systemClock } from "../../system/system-clock.ts";
import { openFileChanges } from "../../workspace/changes/open-file-changes.ts";
import { commandPolicy } from "../../workspace/command-policy.ts";
import { openFileMarks } from "../../workspace/open-file-marks.ts";
import type { Places } from "../files/allowed-path.ts";
import { realDisk } from "../files/disk.ts";
import type { CommandLimits } from "./command-limits.ts";
import type { ExecDeps } from "./exec-deps.ts";
import { execTools } from "./exec-tools.ts";
import { Processes } from "./processes.ts";

export const SECRET = "planted-secret-5f1c";
export const AGENT = "agentagentagentagent0001" as AgentId;

export interface CommandWorld {
  readonly home: string;
  readonly workspace: string;
  readonly processes: Processes;
  readonly deps: ExecDeps;
  agent: AgentRecord;
  settings: Partial<ReturnType<ExecDeps["settings"]>>;
  limits: CommandLimits;
  places: Places;
  access: WorkspaceAccess;
  /** Calls a tool and commits what it says about processes to the agent. */
  call(name: string, input: unknown, more?: Partial<ToolContext>): Promise<ToolOutput & { readonly text: string }>;
  close(): Promise<void>;
}

export function commandWorld(sandbox: Sandbox, maxDirectories?: number): CommandWorld {
  const root = makeDiskDirectory("rookery-exec-");
  const home = join(root, "user", ".rookery");
  const paths = homePaths(home);
  for (const directory of [paths.workspace, join(paths.people, "bob"), join(root, "user", ".ssh")]) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  }
  for (const file of [
    paths.auth,
    paths.token,
    join(paths.people, "bob", "notes.txt"),
    join(root, "user", ".ssh", "id"),
  ]) {
    writeFileSync(file, SECRET);
  }
  writeFileSync(join(paths.workspace, "SOUL.md"), "kind");
  const config = configSchema.parse({});
  const { guard } = openFileChanges({ paths, roots: () => [paths.workspace], now: () => systemClock.now() });
  const processes = new Processes({
    directory: processDirectory(paths),
    clock: systemClock,
    sandbox: async () => sandbox,
    guard,
    limits: () => world.limits,
  });
  const policyFor = commandPolicy({
    settings: { current: config },
    paths,
    env: process.env,
    userHome: join(root, "user"),
  });
  const marks = openFileMarks({ home });
  let calls = 0;
  const state = freshState(0);
  const world: CommandWorld = {
    home,
    workspace: paths.workspace,
    processes,
    agent: { id: AGENT, profile: "main", state } as unknown as AgentRecord,
    settings: {},
    limits: { memoryMb: 4_096, processes: 512, diskMb: 10_240 },
    places: { workingDir: paths.workspace },
    access: "rw",
    deps: {
      processes,
      disk: realDisk,
      ...{ marks, guard, maxDirectories },
      placesOf: async () => world.places,
      policyOf: async (_agent, places, freezesSkills) => policyFor(places, { access: world.access, freezesSkills }),
      hostOf: async () => "sandbox",
      environment: () => commandEnvironment({ ...process.env, API_KEY: SECRET }),
      settings: () => ({
        timeoutSeconds: 20,
        maxTimeoutSeconds: 60,
        domains: [],
        secrets: ["TOKEN"],
        ...world.settings,
      }),
      secret: () => "granted-value-77",
      secretValues: () => ({ TOKEN: "granted-value-77" }),
    },
    async call(name, input, more) {
      calls += 1;
      const tool = tools.find((one) => one.name === name) as Tool;
      const signal = new AbortController().signal;
      const context = {
        agent: world.agent,
        agentId: AGENT,
        runId: "run" as RunId,
        callId: `c${calls}`,
        effectKey: `k${calls}`,
        signal,
      };
      const output = await tool.execute(tool.input.parse(input), { ...context, progress: () => {}, ...more });
      const after = stateWithProcesses(world.agent.state, output.processes ? [output.processes] : []);
      if (after) world.agent = { ...world.agent, state: after };
      return { ...output, text: output.content.map((block) => (block.type === "text" ? block.text : "")).join("\n") };
    },
    async close() {
      for (const one of await processes.ofAgent(AGENT)) await processes.forget(one);
      rmSync(root, { recursive: true, force: true });
    },
  };
  const tools = execTools(world.deps);
  return world;
}
