/** What `exec` and `process` need: where commands run, what they may touch, and how long they may take. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { EffectContext } from "../../../core/ports/tool.ts";
import type { SandboxPolicy } from "../../sandbox/sandbox.ts";
import type { Places } from "../files/allowed-path.ts";
import type { Disk } from "../files/disk.ts";
import type { FileMarks } from "../files/file-marks.ts";
import type { PromptGuard } from "../files/prompt-guard.ts";
import type { SecretValues } from "./output-secrets.ts";
import type { Processes } from "./processes.ts";

interface ExecSettings {
  /** How long a command may take if the call says nothing. Default: two minutes. */
  readonly timeoutSeconds?: number;
  /** The most that a call can ask for. Default: an hour. */
  readonly maxTimeoutSeconds?: number;
  /** Hosts that commands in the sandbox may reach. */
  readonly domains: readonly string[];
  /** The names of secrets that a call may ask for. */
  readonly secrets: readonly string[];
}

export interface ExecDeps {
  readonly processes: Processes;
  readonly disk: Disk;
  readonly marks: FileMarks;
  /** That of the processes. */
  readonly guard: PromptGuard;
  placesOf(agent: AgentRecord): Promise<Places>;
  /** What a command of an agent may touch on the disk. */
  policyOf(agent: AgentRecord, places: Places, freezesSkills: boolean): Promise<Omit<SandboxPolicy, "cwd" | "domains">>;
  /** Where it runs: `host` means without a sandbox, which only the owner can say. */
  hostOf(agent: AgentRecord, context: Pick<EffectContext, "behalf">): Promise<"sandbox" | "host">;
  settings(): ExecSettings;
  /** How many directories are searched for repositories before a command. */
  readonly maxDirectories?: number;
  /** The environment of every command, without secrets. */
  environment(): Readonly<Record<string, string>>;
  /** The value of a secret. Throws if it is missing. */
  secret(name: string): string;
  /** Called after each start. */
  started?(): void;
  /** The secrets whose values no output shows. */
  secretValues(): SecretValues;
}
