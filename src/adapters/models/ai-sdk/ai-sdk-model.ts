/**
 * A model of the AI SDK as a model of the engine: one `doStream` per call. The SDK repeats nothing here; the loop has a rule for
 * each class of error. Never throws.
 */
import { InvalidInputError } from "../../../core/errors.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { Model, ModelEvent, ModelRequest } from "../../../core/ports/model.ts";
import { hasDocuments, isRefused, withoutDocuments } from "../documents.ts";
import type { CallDeps } from "../provider-call.ts";
import type { ProviderModel } from "../provider-model.ts";
import { type CallContext, type ReportedFailure, runProviderCall } from "../run-provider-call.ts";
import { withUsageOf } from "../used-before.ts";
import { callOptions, type Receiver } from "./call-options.ts";
import { PartCollector } from "./collect-parts.ts";
import { type LanguageModel, type StreamPart, takesPdfs, VERSIONS, versionOf } from "./language-model.ts";
import { reportedFailure } from "./reported-failure.ts";

const AI_SDK_API = "ai-sdk";

interface AiSdkDeps {
  readonly clock: Clock;
  /** A call ends as `transient` if no part arrives for this long. */
  readonly stallMs: number;
}

/** Throws `InvalidInputError` for a version of the specification that is not known. */
export function aiSdkModel(given: LanguageModel, { clock, stallMs }: AiSdkDeps): Model {
  const version = versionOf(given);
  if (!version) {
    throw new InvalidInputError(`The model has the specification ${JSON.stringify(given.specificationVersion)}.`, {
      hint: `Use a model of the AI SDK with one of ${VERSIONS.join(", ")}, or your own model port.`,
    });
  }
  const receiver: Receiver = { version, api: AI_SDK_API, provider: given.provider, id: given.modelId };
  const model: ProviderModel = {
    ...receiver,
    baseUrl: "",
    contextWindow: 0,
    maxTokens: 0,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    thinking: [],
    images: true,
  };
  // The model sends its requests itself.
  const deps: CallDeps = { clock, fetch: globalThis.fetch, userAgent: "" };
  const call = async (request: ModelRequest, signal: AbortSignal, onEvent: (event: ModelEvent) => void) => {
    const documents = hasDocuments(request) && (await takesPdfs(given).catch(() => false));
    return runProviderCall(deps, { model, request, key: undefined, stallMs, signal, onEvent }, (context) =>
      converse(given, callOptions(request, { ...receiver, documents }, context.signal), context, clock),
    );
  };
  return {
    async call(request, signal, onEvent) {
      const result = await call(request, signal, onEvent);
      // If the model refuses the request with its documents, their text is sent instead.
      if (!hasDocuments(request) || !isRefused(result) || signal.aborted) return result;
      return withUsageOf([result], await call(withoutDocuments(request), signal, onEvent));
    },
  };
}

async function converse(
  model: LanguageModel,
  options: object,
  { exchange, signal, draft, forward }: CallContext,
  clock: Clock,
): Promise<ReportedFailure | undefined> {
  const collector = new PartCollector(forward);
  draft.read = () => collector.answer();
  try {
    const { stream } = await model.doStream(options as never);
    for await (const part of stream as AsyncIterable<StreamPart> & ReadableStream<unknown>) {
      exchange.received();
      if (signal.aborted) return undefined;
      if (part.type === "error") return failureOf(part.error, clock);
      collector.take(part);
    }
  } catch (error) {
    return failureOf(error, clock);
  }
  return collector.end();
}

/** Throws the error again if it says nothing: then the connection broke. */
function failureOf(error: unknown, clock: Clock): ReportedFailure {
  const reported = reportedFailure(error, clock);
  if (reported) return reported;
  throw error;
}
