/** The ancestors' settings about commands: `execHost`, `execSecurity`, `execAsk`, `elevatedLevel`, `workspaceAccess`. */
import { z } from "zod";

export const EXEC_HOSTS = ["sandbox", "gateway", "node"] as const;
export const EXEC_SECURITY = ["deny", "allowlist", "full"] as const;
export const EXEC_ASK = ["off", "on-miss", "always"] as const;
export const ELEVATED_LEVELS = ["off", "on", "ask", "full"] as const;
export const WORKSPACE_ACCESS = ["none", "ro", "rw"] as const;

export type ExecHost = (typeof EXEC_HOSTS)[number];
export type ExecSecurity = (typeof EXEC_SECURITY)[number];
export type ExecAsk = (typeof EXEC_ASK)[number];
export type ElevatedLevel = (typeof ELEVATED_LEVELS)[number];
/** What an agent may do in its workspace. */
export type WorkspaceAccess = (typeof WORKSPACE_ACCESS)[number];

/** Only the owner sets these fields of an agent. */
export const OWNERS_FIELDS: readonly string[] = [
  "elevatedLevel",
  "execHost",
  "execSecurity",
  "execAsk",
  "execNode",
  "rules",
];

/** Values of these fields that give no right beyond the default. Any other value, and any allowance in `rules`, widens rights. */
const STRICT: Readonly<Record<string, readonly unknown[]>> = {
  execHost: ["sandbox"],
  execSecurity: ["deny", "allowlist"],
  execAsk: ["on-miss", "always"],
  elevatedLevel: ["off"],
};

export const widensRights = (field: string, value: unknown): boolean =>
  Object.hasOwn(STRICT, field) && value !== undefined && value !== null && STRICT[field]?.includes(value) === false;

/** What a child keeps of its parent's settings, and in `bound` of what the parent kept. */
export const inheritedExecSchema = z.object({
  host: z.enum(EXEC_HOSTS),
  node: z.string().optional(),
  security: z.enum(EXEC_SECURITY),
  ask: z.enum(EXEC_ASK),
  elevated: z.enum(ELEVATED_LEVELS),
  get bound(): z.ZodOptional<z.ZodType<InheritedExec>> {
    return inheritedExecSchema.optional();
  },
});

export interface InheritedExec {
  readonly host: ExecHost;
  readonly node?: string;
  readonly security: ExecSecurity;
  readonly ask: ExecAsk;
  readonly elevated: ElevatedLevel;
  readonly bound?: InheritedExec;
}
