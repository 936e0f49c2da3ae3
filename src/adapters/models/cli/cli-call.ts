/**
 * A model that is a program on this machine, such as another agent's command line. It gets the conversation as text and prints an
 * answer. It keeps its own session: its id is kept per agent and provider (`cliSessionIds`), and with it only new messages are sent.
 */
import type { ModelError, ModelMessage } from "../../../core/ports/model.ts";
import type { CallDeps, ProviderCall, ProviderResult } from "../provider-call.ts";
import { answerOf, type CliAnswer } from "./cli-answer.ts";
import { conversationText, newMessages } from "./cli-prompt.ts";
import type { CliSettings } from "./cli-settings.ts";
import { type ProgramEnd, runProgram } from "./run-program.ts";

export async function callCli(_deps: CallDeps, call: ProviderCall): Promise<ProviderResult> {
  const { model, request } = call;
  const { cli } = model;
  if (!cli) return failed(call, { class: "request", message: `The provider ${model.provider} has no command.` });
  const sessionId = request.cliSessionIds?.[model.provider];
  const since = !cli.resume || sessionId === undefined ? undefined : newMessages(request.messages, model.provider);
  if (since && cli.resume) {
    const resumed = await ask(call, cli, cli.resume, since, sessionId);
    // A session that the program has forgotten: it gets the whole conversation.
    if (!resumed.error || resumed.error.class === "aborted") return resumed;
  }
  return ask(call, cli, cli.command, request.messages, undefined);
}

const ANSWER_SECONDS = 600;

async function ask(
  call: ProviderCall,
  cli: CliSettings,
  template: readonly string[],
  messages: readonly ModelMessage[],
  sessionId: string | undefined,
): Promise<ProviderResult> {
  const { model, request, signal } = call;
  const prompt = conversationText(messages, sessionId === undefined ? request.system : undefined);
  const isArgument = template.some((part) => part.includes("{prompt}"));
  const values = { model: model.id, system: request.system, prompt, sessionId: sessionId ?? "" };
  const argv = template.map((part) => filled(part, values));
  const end = await runProgram({
    argv,
    input: isArgument ? "" : prompt,
    env: cli.env,
    timeoutMs: (cli.timeoutSeconds ?? ANSWER_SECONDS) * 1000,
    signal,
  });
  const problem = problemOf(end, argv[0] ?? "", signal);
  if (problem) return failed(call, problem);
  const answer = answerOf(end.output, cli.output);
  if ("problem" in answer) return failed(call, { class: "transient", message: answer.problem });
  return answered(call, answer, sessionId);
}

/** Replaced in one pass: a value that contains a placeholder is not replaced again. */
const filled = (part: string, values: Readonly<Record<string, string>>): string =>
  part.replace(/\{(model|system|prompt|sessionId)\}/g, (_, name: string) => values[name] ?? "");

function answered(call: ProviderCall, answer: CliAnswer, before: string | undefined): ProviderResult {
  const { model, onEvent, request } = call;
  const text = request.maxCharacters === undefined ? answer.text : answer.text.slice(0, request.maxCharacters);
  onEvent({ type: "text", delta: text });
  const id = answer.sessionId ?? before;
  return {
    ...about(call),
    content: [{ type: "text", text }],
    stopReason: "stop",
    usage: answer.usage,
    cliSession: id === undefined ? undefined : { provider: model.provider, id },
  };
}

const about = ({ model }: ProviderCall) => ({ api: model.api, provider: model.provider, model: model.id });

const failed = (call: ProviderCall, error: ModelError): ProviderResult => ({
  ...about(call),
  content: [],
  stopReason: error.class === "aborted" ? "aborted" : "error",
  error,
});

function problemOf(end: ProgramEnd, program: string, signal: AbortSignal): ModelError | undefined {
  if (signal.aborted) return { class: "aborted", message: "aborted" };
  if (end.is === "missing") return { class: "request", message: `${program} cannot be started: ${end.why}.` };
  if (end.is === "late") return { class: "transient", message: `${program} took too long and was ended.` };
  if (end.code === 0) return undefined;
  const said = (end.errors.trim() || end.output.trim()).slice(0, 500);
  return { class: "transient", message: `${program} ended with exit code ${end.code}: ${said}` };
}
