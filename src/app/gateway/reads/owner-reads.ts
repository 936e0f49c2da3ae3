/**
 * Answers of the owner's reads without an engine and without the gateway: for commands while no engine runs. Each is the function
 * that the route uses too. A request that is not in the table, or not in its simplest form, is not answered here.
 */
import type { Config } from "../../../config/config-schema.ts";
import type { HomePaths } from "../../../config/paths.ts";
import { AGENT_ID, type AgentId } from "../../../core/ids.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import type { Transport, TransportRequest, TransportResponse } from "../../client/transport.ts";

export interface ReadSources {
  readonly store: StoreReader;
  /** Read when an answer needs it. */
  readonly config: () => Promise<Config>;
  readonly paths: HomePaths;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/** Undefined: the gateway must answer. */
type Read = (sources: ReadSources, query: ReadonlyMap<string, string>) => Promise<unknown>;

const READS: Readonly<Record<string, Read>> = {
  async "/api/agents"({ store }, query) {
    const { after, limit = "100", ...others } = Object.fromEntries(query);
    if (Object.keys(others).length > 0 || !/^[1-9]\d?\d?$/u.test(limit) || Number(limit) > 500) return undefined;
    if (after !== undefined && !AGENT_ID.test(after)) return undefined;
    const { listAgents } = await import("./agent-list.ts");
    return listAgents(store, { after: after as AgentId | undefined, limit: Number(limit) });
  },

  async "/api/status"({ store, config: readConfig, paths, env, clock }, query) {
    if (query.size > 0) return undefined;
    const [config, { readStatus }, { describeModel }, { midnightBefore }, { readVersion }] = await Promise.all([
      readConfig(),
      import("./status.ts"),
      import("../../node/describe-model.ts"),
      import("../../../adapters/system/midnight.ts"),
      import("../../../adapters/system/version.ts"),
    ]);
    const now = clock.now();
    const status = await readStatus({
      ...{ store, config, now, midnight: midnightBefore(now, config.session.timeZone), connectors: new Map() },
      describe: ({ agent, profile }) =>
        describeModel({ config, paths, env, clock }, { profile, state: agent?.state ?? {} }),
    });
    return { version: readVersion(), startedAt: now, url: config.gateway.publicUrl ?? null, ...status };
  },
};

export const OWNER_READS: readonly string[] = Object.keys(READS);

/** Undefined: the gateway must answer. */
export async function answerRead(
  sources: ReadSources,
  { method, path }: Pick<TransportRequest, "method" | "path">,
): Promise<TransportResponse | undefined> {
  const { pathname, searchParams } = new URL(path, "http://localhost");
  const read = method === "GET" && Object.hasOwn(READS, pathname) ? READS[pathname] : undefined;
  const query = new Map(searchParams);
  // A name that is there twice is the gateway's to refuse.
  const answer = query.size === searchParams.size ? await read?.(sources, query) : undefined;
  return answer === undefined ? undefined : responseOf(JSON.stringify(answer));
}

function responseOf(text: string): TransportResponse {
  async function* body(): AsyncGenerator<string> {
    yield text;
  }
  return { status: 200, body: body(), bytes: async () => Uint8Array.from(Buffer.from(text)) };
}

/** Asks the gateway only for what is not answered here. */
export const readingFirst =
  (sources: ReadSources, gateway: () => Promise<Transport>): Transport =>
  async (request) =>
    (await answerRead(sources, request)) ?? (await gateway())(request);
