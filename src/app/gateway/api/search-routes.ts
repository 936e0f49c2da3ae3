/** Search over conversations and notes. The owner searches everyone's conversations; everyone else their own. */

import { z } from "zod";
import { namesOfPerson, type SearchScope } from "../../../adapters/search/search-scope.ts";
import { agentIdSchema } from "../../../core/id-schemas.ts";
import type { AgentId } from "../../../core/ids.ts";
import { listOf } from "../../../core/list.ts";
import { OWNER } from "../../../core/people/person.ts";
import { MAX_QUERY } from "../../../core/search/parse-query.ts";
import type { SearchHit } from "../../../core/search/search-index.ts";
import { seesAgent } from "../auth/judge-request.ts";
import { isConfined } from "../auth/principal.ts";
import { speakerOf } from "../auth/speaker.ts";
import { HttpError } from "../http/http-error.ts";
import { withAgentNames } from "../reads/with-names.ts";
import { type Call, defineRoute, type Route } from "../routing/route.ts";
import { foundTextSchema } from "../schemas/agent.ts";
import { listSchema } from "../schemas/list.ts";
import { limitQuery } from "./params.ts";

const searchRoute = defineRoute({
  name: "search",
  method: "GET",
  path: "/api/search",
  access: "read",
  action: "sessions_history",
  own: true,
  tag: "sessions",
  summary:
    "Find words in conversations and notes, the best first. Quotes make a phrase, `word*` finds beginnings, everything else is words; `agent`: in one conversation only; `user`: of an application's user",
  query: z.strictObject({
    q: z.string().trim().min(1).max(MAX_QUERY),
    agent: agentIdSchema.optional(),
    user: z.string().trim().min(1).max(256).optional(),
    limit: limitQuery(50, 10),
  }),
  output: listSchema(foundTextSchema),
  async handle(call) {
    const { q, agent, limit } = call.query;
    const { memory } = call.context;
    if (!memory)
      throw new HttpError(501, "unsupported", "This engine uses a store of its program, which has no search index.", {
        hint: "Search one conversation with /api/agents/:agent/search.",
      });
    const scope = await scopeOf(call);
    const hits = await memory.index.search({ query: q, limit, agentId: agent as AgentId | undefined, ...scope });
    const items = (await visible(call, hits)).map(shown);
    return { json: listOf(await withAgentNames(call.context.ports.store, items), null) };
  },
});

async function scopeOf({ context, principal, query }: Call<unknown, { readonly user?: string }>): Promise<SearchScope> {
  const now = await context.agents.directory.recent();
  if (!isConfined(principal) && query.user === undefined) {
    const notes = context.memory?.notesOf(OWNER) ?? [];
    return { people: "all", notes };
  }
  const person = speakerOf(principal, query.user)?.person;
  if (person === undefined) return { people: { app: principal.app ?? "" }, notes: [] };
  return { people: namesOfPerson(now, person), notes: context.memory?.notesOf(now.personOf(person)) ?? [] };
}

/** The scope already limits the search; each conversation is judged once more, as the routes that show it do. */
async function visible({ context, principal }: Pick<Call, "context" | "principal">, hits: readonly SearchHit[]) {
  const ids = [...new Set(hits.flatMap(({ agentId }) => agentId ?? []))];
  const agents = await Promise.all(ids.map((id) => context.ports.store.agent(id)));
  const seen = new Set(agents.flatMap((agent) => (agent && seesAgent(principal, agent) ? [agent.id] : [])));
  return hits.filter(({ agentId }) => agentId === undefined || seen.has(agentId));
}

/** Without the directory: where the files of a home are is no one's business over HTTP. */
const shown = ({ directory: _, ...hit }: SearchHit) => hit;

export const searchRoutes: readonly Route[] = [searchRoute];
