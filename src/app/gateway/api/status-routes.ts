/** The status of the engine on one screen, for the owner. */
import { z } from "zod";
import { TERMINAL_CHANNEL } from "../../../core/delivery/route.ts";
import { hostZone, startOfDay } from "../../../core/zoned-time.ts";
import { assertOwner } from "../auth/actor.ts";
import { readStatus } from "../reads/status.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { approvalSchema } from "../schemas/rights.ts";
import { busyItemSchema, failingMessageSchema, modelLoginSchema, refusedKeySchema } from "../schemas/status.ts";

const statusRoute = defineRoute({
  name: "getStatus",
  method: "GET",
  path: "/api/status",
  access: "operate",
  action: "manage.health",
  tag: "health",
  summary: "What `rookery status` shows: the model, today's cost, what works, failed, comes next and waits",
  output: z.strictObject({
    model: z.string().nullable(),
    why: z.string().nullable().describe("Why it is this model."),
    logins: z.array(modelLoginSchema),
    refusedKeys: z.array(refusedKeySchema).describe("Keys that model providers refused. Only a running engine knows."),
    failed: z.number().nullable().describe("Messages that failed within a day."),
    failing: z.array(failingMessageSchema).nullable().describe("Messages whose handling keeps failing."),
    heldBack: z.number().nullable().describe("How many runs wait for their trial after repeated crashes (M13)."),
    schedules: z
      .array(z.strictObject({ id: z.string(), name: z.string(), at: z.number() }))
      .nullable()
      .describe("The next schedules."),
    channels: z
      .array(
        z.strictObject({
          channel: z.string(),
          name: z.string(),
          state: z.enum(["elsewhere", "failing", "off", "running", "starting"]),
          detail: z.string(),
        }),
      )
      .nullable(),
    leftBehind: z
      .string()
      .nullable()
      .describe("The conversations that a change of `session.dmScope` leaves behind, as a sentence."),
    terminal: z.string().describe("The name of the owner at the terminal."),
    today: z.strictObject({ tokens: z.number(), dollars: z.number() }),
    working: z.number().describe("How many agents are at work, and the first of them."),
    busy: z.array(busyItemSchema),
    undelivered: z.number(),
    approvals: z.array(approvalSchema),
    version: z.string(),
    startedAt: z.number(),
    url: z.string().nullable(),
  }),
  async handle({ context, principal }) {
    assertOwner(principal);
    const { agents, ports, version, startedAt, address } = context;
    const { store, clock, connectors } = ports;
    const config = context.settings.current;
    const now = clock.now();
    const status = await readStatus({
      ...{ store, config, connectors, now, midnight: startOfDay(now, config.session.timeZone ?? hostZone()) },
      async describe({ agent, profile }) {
        const { model, why, logins, refusedKeys } = await agents.describe({
          agent,
          profile,
          channel: TERMINAL_CHANNEL,
        });
        return { model, why, logins, refusedKeys };
      },
    });
    return { json: { version, startedAt, url: config.gateway.publicUrl ?? address.url ?? null, ...status } };
  },
});

export const statusRoutes: readonly Route[] = [statusRoute];
