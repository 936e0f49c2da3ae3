/** The limits of what every route takes: the lengths of texts and lists, the bounds of numbers, the sizes of pages. */
import { expect, it } from "vitest";
import { z } from "zod";
import { ROUTES } from "./route-table.ts";
import type { Route } from "./routing/route.ts";

/** `MIN..MAX` of each field, and `=DEFAULT` of a number in the query. */
const LIMITS = `
POST /v1/chat/completions: body.model 1..512, body.user 1..256, body.messages 1..10000, body.messages[].role ..32,
  body.messages[].content ..1000, body.messages[].content[].type ..64, body.messages[].tool_calls ..1000,
  body.messages[].tool_calls[].function.name ..64, body.messages[].tool_call_id ..256
POST /v1/responses: body.model 1..512, body.user 1..256, body.input 1..10000, body.input[].type ..64,
  body.input[].role ..32, body.input[].content ..1000, body.input[].content[].type ..64, body.input[].call_id ..256,
  body.input[].name ..64, body.input[].output ..1000, body.input[].output[].type ..64,
  body.previous_response_id ..256
POST /api/chat: body.id 1..256, body.messages 1..10000, body.messages[].role ..32, body.messages[].parts ..1000,
  body.messages[].parts[].type ..64, body.model 1..512, body.trigger ..64
GET /api/chat/:chat/stream: params.chat 1..256, query.model 1..512
GET /v1/models/:model: params.model 1..512
POST /api/models/test: body.model 1..512
GET /api/logs: query.after 0..=, query.limit 1..1000=200
GET /channels/:account: params.account 1..100
POST /channels/:account: params.account 1..100
GET /api/agents: query.limit 1..500=100
GET /api/agents/:agent: params.agent 1..512
GET /api/agents/:agent/history: params.agent 1..512, query.before 0..=, query.limit 1..500=50
GET /api/agents/:agent/transcript: params.agent 1..512, query.session 1..128, query.cwd ..4096
POST /api/agents: body.name 1..200, body.description 1..2000, body.systemPrompt 1.., body.username 1..200,
  body.profile 1..64
GET /api/agents/:agent/memory: params.agent 1..512
GET /api/agents/:agent/inbox: params.agent 1..512
GET /api/agents/:agent/messages: params.agent 1..512, query.state ..1000, query.before 0..=, query.limit 1..500=50
GET /api/agents/:agent/messages/:seq: params.agent 1..512, query.waitSeconds 0..60=
POST /api/agents/:agent/messages/:seq/drop: params.agent 1..512
GET /api/agents/:agent/messages/:seq/events: params.agent 1..512
POST /api/agents/:agent/messages: params.agent 1..512, body.files ..20, body.files[] 1..128, body.sender.id 1..256,
  body.sender.name ..256, body.queue.debounceMs 0..3600000, body.queue.cap 1..10000, body.waitSeconds 0..600
GET /api/inbox: query.before ..64, query.limit 1..500=50
POST /api/agents/:agent/reset: params.agent 1..512
POST /api/agents/:agent/stop: params.agent 1..512
POST /api/agents/:agent/stop-tree: params.agent 1..512
POST /api/agents/:agent/start: params.agent 1..512
DELETE /api/agents/:agent: params.agent 1..512
PATCH /api/agents/:agent/state: params.agent 1..512
POST /api/agents/:agent/compact: params.agent 1..512, body.instructions 1.., body.waitSeconds 0..600
POST /api/agents/:agent/branch: params.agent 1..512, body.entryId 1..100, body.summary 1..
POST /api/agents/:agent/spawn: params.agent 1..512, body.task 1.., body.label ..200, body.agentId ..100,
  body.model ..200, body.thinking ..50, body.runTimeoutSeconds 0..10000000
GET /api/subagents: query.requester 1..512
GET /api/subagents/:run/wait: query.timeoutMs 0..999999=
POST /api/subagents/:run/messages: body.text 1..
GET /api/swarms: query.after ..80, query.limit 1..500=100
GET /api/swarms/:nametag: params.nametag 1..80, query.limit 1..500=50
POST /api/swarms: body.firstName 1..200, body.lastName 1..200, body.bio 1..2000, body.about 1..2000,
  body.systemPrompt 1..1000000
DELETE /api/swarms/:nametag: params.nametag 1..80
GET /api/agents/:agent/runs: params.agent 1..512, query.limit 1..200=20
GET /api/agents/:agent/events: params.agent 1..512
GET /api/runs/:run/wait: query.timeoutMs 0..999999=
POST /api/runs/:run/steer: body.text 1..
GET /api/tree: query.root 1..512, query.depth 0..64=, query.limit 1..2000=200
GET /api/outbox: query.state ..1000, query.agent 1..512, query.after 0..=, query.limit 1..500=100
GET /api/outbox/:delivery: params.delivery 1..256
POST /api/outbox/:delivery/retry: params.delivery 1..256
POST /api/outbox/:delivery/edit: params.delivery 1..256, body.text 1..
POST /api/outbox/:delivery/drop: params.delivery 1..256
GET /api/approvals: query.agent 1..512, query.user 1..256, query.before 0..=, query.limit 1..500=100
GET /api/approvals/:approval: params.approval 1..64, query.user 1..256
POST /api/approvals/:approval: params.approval 1..64, body.reason 1..500, body.digest ..128, body.user 1..256
GET /api/deliveries: query.user 1..256, query.terminal 1..256, query.after 0..=, query.limit 1..500=100,
  query.wait 0..60=
GET /api/deliveries/events: query.user 1..256, query.terminal 1..256
POST /api/deliveries/ack: body.ids 1..1000, body.ids[] 1..256, body.user 1..256, body.terminal 1..256
POST /api/files: query.user 1..256, query.name ..1000
GET /api/files: query.user 1..256, query.after ..128, query.limit 1..500=100
GET /api/files/usage: query.user 1..256
GET /api/files/:file: params.file 1..128, query.user 1..256
GET /api/files/:file/content: params.file 1..128, query.user 1..256
GET /api/deliveries/:delivery/files/:file: params.delivery 1..256, params.file 1..128, query.user 1..256,
  query.terminal 1..256
DELETE /api/files/:file: params.file 1..128, query.user 1..256
DELETE /api/files: query.user 1..256, query.person 1..512
GET /api/sessions: query.limit 1..500=100
GET /api/sessions/:key: params.key 1..512
GET /api/search: query.q 1..1000, query.user 1..256, query.limit 1..50=10
GET /api/conversations: query.q ..200, query.limit 1..200=50
GET /api/agents/:agent/search: params.agent 1..512, query.q 1..200, query.before 0..=, query.limit 1..100=20
GET /api/usage: query.since 0..=
GET /api/usage/days: query.timeZone ..64, query.days 1..92=14
POST /api/budgets/:key/lift: params.key 1..512, body.tokens >0..9007199254740991, body.dollars >0..<1000000000,
  body.messages >0..9007199254740991
GET /api/cron: query.after ..256, query.limit 1..1000=200
GET /api/cron/:job: params.job 1..256
PATCH /api/cron/:job: params.job 1..256
DELETE /api/cron/:job: params.job 1..256
POST /api/cron/:job/run: params.job 1..256
GET /api/cron/:job/runs: params.job 1..256, query.before 0..=, query.limit 1..1000=100
GET /api/heartbeat: query.limit 1..1000=10
POST /api/heartbeat/run: body.profile 1..100
POST /api/wake: body.text 1.., body.profile 1..100
POST /hooks/:hook: params.hook 1..100
GET /api/changes: query.file 1..4096, query.limit 1..500=50, query.before 0..=
GET /api/changes/file: query.file 1..4096
POST /api/changes: body.file 1..4096, body.text ..8388608, body.why 1..1000
GET /api/skills/:skill: params.skill 1..64
POST /api/skills: body.files 1..200, body.files[].path 1..400, body.files[].text ..4194304, body.files[].path 1..400,
  body.files[].base64 ..8388608, body.source.at 1..2000, body.source.ref 1..200, body.source.skill ..64
DELETE /api/skills/:skill: params.skill 1..64
POST /api/tokens: body.name 1..128, body.scopes 1..4, body.expiresInDays >0..36500, body.person 1..64, body.app 1..64,
  body.limits.requestsPerMinute >0..1000000, body.limits.messagesPerDay >0.., body.limits.tokensPerDay >0..,
  body.limits.dollarsPerDay >0..
GET /api/people: query.after ..64, query.limit 1..500=100
GET /api/people/:person: params.person 1..64
POST /api/people: body.id 1..64, body.name ..200, body.accounts ..32, body.accounts[] 3..512, body.grants ..256,
  body.grants[].allow ..1000, body.grants[].note ..1000, body.grants[].shows ..1000, body.grants[].ask ..1000, body.grants[].note ..1000, body.grants[].shows ..1000,
  body.grants[].deny ..1000, body.grants[].note ..1000, body.grants[].shows ..1000, body.limits.messagesPerDay 0..9007199254740991, body.limits.tokensPerDay 0..9007199254740991,
  body.limits.dollarsPerDay 0.., body.timeZone ..64, body.language ..35
PATCH /api/people/:person: params.person 1..64, body.name ..200, body.timeZone ..64, body.language ..35,
  body.limits.messagesPerDay 0..9007199254740991, body.limits.tokensPerDay 0..9007199254740991,
  body.limits.dollarsPerDay 0..
DELETE /api/people/:person: params.person 1..64
POST /api/people/:person/accounts: params.person 1..64, body.account 3..512
DELETE /api/people/:person/accounts: params.person 1..64, query.account 3..512
POST /api/people/:person/grants: params.person 1..64, body.subject 1..1000, body.note ..1000
DELETE /api/people/:person/grants: params.person 1..64, query.subject 1..1000
GET /api/people/:person/data: params.person 1..512
DELETE /api/people/:person/data: params.person 1..512
POST /api/prune: body.days 1..36500
GET /api/permissions: query.agent 1..512, query.person 1..64
POST /api/permissions: body.rule 1..1000, body.because 1..1000, body.person 1..64, body.agent 1..512
DELETE /api/permissions: query.rule 1..1000, query.person 1..64, query.agent 1..512
POST /api/permissions/test: body.call 1..1000, body.person 1..64, body.agent 1..512
GET /api/permissions/explain/:what: params.what 1..512
POST /api/pairings/:code: params.code 1..512, body.as 1..64
POST /api/owner/accounts: body.account 3..512
POST /api/people/:person/invitations: params.person 1..64
POST /api/logins: body.code ..100, body.invitation ..100
GET /api/logins: query.person ..64
GET /api/audit: query.person 1..512, query.agent 1..512, query.action 1..512, query.since 0..=, query.before 0..=,
  query.limit 1..1000=100
GET /api/terminal: query.user 1..256, query.agent 1..512, query.thread 1..64, query.to 1..512
POST /api/terminal/messages: body.user 1..256, body.agent 1..512, body.thread 1..64, body.to 1..512, body.files ..20,
  body.files[] 1..128
GET /api/terminal/messages/:agent/:seq: params.agent 1..512, query.waitSeconds 0..60=
GET /assets/:file: params.file ..200
`;

type Schema = Readonly<Record<string, unknown>>;
type Note = (field: string, limit: string) => void;

/** The limits in a JSON schema. */
function inSchema(schema: unknown, at: string, note: Note): void {
  if (typeof schema !== "object" || schema === null) return;
  const { minLength, minItems, minimum, exclusiveMinimum, maxLength, maxItems, maximum, exclusiveMaximum, ...rest } =
    schema as Schema;
  const least = minLength ?? minItems ?? minimum ?? (exclusiveMinimum === undefined ? "" : `>${exclusiveMinimum}`);
  const most = maxLength ?? maxItems ?? maximum ?? (exclusiveMaximum === undefined ? "" : `<${exclusiveMaximum}`);
  if (least !== "" || most !== "") note(at, `${least}..${most}`);
  for (const [name, one] of Object.entries((rest.properties as Schema) ?? {})) inSchema(one, `${at}.${name}`, note);
  for (const forms of [rest.anyOf, rest.oneOf, rest.allOf]) {
    for (const one of (forms as Schema[] | undefined) ?? []) inSchema(one, at, note);
  }
  inSchema(rest.items, `${at}[]`, note);
  inSchema(rest.additionalProperties, `${at}{}`, note);
  inSchema(rest.propertyNames, `${at}{key}`, note);
}

/** The numbers in a query are texts there: their bounds are found by trying. */
function inQuery(query: z.ZodType | undefined, note: Note): void {
  if (!(query instanceof z.ZodObject)) return;
  for (const [name, field] of Object.entries(query.shape as Readonly<Record<string, z.ZodType>>)) {
    const takes = (text: string): boolean => field.safeParse(text).success;
    if (!takes("1") || takes("x")) continue;
    let [most, over] = [1, 1e15];
    while (over - most > 1) {
      const middle = Math.floor((most + over) / 2);
      if (takes(String(middle))) most = middle;
      else over = middle;
    }
    const byDefault = field.safeParse(undefined).data;
    note(`query.${name}`, `${takes("0") ? 0 : 1}..${most === 1e15 - 1 ? "" : most}=${byDefault ?? ""}`);
  }
}

function limitsOf(route: Route): readonly string[] {
  const found: string[] = [];
  const note: Note = (field, limit) => found.push(`${field} ${limit}`);
  for (const part of ["params", "query", "body"] as const) {
    const schema = route[part];
    if (schema) inSchema(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }), part, note);
  }
  inQuery(route.query, note);
  return found;
}

const TABLE = new Map(
  LIMITS.trim()
    .replaceAll("\n  ", " ")
    .split("\n")
    .map((line): [string, string[]] => {
      const [route = "", limits = ""] = line.split(": ");
      return [route, limits.split(", ")];
    }),
);

it.each(ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const))("%s", (name, route) => {
  expect(limitsOf(route)).toEqual(TABLE.get(name) ?? []);
});

it("has no limits of routes that do not exist", () => {
  const names = ROUTES.map(({ method, path }) => `${method} ${path}`);
  expect([...TABLE.keys()].filter((name) => !names.includes(name))).toEqual([]);
});
