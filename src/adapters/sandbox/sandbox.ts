/**
 * The contract of a sandbox: it turns a command into one that the system confines. What a command can touch is decided by the
 * policy alone, which is made for each command (L13).
 */

/** All paths are absolute. A deeper path overrides a shallower one, so a hidden directory may lie inside a writable one. */
export interface SandboxPolicy {
  readonly cwd: string;
  readonly writable: readonly string[];
  /** Shown, read-only, although they are inside a hidden directory. Everything that is not hidden is read-only too. */
  readonly readable: readonly string[];
  /** Directories look empty and files have no content. */
  readonly hidden: readonly string[];
  /** Files and directories inside writable ones that stay read-only. */
  readonly frozen: readonly string[];
  /** Whether it must not make repositories either; those that exist are among `frozen`. */
  readonly guardsRepositories?: boolean;
  /** Hosts that the command may reach, such as `example.org` and `*.example.org`. Empty: no network at all. */
  readonly domains: readonly string[];
  /** It may open local sockets, as browsers do. Those of services stay hidden with the directories they are in. */
  readonly sockets?: boolean;
}

export interface SandboxedCommand {
  readonly argv: readonly string[];
  /** Call when the command has ended, or could not be started. */
  release(): void;
}

const SANDBOX_KINDS = ["srt", "bwrap", "docker"] as const;
export type SandboxKind = (typeof SANDBOX_KINDS)[number];

export interface Sandbox {
  readonly kind: SandboxKind;
  /** Whether it can let a command reach some hosts and no others. Without that a command has no network. */
  readonly filtersNetwork: boolean;
  /** The paths of the policy are resolved here. `names`: the variables of the environment that the command gets. */
  wrap(
    argv: readonly string[],
    policy: SandboxPolicy,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<SandboxedCommand>;
  close(): Promise<void>;
}
