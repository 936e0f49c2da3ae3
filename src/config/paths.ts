/** The paths below `$ROOKERY_HOME`. Only names; nothing is read or created. */
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

export interface HomePaths {
  readonly home: string;
  readonly config: string;
  readonly database: string;
  /** Keys set with `rookery models keys`. */
  readonly auth: string;
  /** Tokens of logins made with `rookery models login`. */
  readonly logins: string;
  /** The gateway token of the owner of the home. */
  readonly token: string;
  /** Hashes of tokens for other people. */
  readonly tokens: string;
  readonly agents: string;
  readonly files: string;
  /** The owner's workspace. */
  readonly workspace: string;
  /** The directories of other people. */
  readonly people: string;
  readonly logs: string;
  readonly subagents: string;
  readonly cron: string;
  /** The address of a shared database, if the environment names one; the configuration may name one too. */
  readonly sharedStore?: string;
  /** Whether this node also writes the plain files of a shared database into its home. */
  readonly mirror?: boolean;
}

export const DIRECTORY_MODE = 0o700;
export const FILE_MODE = 0o600;

/** The directories of a home, itself first. */
export const homeDirectories = (paths: HomePaths): readonly string[] => [
  paths.home,
  paths.agents,
  paths.files,
  paths.workspace,
  paths.logs,
  paths.subagents,
  paths.cron,
];

export const homePaths = (home: string): HomePaths => ({
  home,
  config: join(home, "rookery.json5"),
  database: join(home, "rookery.db"),
  auth: join(home, "auth.json"),
  logins: join(home, "logins.json"),
  token: join(home, "token"),
  tokens: join(home, "tokens.json"),
  agents: join(home, "agents"),
  files: join(home, "files"),
  workspace: join(home, "workspace"),
  people: join(home, "people"),
  logs: join(home, "logs"),
  subagents: join(home, "subagents"),
  cron: join(home, "cron"),
});

/** Which people and files shared the owner's workspace before each person had an own directory. Absent: none, or checked. */
export const sharedBeforeFile = ({ home }: Pick<HomePaths, "home">): string => join(home, "shared-before.txt");

/** Backups without another name, and copies of the database before it is migrated. */
export const backupDirectory = ({ home }: Pick<HomePaths, "home">): string => join(home, "backups");

/** The text of the configuration while `rookery config edit` has it open, and after it was refused. */
export const configDraft = ({ home }: Pick<HomePaths, "home">): string => join(home, "rookery.edit.json5");

/** Beside the home: it is being replaced by a backup. */
export const restoreMarker = (home: string): string => `${home}.restore.json`;

/** The files of commands that agents have started. */
export const processDirectory = ({ home }: Pick<HomePaths, "home">): string => join(home, "processes");

/** The search index. It can be deleted at any time: it is built again. */
export const searchFile = ({ home }: Pick<HomePaths, "home">): string => join(home, "search.db");

/** Pinned descriptions of MCP servers' tools, and the directories in which local servers work. */
export const mcpDirectory = ({ home }: Pick<HomePaths, "home">): string => join(home, "mcp");
/** Logins at remote MCP servers. */
export const mcpAuthFile = ({ home }: Pick<HomePaths, "home">): string => join(home, "mcp-auth.json");

/** The home: from the command line, else the environment, else `~/.rookery`. */
export function resolveHome(
  said: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  userHome: string = homedir(),
): string {
  const written = said ?? (env.ROOKERY_HOME || "~/.rookery");
  return resolve(expandUser(written, userHome));
}

/** Resolves a path of the configuration: `~` is the user's home, a relative path starts at the Rookery home. */
export function resolvePath(written: string, home: string, userHome: string = homedir()): string {
  const path = expandUser(written, userHome);
  return isAbsolute(path) ? path : resolve(home, path);
}

const expandUser = (path: string, userHome: string): string =>
  path === "~" || path.startsWith("~/") ? join(userHome, path.slice(1)) : path;
