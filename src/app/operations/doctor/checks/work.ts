/** Checks of the work: stuck runs, agents that could not be restored, deliveries, schedules and budgets. */

import { allowedOf, limitsOf } from "../../../../core/budget/budget.ts";
import { shortId } from "../../../../core/ids.ts";
import { namerOf } from "../../../../core/store/agent-names.ts";
import { failingHelp, failingMessages, failingText } from "../../../../core/store/failing-messages.ts";
import { hostZone } from "../../../../core/zoned-time.ts";
import { dayIn } from "../../../../engine/budgets/budget-settings.ts";
import { defineCheck, type Finding } from "../check.ts";

/** How many are looked at and named. */
const LOOKED_AT = 500;
const NAMED = 5;
const STUCK_MS = 3_600_000;
const DAY_MS = 24 * STUCK_MS;

export const runsCheck = defineCheck({
  id: "runs",
  needs: ["store"],
  async check({ store, now, engine }) {
    const busy = await store.busyAgents({ limit: LOOKED_AT });
    const findings: Finding[] = [];
    const namer = namerOf(store);
    for (const agent of busy) {
      const run = agent.runId && (await store.run(agent.runId));
      if (!run || run.body.suspended || now - run.startedAt < STUCK_MS) continue;
      const hours = Math.round((now - run.startedAt) / 3_600_000);
      const text = `A run of ${await namer.name(agent)} began ${hours} hours ago and has not ended.`;
      findings.push({
        level: "problem",
        text,
        help: `\`rookery runs show ${shortId(run.id)}\`; \`rookery runs abort ${shortId(run.id)}\` ends it.`,
      });
    }
    for (const message of (await failingMessages(store, busy, namer.name)).slice(0, NAMED)) {
      findings.push({ level: "problem", text: failingText(message), help: failingHelp(message) });
    }
    const heldBack = await store.heldBackRuns({ limit: LOOKED_AT });
    if (heldBack.length > 0) {
      const [first] = heldBack;
      const text = `${counted(heldBack.length, "run waits for its trial", "runs wait for their trial")}: the engine stopped twice or more while they were open. The first is ${shortId(first?.id ?? "")}.`;
      findings.push({
        level: "notice",
        text,
        help: `They are tried one half after the other. \`rookery runs show ID\` shows one, \`rookery runs abort ID\` ends it.`,
      });
    }
    if (!engine && busy.length > 0) {
      const text = `${busy.length}${busy.length === LOOKED_AT ? " or more" : ""} agents have work, and no engine runs.`;
      findings.push({ level: "notice", text, help: "`rookery serve` starts it." });
    }
    for (const [agentId, reason] of [...(engine?.degraded ?? [])].slice(0, NAMED)) {
      findings.push({
        level: "problem",
        text: `The agent ${(await namer.nameById(agentId).catch(() => undefined)) ?? shortId(agentId)} could not be restored: ${reason}`,
        help: `\`rookery agents show ${shortId(agentId)}\`.`,
      });
    }
    return {
      fine: busy.length === 0 ? "No run is stuck; nothing is at work." : `No run is stuck; ${busy.length} agents work.`,
      findings: findings.slice(0, 2 * NAMED),
    };
  },
});

export const deliveriesCheck = defineCheck({
  id: "deliveries",
  needs: ["store"],
  async check({ store, now }) {
    const findings: Finding[] = [];
    const { unroutable } = await store.waitingDeliveries();
    if (unroutable > 0) {
      const text = `${unroutable} deliveries have no route: the channel they belong to is not connected.`;
      findings.push({
        level: "problem",
        text,
        help: "`rookery channels outbox list --state unroutable`; connect the channel, or `rookery channels outbox drop ID`.",
      });
    }
    const dead = await store.deliveries({ limit: LOOKED_AT, states: ["failed", "unconfirmed"] });
    const recent = dead.filter(({ endedAt, createdAt }) => (endedAt ?? createdAt) > now - DAY_MS);
    for (const state of ["failed", "unconfirmed"] as const) {
      const count = recent.filter((one) => one.state === state).length;
      if (count === 0) continue;
      const text = `${count} deliveries of the last day ended ${state}.`;
      findings.push({
        level: "problem",
        text,
        help: `\`rookery channels outbox list --state ${state}\`; \`rookery channels outbox retry ID\` sends one again.`,
      });
    }
    return { fine: "Every delivery of the last day arrived or waits for its turn.", findings };
  },
});

const counted = (count: number, one: string, more: string): string => `${count} ${count === 1 ? one : more}`;

export const schedulesCheck = defineCheck({
  id: "schedules",
  needs: ["store", "config"],
  async check({ store, config, now, engine }) {
    const jobs = await store.jobs({ limit: LOOKED_AT });
    const enabled = jobs.filter((job) => job.enabled);
    // As `rookery schedules list` counts them: the heartbeat is the engine's own.
    const own = enabled.filter((job) => !job.system).length;
    const heartbeat = own < enabled.length ? " and the heartbeat" : "";
    const findings: Finding[] = [];
    if (own > 0 && !config.cron.enabled) {
      findings.push({
        level: "problem",
        text: `${counted(own, "schedule is", "schedules are")} enabled, but cron.enabled is false.`,
        help: "Set cron.enabled to true.",
      });
    }
    const missed = enabled.filter(
      ({ state }) => state.nextRunAtMs !== undefined && state.nextRunAtMs < now - 5 * 60_000,
    );
    if (missed.length > 0) {
      const names = missed
        .slice(0, NAMED)
        .map(({ name }) => name)
        .join(", ");
      const text = `${counted(missed.length, "schedule is", "schedules are")} overdue by more than five minutes: ${names}.`;
      findings.push({
        level: "problem",
        text,
        help: engine
          ? "`rookery schedules list` and `rookery engine logs` show why."
          : "`rookery serve` starts the engine.",
      });
    }
    for (const { id, name, state } of jobs.filter((job) => job.state.lastStatus === "error").slice(0, NAMED)) {
      findings.push({
        level: "problem",
        text: `The schedule ${name} failed: ${state.lastError ?? "no reason"}`,
        help: `\`rookery schedules runs ${shortId(id)}\`.`,
      });
    }
    for (const { id, name, state } of jobs.filter((job) => job.state.disabledReason !== undefined).slice(0, NAMED)) {
      findings.push({
        level: "notice",
        text: `The schedule ${name} was turned off: ${state.disabledReason}`,
        help: `\`rookery schedules enable ${shortId(id)}\`.`,
      });
    }
    return { fine: `${counted(own, "schedule", "schedules")}${heartbeat}, none overdue.`, findings };
  },
});

export const budgetsCheck = defineCheck({
  id: "budgets",
  needs: ["config", "store"],
  async check({ config, store, now }) {
    const limits = limitsOf(config.budgets);
    if (!limits.day) {
      return {
        fine: "",
        findings: [
          {
            level: "notice",
            text: "There is no limit for what a day may cost.",
            help: "Set budgets.day.dollars, or run `rookery setup`.",
          },
        ],
      };
    }
    const key = `day:${dayIn(now, config.session.timeZone ?? hostZone())}`;
    const row = await store.budget(key);
    const allowed = row && allowedOf(limits.day, row.lifted);
    const isUsedUp =
      (allowed?.micros !== undefined && (row?.spent.micros ?? 0) >= allowed.micros) ||
      (allowed?.tokens !== undefined && (row?.spent.tokens ?? 0) >= allowed.tokens);
    return {
      fine: "Today's budget is not used up.",
      findings: isUsedUp
        ? [
            {
              level: "problem",
              text: "Today's budget is used up.",
              help: `\`rookery usage lift ${key}\` allows the same amount again.`,
            },
          ]
        : [],
    };
  },
});
