/** The status of the engine on one screen, for the owner. */
import { TERMINAL_CHANNEL } from "../../../core/delivery/route.ts";
import { hostZone, startOfDay } from "../../../core/zoned-time.ts";
import { assertOwner } from "../auth/actor.ts";
import { readStatus } from "../reads/status.ts";
import { defineRoute, type Route } from "../routing/route.ts";

const statusRoute = defineRoute({
  method: "GET",
  path: "/api/status",
  access: "operate",
  action: "manage.health",
  tag: "health",
  summary: "What `rookery status` shows: the model, today's cost, what works, failed, comes next and waits",
  answers: {
    status: 200,
    holds:
      "`{ version, startedAt, url, terminal, model, why, logins, refusedKeys, today, working, busy, undelivered, approvals, failed, schedules, channels, leftBehind }`; `working` agents are at work, `busy` are the first 50 of them; `failed` messages in a day",
  },
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
