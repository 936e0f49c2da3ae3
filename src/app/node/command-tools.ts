/** The tools for commands in a node: the sandbox of this machine, the processes of its home, and who ends them. */
import { commandEnvironment } from "../../adapters/system/command-environment.ts";
import type { ExecDeps } from "../../adapters/tools/exec/exec-deps.ts";
import { execTools } from "../../adapters/tools/exec/exec-tools.ts";
import { type EndedProcess, ProcessKeeper } from "../../adapters/tools/exec/process-keeper.ts";
import { Processes } from "../../adapters/tools/exec/processes.ts";
import { realDisk } from "../../adapters/tools/files/disk.ts";
import { commandPolicy } from "../../adapters/workspace/command-policy.ts";
import { profileWorkspaces } from "../../adapters/workspace/workspaces.ts";
import type { Config } from "../../config/config-schema.ts";
import { secretDeps } from "../../config/load-config.ts";
import { type HomePaths, processDirectory } from "../../config/paths.ts";
import type { Current } from "../../core/current.ts";
import { cutText } from "../../core/cut-text.ts";
import { DeniedError } from "../../core/errors.ts";
import { everyone } from "../../core/people/behalf.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Tool } from "../../core/ports/tool.ts";
import { isNode } from "../../core/rights/exec-settings.ts";
import type { PostRequest } from "../../engine/agents/message-ingress.ts";
import { configuredRules } from "../../engine/rights/configured-rules.ts";
import type { RunEvents } from "../../engine/runtime/run-events.ts";
import { ancestorsOf } from "../../engine/subagents/tree.ts";
import { nodeSandbox } from "./node-sandbox.ts";
import { permanentDirectories } from "./permanent-directories.ts";

export interface CommandParts extends Pick<ExecDeps, "placesOf" | "marks" | "guard"> {
  readonly settings: Current<Config>;
  readonly paths: HomePaths;
  readonly ports: Pick<Ports, "store" | "clock" | "log">;
  readonly events: Pick<RunEvents, "listenToEnds">;
  /** The people that these are now: an account belongs to a person. */
  people(ids: readonly PersonId[]): Promise<readonly PersonId[]>;
  /** Posts a message, once for each key. */
  post(request: PostRequest): Promise<unknown>;
  readonly nodeName: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface CommandTools {
  readonly tools: readonly Tool[];
  /** Stops to look after processes. Commands in the background continue. */
  close(): Promise<void>;
}

/** How many processes a command may have. */
const MAX_PROCESSES = 512;

export function commandTools(parts: CommandParts): CommandTools {
  const { settings, paths, ports, events, env, placesOf, marks, guard } = parts;
  const { clock, store, log } = ports;
  const sandbox = nodeSandbox({ settings, paths, env });
  const processes = new Processes({
    directory: processDirectory(paths),
    clock,
    sandbox: sandbox.get,
    guard,
    limits: () => ({ ...settings.current.sandbox, processes: MAX_PROCESSES }),
  });
  const keeper = new ProcessKeeper({ processes, clock, log, store, marks, guard, tell: teller(parts.post) });
  const unlisten = events.listenToEnds(({ agentId }) => void keeper.check(agentId));
  void keeper.start();
  const policyFor = commandPolicy({ settings, paths, env });
  const secretFrom = secretDeps(paths.home, env);
  const secret = (name: string): string => settings.current.sandbox.secrets[name]?.reveal(secretFrom) ?? "";
  const tools = execTools({
    ...{ processes, marks, guard, placesOf, secret },
    disk: realDisk,
    policyOf: async ({ profile }, places, freezesSkills) =>
      policyFor(places, {
        access: configuredRules(settings.current).workspaceAccessOf(profile),
        agentDirs: await permanentDirectories(store, profileWorkspaces(settings.current, paths)),
        freezesSkills,
      }),
    hostOf: hostOf(parts),
    environment: () => commandEnvironment(env),
    settings: () => {
      const { domains, secrets } = settings.current.sandbox;
      return { domains, secrets: Object.keys(secrets) };
    },
    secretValues: () => known(Object.keys(settings.current.sandbox.secrets), secret),
    started: () => keeper.watch(),
  });
  return {
    tools,
    async close() {
      unlisten();
      await keeper.stop();
      await sandbox.close();
    },
  };
}

/** Posts the end of a process on behalf of the people of its run, so marks of their text stay. */
const teller =
  (post: CommandParts["post"]) =>
  async ({ info, state, agent, run }: EndedProcess): Promise<void> => {
    const how = state.is === "ended" ? `ended with exit code ${state.code}` : "ended without an exit code";
    const text = `Your process ${info.id} (${oneLine(info.command)}) has ${how}. Use process to read its output.`;
    await post({
      to: { agentId: agent.id },
      body: { kind: "system", text },
      key: `process:${info.id}`,
      behalf: run?.body.behalf,
      delivery: run?.body.delivery,
    });
  };

const oneLine = (command: string): string => cutText(command.replace(/\p{Cc}/gu, " "), 200);

/** Where a command runs, as the settings of its agent say in a run for these people. */
const hostOf =
  ({ settings, people, nodeName, ports }: CommandParts): ExecDeps["hostOf"] =>
  async (agent, { behalf }) => {
    const way = await people(behalf ? everyone(behalf) : []);
    const { execPolicyOf } = configuredRules(settings.current);
    const { host, node } = execPolicyOf(agent, way, { ancestors: await ancestorsOf(ports.store, agent) });
    if (host === "sandbox") return "sandbox";
    if (host === "gateway" || (node !== undefined && isNode(node, nodeName))) return "host";
    // Its next run is moved to that node, if it lives.
    throw new DeniedError(`The node ${node} does not answer, and the commands of this agent run there only.`, {
      hint: `Start that node, set execNode to ${nodeName}, or execHost to sandbox.`,
    });
  };

/** The values of those secrets that can be read now. */
function known(names: readonly string[], secret: (name: string) => string): Readonly<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const name of names) {
    try {
      values[name] = secret(name);
    } catch {
      // A secret without a value is in no output.
    }
  }
  return values;
}
