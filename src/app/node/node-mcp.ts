/** The MCP servers of a node: how each one is reached, with its secrets, its sandbox and its login. */
import { randomBytes } from "node:crypto";
import { homedir } from "node:os";
import { join } from "node:path";
import { hiddenPaths, programPaths } from "../../adapters/sandbox/hidden-paths.ts";
import type { Sandbox } from "../../adapters/sandbox/sandbox.ts";
import { guardRepositories } from "../../adapters/tools/exec/guard-repositories.ts";
import { noGuard, type PromptGuard } from "../../adapters/tools/files/prompt-guard.ts";
import type { CallAnswers } from "../../adapters/tools/mcp/call-answers.ts";
import { McpServers } from "../../adapters/tools/mcp/mcp-servers.ts";
import type { ProviderOptions } from "../../adapters/tools/mcp/oauth-provider.ts";
import type { OpenSession } from "../../adapters/tools/mcp/open-session.ts";
import { withFrozen } from "../../adapters/workspace/command-policy.ts";
import { guardedFilesOf, PROMPT_NAMES, SKILL_NAMES } from "../../adapters/workspace/guarded-workspace-files.ts";
import type { Config } from "../../config/config-schema.ts";
import { secretDeps } from "../../config/load-config.ts";
import { type HomePaths, mcpAuthFile, mcpDirectory, resolvePath } from "../../config/paths.ts";
import type { McpServerConfig } from "../../config/sections/mcp.ts";
import type { Current } from "../../core/current.ts";
import { errorText } from "../../core/errors.ts";
import type { Ports } from "../../core/ports/ports.ts";
import { nodeSandbox } from "./node-sandbox.ts";

interface McpParts {
  readonly settings: Current<Config>;
  readonly paths: HomePaths;
  readonly ports: Pick<Ports, "clock" | "log" | "store">;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The directories of permanent agents. Absent: no call of a tool is made, only its server is looked at. */
  readonly permanents?: () => Promise<readonly string[]>;
  /** Knows which files a server must not change. Absent: none. */
  readonly guard?: PromptGuard;
}

export interface NodeMcp {
  readonly servers: McpServers;
  close(): Promise<void>;
}

export function nodeMcp(parts: McpParts): NodeMcp {
  const { settings, paths, ports, guard = noGuard } = parts;
  /** The sessions that live, by server: each is a writer of its own. */
  const writers = new Map<string, string>();
  const sandbox = nodeSandbox(parts);
  const servers = new McpServers({
    settings: () =>
      Object.fromEntries(Object.entries(settings.current.mcp.servers).filter(([, { enabled }]) => enabled)),
    open: (name, answers) => guarded(parts, name, writers, openerOf(parts, name, answers, sandbox.get)),
    prompts: async (name) => (await policyOf(parts, name)).frozen,
    settle: async (name) => guard.check(writers.get(name) ?? ""),
    directory: mcpDirectory(paths),
    store: ports.store,
    clock: ports.clock,
    log: ports.log,
  });
  return {
    servers,
    async close() {
      await servers.close();
      await sandbox.close();
    },
  };
}

/** A local server could write prompt files from its start to its end, not only during a call. */
function guarded(parts: McpParts, name: string, writers: Map<string, string>, open: OpenSession): OpenSession {
  const { guard = noGuard, settings } = parts;
  return async (timeoutMs, onClosed) => {
    const { url, sandbox = true } = settings.current.mcp.servers[name] ?? {};
    if (url !== undefined || !sandbox) return open(timeoutMs, onClosed);
    const { frozen, writable } = await guardRepositories(await policyOf(parts, name));
    const writer = `mcp-${randomBytes(8).toString("hex")}`;
    await guard.begin(writer, frozen, writable, "guarded");
    writers.set(name, writer);
    const end = async (): Promise<void> => {
      if (writers.get(name) === writer) writers.delete(name);
      await guard.end(writer).catch((error) => {
        parts.ports.log.warn("The files beside an MCP server were not looked at.", { error: errorText(error) });
      });
    };
    try {
      const session = await open(timeoutMs, () => {
        void end();
        onClosed();
      });
      return {
        ...session,
        async close() {
          await session.close();
          await end();
        },
      };
    } catch (error) {
      await end();
      throw error;
    }
  };
}

function openerOf(parts: McpParts, name: string, answers: CallAnswers, sandbox: () => Promise<Sandbox>): OpenSession {
  return async (timeoutMs, onClosed) => {
    const { openSession } = await import("../../adapters/tools/mcp/open-session.ts");
    const server = parts.settings.current.mcp.servers[name];
    const common = { elicit: answers.answer, timeoutMs, onClosed };
    if (server?.url !== undefined)
      return openSession({ ...common, isLocal: false, transport: () => remote(parts, name, server) });
    let errors = (): string => "";
    const transport = async () => {
      const { localTransport } = await import("../../adapters/tools/mcp/stdio-transport.ts");
      const opened = await localTransport(await localServer(parts, name, server, sandbox));
      errors = opened.errors;
      return opened.transport;
    };
    return openSession({ ...common, isLocal: true, transport, errors: () => errors() }).catch((error) => {
      throw errors() === ""
        ? error
        : Object.assign(error as Error, { message: `${(error as Error).message}: ${errors()}` });
    });
  };
}

async function remote({ settings, paths, env }: McpParts, name: string, server: McpServerConfig) {
  const [{ StreamableHTTPClientTransport }, { loginRequests }, { loginStorage, oauthProvider }] = await Promise.all([
    import("@modelcontextprotocol/client"),
    import("../../adapters/tools/mcp/login-requests.ts"),
    import("../../adapters/tools/mcp/oauth-provider.ts"),
  ]);
  const { url = "", headers, oauth } = server;
  const secrets = secretDeps(paths.home, env);
  const sent = Object.fromEntries(Object.entries(headers).map(([header, secret]) => [header, secret.reveal(secrets)]));
  const { allowPrivate } = settings.current.network;
  return new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: sent },
    fetch: loginRequests({ url, headers: sent, allowPrivate }).fetch,
    authProvider: oauth
      ? oauthProvider({ server: name, storage: loginStorage(mcpAuthFile(paths)), ...clientOf(server, secrets) })
      : undefined,
  });
}

/** Who this program is at the login server of an MCP server. */
export function clientOf(
  { clientId, clientSecret, clientMetadataUrl }: McpServerConfig,
  secrets: ReturnType<typeof secretDeps>,
): Pick<ProviderOptions, "client" | "metadataUrl"> {
  const client = clientId === undefined ? undefined : { id: clientId, secret: clientSecret?.reveal(secrets) };
  return { client, metadataUrl: clientMetadataUrl };
}

/** The variables that every program needs. Nothing else of the engine's environment reaches a server. */
const PASSED = ["PATH", "LANG", "LC_ALL", "TZ", "TERM"];

/** The files that a local server may touch. Prompt files change only through a reviewed change, whatever else it may write. */
async function policyOf({ settings, paths, env, permanents }: McpParts, name: string) {
  const { read = [], write = [], domains = [], sockets } = settings.current.mcp.servers[name] ?? {};
  const resolved = (list: readonly string[]) => list.map((path) => resolvePath(path, paths.home));
  const { roots } = guardedFilesOf(settings.current, paths);
  return {
    ...withFrozen(
      [join(mcpDirectory(paths), "work", name), ...resolved(write)],
      [...roots, ...((await permanents?.()) ?? [])],
      [...PROMPT_NAMES, ...SKILL_NAMES],
    ),
    readable: [...programPaths(env.PATH), ...resolved(read)],
    hidden: [...hiddenPaths(homedir()), paths.home, ...roots],
    domains,
    sockets,
  };
}

async function localServer(
  parts: McpParts,
  name: string,
  server: McpServerConfig | undefined,
  open: () => Promise<Sandbox>,
) {
  const { paths, env } = parts;
  const secrets = secretDeps(paths.home, env);
  const { command = "", args = [], sandbox = true } = server ?? {};
  const directory = join(mcpDirectory(paths), "work", name);
  const own = Object.fromEntries(
    Object.entries(server?.env ?? {}).map(([key, secret]) => [key, secret.reveal(secrets)]),
  );
  const passed = Object.fromEntries(PASSED.flatMap((key) => (env[key] === undefined ? [] : [[key, env[key]]])));
  return {
    ...{ command, args, directory, env: { HOME: directory, ...passed, ...own } },
    sandbox: sandbox ? { open, policy: await guardRepositories(await policyOf(parts, name)) } : undefined,
  };
}
