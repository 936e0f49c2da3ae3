/** The transport to a local MCP server: its program runs in the sandbox, with only the variables that the configuration gives it. */
import type { Transport } from "@modelcontextprotocol/client";
import type { Sandbox, SandboxPolicy } from "../../sandbox/sandbox.ts";
import { makeDirectory } from "../../system/make-directory.ts";

interface LocalServer {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Its own directory, which it may write. */
  readonly directory: string;
  /** Absent: it runs without a sandbox. */
  readonly sandbox?: { readonly open: () => Promise<Sandbox>; readonly policy: Omit<SandboxPolicy, "cwd"> };
}

interface LocalTransport {
  readonly transport: Transport;
  /** The end of what it wrote to its standard error. */
  errors(): string;
}

const MAX_ERRORS = 2_000;
const MAX_MESSAGE = 16 * 1024 * 1024;

export async function localTransport(server: LocalServer): Promise<LocalTransport> {
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const { command, args, env, directory, sandbox } = server;
  makeDirectory(directory);
  let argv: readonly string[] = [command, ...args];
  let release = (): void => {};
  if (sandbox) {
    const policy: SandboxPolicy = { ...sandbox.policy, cwd: directory };
    const wrapped = await (await sandbox.open()).wrap(argv, policy, Object.keys(env), new AbortController().signal);
    argv = wrapped.argv;
    release = wrapped.release;
  }
  const [program = command, ...rest] = argv;
  let text = "";
  // A class of its own is asked for its version on its own connection, not on that of a second process.
  class OwnTransport extends StdioClientTransport {
    override async close(): Promise<void> {
      await super.close();
      release();
    }
  }
  const transport = new OwnTransport({
    ...{ command: program, args: [...rest], env: { ...env }, cwd: directory, stderr: "pipe" as const },
    maxBufferSize: MAX_MESSAGE,
  });
  transport.stderr?.on("data", (chunk: Buffer) => {
    text = (text + chunk.toString("utf8")).slice(-MAX_ERRORS);
  });
  return { transport, errors: () => text.trim() };
}
