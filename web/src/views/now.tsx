/** Running work, waiting work and its reasons, tasks for a person, and today's cost. */
import type { BusyAgent, Diagnosis } from "../../../src/core/agent/diagnosis.ts";
import type { Approval } from "../../../src/core/rights/approval.ts";
import { api, type Page } from "../api.ts";
import { count, duration, money } from "../format.ts";
import { type Query, useQuery } from "../query.ts";
import { linkTo } from "../router.ts";
import { isOwner } from "../session.ts";
import { t } from "../texts.ts";
import { ApprovalRow } from "../ui/approval-row.tsx";
import { Badge, DueTime, Empty, Loaded, Row, Rows, Section, Stat, ViewHead } from "../ui/parts.tsx";

interface Usage {
  readonly tokens: number;
  readonly dollars: number;
}

interface Job {
  readonly id: string;
  readonly name: string;
  readonly when: string;
  readonly enabled: boolean;
  readonly state: { readonly nextRunAtMs?: number };
}

const POLL_MS = 5_000;

const midnight = (): number => new Date().setHours(0, 0, 0, 0);

export function Now() {
  const owner = isOwner();
  const diagnosis = useQuery(
    (signal) => (owner ? api.get<Diagnosis>("/api/diagnosis", {}, signal) : ownDiagnosis(signal)),
    { key: "diagnosis", pollMs: POLL_MS },
  );
  const approvals = useQuery((signal) => api.get<Page<Approval>>("/api/approvals", { state: "pending" }, signal), {
    key: "pending",
    pollMs: POLL_MS,
  });
  const usage = useQuery((signal) => api.get<Usage>("/api/usage", { since: midnight() }, signal), { key: "usage" });
  const jobs = useQuery((signal) => api.get<Page<Job>>("/api/cron", {}, signal), { key: "jobs" });
  return (
    <div class="view">
      <ViewHead title={t.now.title} text={t.now.text} />
      <Stats diagnosis={diagnosis} approvals={approvals} usage={usage} />
      <div class="columns">
        <div>
          <Running diagnosis={diagnosis} />
        </div>
        <div>
          <NeedsYou diagnosis={diagnosis} approvals={approvals} />
          <NextJobs jobs={jobs} />
        </div>
      </div>
    </div>
  );
}

/** A guest sees the own agents only. */
async function ownDiagnosis(signal: AbortSignal): Promise<Diagnosis> {
  const { items: agents } = await api.get<Page<BusyAgent & { id: string; runId: string | null; updatedAt: number }>>(
    "/api/agents",
    { limit: 500 },
    signal,
  );
  const at = Date.now();
  const busy = agents
    .filter(({ runId, waiting }) => runId !== null || waiting > 0)
    .map((agent) => ({
      ...agent,
      agentId: agent.id as BusyAgent["agentId"],
      held: true,
      run:
        agent.runId === null
          ? undefined
          : {
              id: agent.runId as never,
              forMs: at - agent.updatedAt,
              attempt: 1,
              iterations: 0,
              calls: [],
              waitsForTrial: false,
            },
      next: [],
    }));
  return {
    at,
    busy,
    more: false,
    lanes: {},
    waits: [],
    deadLetters: [],
    waitingDeliveries: { "waiting-reader": 0, unroutable: 0 },
    degraded: [],
    failing: [],
    failedJobs: [],
  };
}

interface StatsProps {
  readonly diagnosis: Query<Diagnosis>;
  readonly approvals: Query<Page<Approval>>;
  readonly usage: Query<Usage>;
}

const DASH = "–";

function Stats({ diagnosis: { data }, approvals, usage }: StatsProps) {
  const running = data?.busy.filter(({ run }) => run).length;
  const waiting = data?.busy.reduce((sum, one) => sum + one.waiting, 0);
  const open = approvals.data?.items.length ?? 0;
  const failed = data ? data.deadLetters.length + data.failedJobs.length + data.degraded.length : 0;
  const lanes = Object.values(data?.lanes ?? {});
  const free = lanes.reduce((sum, { size, active }) => sum + size - active, 0);
  return (
    <div class="stats">
      <Stat label={t.now.running} value={running ?? DASH} note={lanes.length > 0 ? t.now.lanesFree(free) : undefined} />
      <Stat label={t.now.waiting} value={waiting ?? DASH} note={t.now.messagesWaiting} href={linkTo("inbox")} />
      <Stat
        label={t.now.needsYou}
        value={data ? open + failed : DASH}
        note={t.now.needNote(open, failed)}
        tone={open + failed > 0 ? "warn" : undefined}
        href={linkTo("approvals")}
      />
      <Stat
        label={t.now.costToday}
        value={usage.data ? money(usage.data.dollars) : DASH}
        note={usage.data ? t.now.tokens(count(usage.data.tokens)) : undefined}
        href={linkTo("spend")}
      />
    </div>
  );
}

function Running({ diagnosis }: { diagnosis: Query<Diagnosis> }) {
  return (
    <Section title={t.now.running}>
      <Loaded query={diagnosis}>
        {({ busy, more, waits }) =>
          busy.length === 0 ? (
            <Empty icon="now" title={t.now.quietTitle}>
              <p>{t.now.quietText}</p>
              <a class="button primary" href={linkTo("conversations", "main")}>
                {t.now.startChat}
              </a>
            </Empty>
          ) : (
            <>
              <Rows label={t.now.running}>
                {busy.map((agent) => (
                  <Busy
                    key={agent.agentId}
                    agent={agent}
                    waitsFor={waits.filter(({ from }) => from === agent.agentId).length}
                  />
                ))}
              </Rows>
              {more && <p class="muted">{t.now.moreBusy}</p>}
            </>
          )
        }
      </Loaded>
    </Section>
  );
}

function Busy({ agent, waitsFor }: { agent: BusyAgent; waitsFor: number }) {
  const { agentId, kind, run, waiting, next, stopped } = agent;
  const calls = run?.calls ?? [];
  return (
    <Row
      href={linkTo("conversations", agentId)}
      title={agent.name}
      lead={<span class={`pulse ${run ? "on" : ""}`} aria-hidden="true" />}
      side={
        <Badge tone={run ? "ok" : "neutral"}>{run ? t.now.running.toLowerCase() : t.now.waiting.toLowerCase()}</Badge>
      }
      meta={
        <>
          <span>{kind}</span>
          {run && (
            <a href={linkTo("runs", run.id)}>
              {t.now.runFor(duration(run.forMs))}
              {run.iterations > 0 && `, ${t.now.modelCalls(run.iterations)}`}
            </a>
          )}
          {run && run.attempt > 1 && <Badge tone="warn">{t.now.attempt(run.attempt)}</Badge>}
          {run?.waitsForTrial && <Badge tone="warn">{t.now.waitsForTrial}</Badge>}
          {waiting > 0 && <span>{t.now.waits(waiting)}</span>}
          {waitsFor > 0 && (
            <span>
              {t.now.waitsFor} {waitsFor}
            </span>
          )}
          {stopped && <Badge tone="bad">{t.now.stopped}</Badge>}
        </>
      }
    >
      {calls.length > 0 && <p class="row-note mono">{calls.join(", ")}</p>}
      {next.map((one, n) => (
        <p class="row-note" key={n}>
          {one.kind}, {duration(one.forMs)}: {one.will}
        </p>
      ))}
    </Row>
  );
}

function NeedsYou({ diagnosis, approvals }: Omit<StatsProps, "usage">) {
  const dead = diagnosis.data?.deadLetters ?? [];
  const jobs = diagnosis.data?.failedJobs ?? [];
  const degraded = diagnosis.data?.degraded ?? [];
  const unroutable = diagnosis.data?.waitingDeliveries.unroutable ?? 0;
  const isClear = dead.length + jobs.length + degraded.length + unroutable === 0;
  return (
    <Section title={t.now.needsYou}>
      <Loaded query={approvals} rows={2}>
        {({ items }) =>
          items.length === 0 && isClear ? (
            <p class="calm">{t.now.allClear}</p>
          ) : (
            <Rows label={t.now.needsYou}>
              {items.map((one) => (
                <ApprovalRow key={one.id} approval={one} onDecided={approvals.reload} />
              ))}
              {dead.length > 0 && (
                <Row
                  href={linkTo("outbox", undefined, { state: "failed" })}
                  title={t.now.deadLetters}
                  side={<Badge tone="bad">{dead.length}</Badge>}
                />
              )}
              {unroutable > 0 && (
                <Row
                  href={linkTo("outbox", undefined, { state: "unroutable" })}
                  title={t.now.unroutable(unroutable)}
                  side={<Badge tone="warn">{unroutable}</Badge>}
                />
              )}
              {jobs.map(({ id, name, error }) => (
                <Row
                  key={id}
                  href={linkTo("schedules", id)}
                  title={name}
                  side={<Badge tone="bad">{t.chat.failed}</Badge>}
                  meta={error}
                />
              ))}
              {degraded.map(({ agentId, agentName, reason }) => (
                <Row key={agentId} href={linkTo("agents", agentId)} title={agentName ?? t.now.degraded} meta={reason} />
              ))}
            </Rows>
          )
        }
      </Loaded>
    </Section>
  );
}

function NextJobs({ jobs }: { jobs: Query<Page<Job>> }) {
  return (
    <Section title={t.now.next}>
      <Loaded query={jobs} rows={2}>
        {({ items: all }) => {
          const due = all
            .filter(({ state }) => state.nextRunAtMs !== undefined)
            .sort((a, b) => (a.state.nextRunAtMs ?? 0) - (b.state.nextRunAtMs ?? 0));
          return due.length === 0 ? (
            <p class="calm">{t.now.noNext}</p>
          ) : (
            <Rows label={t.now.next}>
              {due.slice(0, 5).map(({ id, name, when, state }) => (
                <Row
                  key={id}
                  href={linkTo("schedules", id)}
                  title={name}
                  side={<DueTime at={state.nextRunAtMs} />}
                  meta={when}
                />
              ))}
            </Rows>
          );
        }}
      </Loaded>
    </Section>
  );
}
