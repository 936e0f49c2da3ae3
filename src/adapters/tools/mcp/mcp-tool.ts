/**
 * A tool of an MCP server, for agents. The gate judges it as `mcp__server__tool` and asks unless a rule allows it. A server that ends
 * during a call leaves the outcome unknown: the call is repeated only if the owner listed the tool as safe (L4).
 */
import type { Client } from "@modelcontextprotocol/client";
import { errorText, InvalidInputError, ServerUnavailableError } from "../../../core/errors.ts";
import type { Tool, ToolContext, ToolOutput } from "../../../core/ports/tool.ts";
import { asideNote } from "../files/set-aside.ts";
import type { CallAnswers } from "./call-answers.ts";
import { inputAsked, type OpenInputs, type PendingInput } from "./input-asked.ts";
import type { CallToolResult, McpSession } from "./open-session.ts";
import { pinnedInput } from "./pinned-input.ts";
import type { PinnedTool } from "./pinned-tools.ts";
import type { ServerLink } from "./server-link.ts";
import { mcpToolName } from "./tool-name.ts";
import { toolOutput } from "./tool-output.ts";

export interface McpToolDeps {
  readonly server: string;
  readonly link: ServerLink;
  readonly isSafe: (tool: string) => boolean;
  /** Whether the owner lets agents use it. */
  readonly isOffered: (tool: string) => boolean;
  readonly timeoutMs: () => number;
  /** Tools whose description differs from the pinned one. Asks the server. */
  readonly changed: (session: McpSession) => Promise<ReadonlySet<string>>;
  /** The questions of an agent that no one has answered. */
  readonly open: (agentId: string) => Promise<OpenInputs>;
  /** Answers to questions that an older server asks during the call, by the call. */
  readonly answers: CallAnswers;
  /** Sets aside what the server has put in the place of prompt files. Returns their paths. */
  readonly settle?: () => Promise<readonly string[]>;
}

const MAX_OUTPUT = 20_000;

export const mcpTool = (
  deps: McpToolDeps,
  { name, description, parameters }: PinnedTool,
): Tool<Record<string, unknown>> => ({
  name: mcpToolName(deps.server, name),
  description,
  input: pinnedInput(parameters),
  parameters,
  rights: ["network"],
  replay: deps.isSafe(name) ? "safe" : "never",
  parallel: false,
  untrusted: true,
  maxOutput: MAX_OUTPUT,
  execute: (args, context) => callServer(deps, { tool: name, args }, context),
});

export interface ServerCall {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** A person's answers, and the state that the server wants back. */
  readonly given?: PendingInput;
}

/** Calls a tool, and sets aside files that the server put in the place of prompt files. */
export async function callServer(deps: McpToolDeps, call: ServerCall, context: ToolContext): Promise<ToolOutput> {
  let aside: readonly string[] = [];
  const output = await tried(deps, call, context).finally(async () => {
    aside = (await deps.settle?.()) ?? [];
  });
  if (aside.length === 0) return output;
  return { ...output, content: [...output.content, { type: "text", text: `[${asideNote(aside)}]` }] };
}

async function tried(deps: McpToolDeps, call: ServerCall, context: ToolContext): Promise<ToolOutput> {
  let isSent = false;
  const onSend = (): void => {
    isSent = true;
  };
  const attempt = () => deps.link.use((session) => called(deps, session, call, context, onSend), context.signal);
  try {
    return await attempt();
  } catch (error) {
    if (context.signal.aborted || error instanceof ServerUnavailableError || error instanceof InvalidInputError)
      throw error;
    if (!isBroken(error)) return failed(deps, error);
    if (!isSent || deps.isSafe(call.tool)) return attempt();
    throw new ServerUnavailableError(
      `The MCP server ${deps.server} ended during the call. Whether ${call.tool} has taken effect is unknown.`,
      { cause: error, hint: "Look at the outcome before you call it again." },
    );
  }
}

async function called(
  deps: McpToolDeps,
  session: McpSession,
  call: ServerCall,
  context: ToolContext,
  onSend: () => void,
): Promise<ToolOutput> {
  const { tool, args, given } = call;
  if ((await deps.changed(session)).has(tool))
    throw new InvalidInputError(`The description of ${tool} has changed since it was pinned, so it is not called.`, {
      hint: `The owner looks at it with \`rookery mcp check ${deps.server}\` and pins it with \`rookery mcp pin ${deps.server}\`.`,
    });
  // Newer servers get the answers with the call, older ones ask for them during it.
  deps.answers.begin(given?.keys ? undefined : given?.answers);
  let asked: ReturnType<CallAnswers["end"]> = [];
  onSend();
  const result = await request(session.client, { tool, args, given }, deps.timeoutMs(), context).finally(() => {
    asked = deps.answers.end();
  });
  if ("resultType" in result && result.resultType === "input_required")
    return inputAsked(deps.server, call, result as object, context, await deps.open(context.agentId));
  if (asked.length > 0 && !given)
    return inputAsked(deps.server, call, { questions: asked }, context, await deps.open(context.agentId));
  return toolOutput(result as CallToolResult, deps.server);
}

function request(client: Client, { tool, args, given }: ServerCall, timeoutMs: number, context: ToolContext) {
  const answers = given?.keys ? { inputResponses: given.responses, requestState: given.state } : {};
  return client.callTool({ name: tool, arguments: { ...args }, ...answers } as Parameters<Client["callTool"]>[0], {
    signal: context.signal,
    timeout: timeoutMs,
    resetTimeoutOnProgress: true,
    maxTotalTimeout: timeoutMs * 10,
    allowInputRequired: true,
    onprogress: ({ progress, total, message }) =>
      context.progress((message ?? `${progress}${total === undefined ? "" : ` of ${total}`}`).slice(0, 500)),
  });
}

/** Whether the connection ended before the answer came. */
const isBroken = (error: unknown): boolean => {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } };
  const codes = [code, cause?.code].map(String);
  return (
    codes.some((each) =>
      ["-32000", "CONNECTION_CLOSED", "ConnectionClosed", "ECONNRESET", "EPIPE", "UND_ERR_SOCKET"].includes(each),
    ) || /connection closed|socket|terminated/i.test(errorText(error))
  );
};

/** A refusal of the server is a result that the model reads. */
const failed = ({ server }: McpToolDeps, error: unknown): ToolOutput => ({
  content: [{ type: "text", text: `The server refused the call: ${errorText(error).slice(0, 2_000)}` }],
  isError: true,
  untrusted: { from: `mcp:${server}` },
});
