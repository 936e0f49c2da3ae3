/** Loads the library's code for one API on first use. */
import type {
  Api,
  AssistantMessageEventStream,
  Context,
  Model,
  SimpleStreamOptions,
  TranscriptContext,
} from "@earendil-works/pi-ai";

export interface PiApi {
  stream(model: Model<Api>, context: Context, options: SimpleStreamOptions): AssistantMessageEventStream;
}

interface Streams {
  readonly streamSimple: (
    model: never,
    context: TranscriptContext,
    options?: SimpleStreamOptions,
  ) => AssistantMessageEventStream;
}

const LOADERS = {
  "anthropic-messages": (): Promise<Streams> => import("@earendil-works/pi-ai/api/anthropic-messages"),
  "openai-completions": (): Promise<Streams> => import("@earendil-works/pi-ai/api/openai-completions"),
  "openai-responses": (): Promise<Streams> => import("@earendil-works/pi-ai/api/openai-responses"),
  "openai-codex-responses": (): Promise<Streams> => import("@earendil-works/pi-ai/api/openai-codex-responses"),
  "pi-messages": (): Promise<Streams> => import("@earendil-works/pi-ai/api/pi-messages"),
  "google-generative-ai": (): Promise<Streams> => import("@earendil-works/pi-ai/api/google-generative-ai"),
} as const;

type PiApiName = keyof typeof LOADERS;
export const isPiApi = (name: string): name is PiApiName => Object.hasOwn(LOADERS, name);

const loaded = new Map<PiApiName, Promise<PiApi>>();

export function loadApi(name: PiApiName): Promise<PiApi> {
  let api = loaded.get(name);
  if (!api) {
    api = load(name);
    loaded.set(name, api);
  }
  return api;
}

async function load(name: PiApiName): Promise<PiApi> {
  // The vendor's client logs data that it cannot parse, which may be part of a conversation.
  process.env.OPENAI_LOG ??= "off";
  const [{ streamSimple }, { normalizeContext }] = await Promise.all([
    LOADERS[name](),
    import("@earendil-works/pi-ai/utils/transcript"),
  ]);
  return { stream: (model, context, options) => streamSimple(model as never, normalizeContext(context), options) };
}
