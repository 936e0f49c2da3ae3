/**
 * Where the commands of an agent run, and what the gate does about them: the ancestors' settings `execHost`, `execSecurity`,
 * `execAsk`, `execNode` and `elevatedLevel`. Only the owner sets them, and they count only in runs that act for the owner alone.
 */
import type { AgentRecord } from "../agent/agent.ts";
import {
  ELEVATED_LEVELS,
  type ElevatedLevel,
  EXEC_ASK,
  EXEC_HOSTS,
  EXEC_SECURITY,
  type ExecAsk,
  type ExecHost,
  type ExecSecurity,
} from "../agent/exec-fields.ts";
import { OWNER, type PersonId } from "../people/person.ts";

export interface ExecPolicy {
  /** `sandbox`: shut in. `gateway`: the machine of this process. `node`: the machine of another node. */
  readonly host: ExecHost;
  readonly node?: string;
  /** `deny`: no command. `allowlist`: what a rule or the list of safe commands allows. `full`: everything that no rule forbids. */
  readonly security: ExecSecurity;
  /** `off`: what is not allowed is denied. `on-miss`: it asks. `always`: every command asks. */
  readonly ask: ExecAsk;
  readonly elevated: ElevatedLevel;
  /** Why no command can run. */
  readonly refused?: string;
  /** The policy of the agent that started this one. A command needs the consent of both. */
  readonly bound?: ExecPolicy;
}

export const DEFAULT_EXEC: ExecPolicy = { host: "sandbox", security: "allowlist", ask: "on-miss", elevated: "off" };

/** The settings of a profile. Those of an agent replace them. */
interface ExecProfile {
  readonly host?: ExecHost;
  readonly node?: string;
  readonly security?: ExecSecurity;
  readonly ask?: ExecAsk;
  readonly elevated?: ElevatedLevel;
  /** The names of the cluster's nodes. Absent: there are no others. */
  readonly nodes?: readonly string[];
  /** One of the agents that started this one is sandboxed now. */
  readonly isShut?: boolean;
}

/** `people`: everyone on the run's way. */
export function execPolicyFor(
  { state }: { readonly state: Partial<AgentRecord["state"]> },
  people: PersonId | readonly PersonId[],
  profile: ExecProfile = {},
): ExecPolicy {
  const way = typeof people === "string" ? [people] : people;
  const isOwners = way.length > 0 && way.every((one) => one === OWNER);
  const settings: ExecProfile = isOwners ? ownersSettings(state, profile) : {};
  // A child of a sandboxed agent is sandboxed (`spawnedBy`).
  const { inheritedExec: parent } = state;
  const isShut = parent?.host === "sandbox" || (profile.isShut ?? false);
  const own = withElevation({
    host: isShut ? "sandbox" : (settings.host ?? DEFAULT_EXEC.host),
    node: isShut ? undefined : settings.node,
    security: securityOf(isOwners, settings.security, profile.security),
    ask: askOf(isOwners, settings.ask, profile.ask),
    elevated: isShut ? "off" : (settings.elevated ?? DEFAULT_EXEC.elevated),
  });
  return { ...own, bound: parent, refused: refusalOf(own, profile.nodes ?? []) };
}

/** A setting that this program does not know counts as absent, which is the strict default. */
const known = <T extends string>(words: readonly T[], value: string | undefined): T | undefined =>
  words.find((word) => word === value);

const ownersSettings = (state: Partial<AgentRecord["state"]>, profile: ExecProfile): ExecProfile => ({
  host: known(EXEC_HOSTS, state.execHost) ?? profile.host,
  node: state.execNode ?? profile.node,
  security: known(EXEC_SECURITY, state.execSecurity) ?? profile.security,
  ask: known(EXEC_ASK, state.execAsk) ?? profile.ask,
  elevated: known(ELEVATED_LEVELS, state.elevatedLevel) ?? profile.elevated,
});

/** For others a profile only narrows. */
function securityOf(isOwners: boolean, own: ExecSecurity | undefined, profile: ExecSecurity | undefined): ExecSecurity {
  if (isOwners) return own ?? DEFAULT_EXEC.security;
  return profile === "deny" ? "deny" : DEFAULT_EXEC.security;
}

function askOf(isOwners: boolean, own: ExecAsk | undefined, profile: ExecAsk | undefined): ExecAsk {
  if (isOwners) return own ?? DEFAULT_EXEC.ask;
  return profile ?? DEFAULT_EXEC.ask;
}

/** `on`: on the host, rules apply. `ask`: on the host, every command asks. `full`: on the host, nothing asks; denials hold. */
function withElevation(policy: ExecPolicy): ExecPolicy {
  const { elevated, security } = policy;
  if (elevated === "off" || security === "deny") return { ...policy, elevated: "off" };
  const onHost: ExecPolicy = { ...policy, host: policy.host === "node" ? "node" : "gateway" };
  if (elevated === "on") return onHost;
  return elevated === "ask" ? { ...onHost, ask: "always" } : { ...onHost, security: "full", ask: "off" };
}

/** Whether a name in the settings means this node: `mars` is every process on the machine mars, `mars pid 7` one of them. */
export const isNode = (wanted: string, name: string): boolean =>
  wanted !== "" && (name === wanted || name.startsWith(`${wanted} pid `));

function refusalOf({ host, node }: ExecPolicy, nodes: readonly string[]): string | undefined {
  if (host !== "node") return undefined;
  if (node === undefined) return "execHost is node, and execNode names no node";
  return nodes.some((name) => isNode(node, name)) ? undefined : `there is no node ${node} in this cluster`;
}
