/** A router over scripted providers. It records which provider was called with which key. */

import { type VirtualClock, virtualClock } from "../../../test/kit/clock.ts";
import { parseConfig } from "../../config/parse-config.ts";
import { type Log, type LogFields, silentLog } from "../../core/ports/log.ts";
import type {
  CallPrice,
  ModelChoice,
  ModelError,
  ModelEvent,
  ModelRequest,
  ModelResult,
} from "../../core/ports/model.ts";
import { offlineModel } from "./offline-model.ts";
import type { ProviderCall, ProviderResult } from "./provider-call.ts";
import { Providers } from "./providers.ts";
import { ModelRouter } from "./router.ts";

export type Answer = Partial<ProviderResult> | Partial<ModelError> | undefined;

export interface TestRouter {
  readonly clock: VirtualClock;
  /** `provider/id key`, in order. */
  readonly asked: string[];
  readonly calls: ProviderCall[];
  readonly logged: string[];
  readonly events: ModelEvent[];
  readonly env: Record<string, string | undefined>;
  readonly stored: Record<string, Record<string, string>>;
  ask(request?: Partial<ModelRequest>, signal?: AbortSignal): Promise<ModelResult>;
  price(choice: ModelChoice): Promise<CallPrice | undefined>;
}

export function testRouter(
  config: string,
  script: (call: ProviderCall, n: number) => Answer | Promise<Answer>,
  detected = "offline",
): TestRouter {
  const clock = virtualClock();
  const asked: string[] = [];
  const calls: ProviderCall[] = [];
  const logged: string[] = [];
  const events: ModelEvent[] = [];
  const env: Record<string, string | undefined> = {};
  const stored: Record<string, Record<string, string>> = {};
  const note = (message: string, fields: LogFields = {}): void =>
    void logged.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { ...silentLog, warn: note, info: note, error: note };
  const { config: parsed } = parseConfig({ text: `{ models: ${config} }`, file: "rookery.json5", env: {} });
  const secrets = {
    env,
    readFile: (): string => {
      throw new TypeError("no files here");
    },
  };
  const providers = new Providers(parsed.models, { clock, secrets, storedKeys: () => stored });
  const router = new ModelRouter({
    deps: { clock, fetch, userAgent: "rookery/test" },
    log,
    providers,
    offline: offlineModel,
    detect: async () => detected,
    apiFor: async ({ api }) =>
      api === "unheard-of"
        ? undefined
        : async (_, call) => {
            asked.push(`${call.model.provider}/${call.model.id} ${call.key ?? "-"}`);
            calls.push(call);
            const answer = (await script(call, calls.length)) ?? {};
            const said =
              "class" in answer ? { error: { message: "scripted", ...answer } as ModelError } : (answer as object);
            return {
              content: [{ type: "text", text: "fine" }],
              stopReason: "error" in said ? "error" : "stop",
              api: call.model.api,
              provider: call.model.provider,
              model: call.model.id,
              ...said,
            };
          },
  });
  return {
    clock,
    asked,
    calls,
    logged,
    events,
    env,
    stored,
    price: (choice) => router.price(choice),
    ask: (request = {}, signal = new AbortController().signal) =>
      router.call(
        {
          model: "house/m",
          system: "",
          messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
          tools: [],
          sessionId: "s",
          tries: 1,
          ...request,
        },
        signal,
        (event) => events.push(event),
      ),
  };
}
