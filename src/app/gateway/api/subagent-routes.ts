/** Subagent runs: list, inspect, wait, message the child, stop it, forget one that has ended. */
import { z } from "zod";
import { subagentRunRecordSchema } from "../../../core/agent/subagent-run.ts";
import { DeniedError, InvalidInputError, InvariantError } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import { accepted, acceptOnce } from "../messages/accept-once.ts";
import { mailboxFor } from "../messages/address.ts";
import { agentSummary } from "../reads/agent-list.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { agentSummarySchema, subagentWaitSchema } from "../schemas/agent.ts";
import { listSchema } from "../schemas/list.ts";
import { acceptedSchema } from "../schemas/message.ts";
import { runRecordSchema } from "../schemas/run.ts";
import { agentParams, requireAgent, runParams, waitQuery } from "./params.ts";

const subagentsRoute = defineRoute({
  name: "listSubagents",
  method: "GET",
  path: "/api/subagents",
  access: "read",
  action: "subagents",
  tag: "agents",
  summary: "Subagent runs that have not ended, all of one requester, or with `all` every one",
  query: z.strictObject({
    requester: z.string().min(1).max(512).optional(),
    all: z.enum(["true", "false"]).optional(),
  }),
  output: listSchema(subagentRunRecordSchema),
  async handle({ context, query: { requester, all } }) {
    const those = all === "true" ? undefined : { open: true as const };
    const filter = requester === undefined ? those : { requesterSessionKey: requester };
    return { json: listOf(await context.ports.store.subagentRuns(filter)) };
  },
});

const subagentRoute = defineRoute({
  name: "getSubagent",
  method: "GET",
  path: "/api/subagents/:run",
  access: "read",
  action: "subagents",
  tag: "agents",
  summary: "One subagent run: its task, its run if it has started, the child agent",
  params: runParams,
  output: z.strictObject({
    record: subagentRunRecordSchema,
    run: runRecordSchema.nullable(),
    child: agentSummarySchema.nullable(),
  }),
  async handle({ context, params }) {
    const { record, run, child } = await context.agents.subagents.info(params.run);
    return { json: { record, run: run ?? null, child: child ? await agentSummary(context.ports.store, child) : null } };
  },
});

const waitForSubagentRoute = defineRoute({
  name: "waitForSubagent",
  method: "GET",
  path: "/api/subagents/:run/wait",
  access: "read",
  action: "subagents",
  tag: "agents",
  summary: "Wait for a child's end, one minute or `timeoutMs`; a timeout is a normal answer",
  params: runParams,
  query: waitQuery,
  output: subagentWaitSchema,
  handle: async ({ context, params, query: { timeoutMs } }) => ({
    json: await context.agents.subagents.wait(params.run, {
      signal: context.stopping,
      timeoutMs,
    }),
  }),
});

const messageSubagentRoute = defineRoute({
  name: "messageSubagent",
  method: "POST",
  path: "/api/subagents/:run/messages",
  access: "operate",
  action: "subagents",
  tag: "agents",
  summary: "Send a message to a child: into its current run, or as its next message",
  params: runParams,
  example: { text: "Also look at last week." },
  body: z.strictObject({ text: z.string().trim().min(1) }),
  accepts: true,
  output: { 202: acceptedSchema },
  async handle(call) {
    const { context, params, body } = call;
    const message = async () => {
      const [op] = await context.agents.subagents.sendOps(params.run, body.text, undefined);
      if (op?.op !== "message.post" || !("agentId" in op.to))
        throw new InvariantError("sendOps did not return a message to an agent id.");
      return { to: { agentId: op.to.agentId }, body: op.message.body };
    };
    return accepted(await acceptOnce(call, message));
  },
});

const stopSubagentRoute = defineRoute({
  name: "stopSubagent",
  method: "POST",
  path: "/api/subagents/:run/stop",
  access: "operate",
  action: "subagents",
  tag: "agents",
  summary: "Stop a child and all its descendants; each of them still reports",
  params: runParams,
  output: z.strictObject({ stopped: z.string() }),
  async handle({ context, params, record }) {
    const reply = { json: { stopped: params.run } };
    await context.agents.subagents.stop(params.run, "stopped by a person", record(reply));
    return reply;
  },
});

const releaseSubagentRoute = defineRoute({
  name: "releaseSubagent",
  method: "DELETE",
  path: "/api/subagents/:run",
  access: "operate",
  action: "subagents",
  tag: "agents",
  summary: "Forget a subagent run that has ended and reported",
  params: runParams,
  output: z.strictObject({ released: z.string() }),
  async handle({ context, params }) {
    await context.agents.subagents.release(params.run);
    return { json: { released: params.run } };
  },
});

const spawnRoute = defineRoute({
  name: "spawnSubagent",
  method: "POST",
  path: "/api/agents/:agent/spawn",
  access: "operate",
  action: "sessions_spawn",
  tag: "agents",
  summary: "Start a subagent of an agent, which gets its report; the subagent is durable when the answer is 202",
  params: agentParams,
  example: { task: "Count the open orders.", label: "counter", runTimeoutSeconds: 300 },
  body: z.strictObject({
    task: z.string().trim().min(1),
    label: z.string().max(200).optional(),
    /** The profile it speaks as. */
    agentId: z.string().max(100).optional(),
    model: z.string().max(200).optional(),
    thinking: z.string().max(50).optional(),
    runTimeoutSeconds: z.number().min(0).max(10_000_000).optional(),
    cleanup: z.enum(["delete", "keep"]).optional(),
  }),
  output: {
    202: z.strictObject({
      status: z.literal("accepted"),
      childSessionKey: z.string(),
      runId: z.string(),
      modelApplied: z.boolean().optional(),
      warning: z.string().optional(),
    }),
  },
  async handle({ context, params, principal, body, record }) {
    const requester = await requireAgent({ context, principal }, params.agent);
    const person = await context.agents.people.personOf(requester);
    const request = { ...body, tool: "spawn", requester, person, origin: mailboxFor(principal, requester) };
    const started = await context.agents.subagents.start(request, (json) => record({ status: 202 as const, json }));
    if (started.status === "forbidden") throw new DeniedError(started.error);
    if (started.status === "error") throw new InvalidInputError(started.error);
    return { status: 202 as const, json: started };
  },
});

export const subagentRoutes: readonly Route[] = [
  spawnRoute,
  subagentsRoute,
  subagentRoute,
  waitForSubagentRoute,
  messageSubagentRoute,
  stopSubagentRoute,
  releaseSubagentRoute,
];
