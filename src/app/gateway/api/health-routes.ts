/** Health: probes without a token, metrics, the state of this node and of the others, the OpenAPI document. */
import { z } from "zod";
import { RookeryError } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import type { Connector, ConnectorHealth } from "../../../core/ports/connector.ts";
import { assertOwner } from "../auth/actor.ts";
import { media } from "../routing/output.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { listSchema } from "../schemas/list.ts";
import { doctorReportSchema, nodeRecordSchema } from "../schemas/status.ts";

const healthzRoute = defineRoute({
  name: "getLiveness",
  method: "GET",
  path: "/healthz",
  access: "anonymous",
  action: "health",
  tag: "health",
  summary: "Whether the process is alive",
  output: z.strictObject({ ok: z.boolean() }),
  handle: () => ({ json: { ok: true } }),
});

const readyzRoute = defineRoute({
  name: "getReadiness",
  method: "GET",
  path: "/readyz",
  access: "anonymous",
  action: "health",
  tag: "health",
  summary: "Whether the node accepts messages",
  output: {
    200: z.strictObject({ ready: z.literal(true) }),
    503: z.strictObject({ ready: z.literal(false), reason: z.string() }).describe("A message could not be stored now."),
  },
  async handle({ context }) {
    if (context.stopping.aborted) return { status: 503 as const, json: { ready: false as const, reason: "stopping" } };
    return context.ports.store.ready().then(
      () => ({ status: 200 as const, json: { ready: true as const } }),
      // Callers without a token learn the kind of the problem only.
      (error) => ({
        status: 503 as const,
        json: { ready: false as const, reason: error instanceof RookeryError ? error.code : "store" },
      }),
    );
  },
});

const metricsRoute = defineRoute({
  name: "getMetrics",
  method: "GET",
  path: "/metrics",
  access: "read",
  action: "manage.health",
  tag: "health",
  summary: "Counters and gauges, for Prometheus",
  output: media("text/plain", "The text format of Prometheus"),
  async handle({ context }) {
    const { rss, heapUsed } = process.memoryUsage();
    const waiting = await context.agents.deliveries.counts();
    const gauges = [
      {
        name: "deliveries_waiting_reader",
        help: "Deliveries in mailboxes, not yet acknowledged.",
        value: waiting["waiting-reader"],
      },
      { name: "deliveries_unroutable", help: "Deliveries without a route.", value: waiting.unroutable },
      { name: "streams_open", help: "Open streams.", value: context.streams.count },
      { name: "http_requests_in_flight", help: "Requests in progress.", value: context.metrics.inFlight },
      { name: "agents_loaded", help: "Agents in memory.", value: context.agents.loaded },
      { name: "agents_degraded", help: "Agents that could not be restored.", value: context.agents.degraded.size },
      { name: "resident_bytes", help: "Resident memory of the process.", value: rss },
      { name: "heap_used_bytes", help: "Heap in use.", value: heapUsed },
      {
        name: "uptime_seconds",
        help: "Seconds since the start.",
        value: Math.round((context.ports.clock.now() - context.startedAt) / 1000),
      },
    ];
    return { text: context.metrics.text(gauges), type: "text/plain; version=0.0.4; charset=utf-8" };
  },
});

const healthRoute = defineRoute({
  name: "getHealth",
  method: "GET",
  path: "/api/health",
  access: "read",
  action: "manage.health",
  tag: "health",
  summary: "The state of this node",
  output: z.strictObject({
    ok: z.boolean(),
    version: z.string(),
    node: z.number(),
    startedAt: z.number(),
    uptimeSeconds: z.number(),
    residentBytes: z.number(),
    agentsLoaded: z.number(),
    streams: z.number(),
    waitingDeliveries: z.strictObject({ unroutable: z.number(), "waiting-reader": z.number() }),
    degraded: z.record(z.string(), z.string()),
    connectors: z.record(
      z.string(),
      z.strictObject({
        ok: z.boolean(),
        detail: z.string(),
        lastError: z
          .strictObject({ at: z.number(), text: z.string() })
          .optional()
          .describe("The last failure, kept after it works again."),
        lagMs: z.number().optional().describe("How old the last message was when it was accepted."),
      }),
    ),
  }),
  async handle({ context }) {
    const { agents, ports } = context;
    return {
      json: {
        ok: agents.degraded.size === 0,
        version: context.version,
        node: agents.node,
        startedAt: context.startedAt,
        uptimeSeconds: Math.round((ports.clock.now() - context.startedAt) / 1000),
        residentBytes: process.memoryUsage().rss,
        agentsLoaded: agents.loaded,
        streams: context.streams.count,
        waitingDeliveries: await agents.deliveries.counts(),
        degraded: Object.fromEntries(agents.degraded),
        connectors: Object.fromEntries(
          [...ports.connectors].map(([name, connector]) => [name, withoutLogin(connector)]),
        ),
      },
    };
  },
});

/** A login is for the owner, who sees it among the connectors. */
function withoutLogin(connector: Connector): Omit<ConnectorHealth, "login"> {
  const { login: _, ...health } = connector.health();
  return health;
}

const nodesRoute = defineRoute({
  name: "listNodes",
  method: "GET",
  path: "/api/nodes",
  access: "read",
  action: "manage.health",
  tag: "health",
  summary: "The nodes that share this store",
  output: listSchema(nodeRecordSchema),
  handle: async ({ context }) => ({ json: listOf(await context.ports.store.nodes()) }),
});

const doctorRoute = defineRoute({
  name: "runDoctor",
  method: "GET",
  path: "/api/doctor",
  access: "operate",
  action: "manage.health",
  tag: "health",
  summary: "What `rookery doctor` checks: one sentence for each check, and what helps; reads and changes nothing",
  output: doctorReportSchema,
  async handle({ context, principal }) {
    assertOwner(principal);
    const { examine } = await import("../../operations/doctor/examine.ts");
    const { DOCTOR_CHECKS } = await import("../doctor/doctor-checks.ts");
    const { agents, ports, paths, env, models } = context;
    const refusedKeys = models?.refusedKeys();
    const engine = { connectors: ports.connectors, degraded: agents.degraded, refusedKeys };
    const facts = { paths, env, now: ports.clock.now(), config: context.settings.current, store: ports.store, engine };
    return { json: await examine(DOCTOR_CHECKS, facts) };
  },
});

const openApiRoute = defineRoute({
  name: "getOpenApi",
  method: "GET",
  path: "/openapi.json",
  access: "any",
  action: "message",
  tag: "health",
  summary: "This document",
  output: z.record(z.string(), z.unknown()).describe("An OpenAPI 3.1 document."),
  handle: async ({ context }) => ({ json: await context.openApi() }),
});

/** Loaded at the start, see eager-routes.ts. */
export const probeRoutes: readonly Route[] = [healthzRoute, readyzRoute];
export const healthRoutes: readonly Route[] = [metricsRoute, openApiRoute, healthRoute, nodesRoute, doctorRoute];
