/** The process: how it is, what to check, channels, nodes, the log as it is written, and the configuration in force. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Diagnosis } from "../../../src/core/agent/diagnosis.ts";
import { api, type Page } from "../api.ts";
import { bytes, clockTime, count, duration } from "../format.ts";
import { type Query, usePoll, useQuery } from "../query.ts";
import { t } from "../texts.ts";
import { List } from "../ui/list.tsx";
import {
  Badge,
  Button,
  Details,
  DueTime,
  Loaded,
  Row,
  Rows,
  Section,
  Stat,
  Tabs,
  type Tone,
  ViewHead,
} from "../ui/parts.tsx";
import { showDone } from "../ui/toast.tsx";

interface Health {
  readonly ok: boolean;
  readonly version: string;
  readonly uptimeSeconds: number;
  readonly residentBytes: number;
  readonly agentsLoaded: number;
  readonly streams: number;
  readonly degraded: Readonly<Record<string, string>>;
}

interface Connector {
  readonly channel: string;
  readonly name: string;
  readonly state: string;
  readonly ok: boolean;
  readonly detail?: string;
  readonly lastError?: string;
  readonly waiting?: number;
  readonly login?: { readonly pairingCode?: string; readonly rows?: readonly string[] };
}

interface Node {
  readonly node: number;
  readonly name: string;
  readonly leaseUntil: number;
  readonly left: boolean;
}

const POLL_MS = 5_000;

export function HealthView() {
  const health = useQuery((signal) => api.get<Health>("/api/health", {}, signal), { key: "health", pollMs: POLL_MS });
  const diagnosis = useQuery((signal) => api.get<Diagnosis>("/api/diagnosis", {}, signal), {
    key: "diagnosis",
    pollMs: POLL_MS,
  });
  const connectors = useQuery((signal) => api.get<Page<Connector>>("/api/connectors", {}, signal), {
    key: "connectors",
    pollMs: POLL_MS,
  });
  const nodes = useQuery((signal) => api.get<Page<Node>>("/api/nodes", {}, signal), { key: "nodes", pollMs: POLL_MS });
  return (
    <div class="view">
      <ViewHead title={t.health.title} text={t.health.text} />
      <Loaded query={health} rows={1}>
        {(data) => (
          <div class="stats">
            <Stat
              label={t.health.version}
              value={data.version}
              note={data.ok ? t.health.ok : t.health.notOk}
              tone={data.ok ? undefined : "bad"}
            />
            <Stat label={t.health.uptime} value={duration(data.uptimeSeconds * 1_000)} />
            <Stat label={t.health.memory} value={bytes(data.residentBytes)} />
            <Stat label={t.health.agents} value={count(data.agentsLoaded)} />
            <Stat label={t.health.streams} value={count(data.streams)} />
          </div>
        )}
      </Loaded>
      <div class="columns">
        <div>
          <Doctor />
          <Log />
        </div>
        <div>
          <Channels connectors={connectors} />
          <Lanes diagnosis={diagnosis} />
          <Nodes nodes={nodes} />
        </div>
      </div>
      <Configuration />
    </div>
  );
}

interface Item {
  readonly check: string;
  readonly status: "ok" | "notice" | "problem" | "skipped";
  readonly text: string;
  readonly help?: string;
}

interface Report extends Page<Item> {
  readonly problems: number;
  readonly notices: number;
}

const STATUS_TONES: Readonly<Record<string, Tone>> = { problem: "bad", notice: "warn", ok: "ok" };
const DOCTOR_POLL_MS = 30_000;

/** The report of `rookery doctor`. Problems come first; passed checks are one click away. */
function Doctor() {
  const report = useQuery((signal) => api.get<Report>("/api/doctor", {}, signal), {
    key: "doctor",
    pollMs: DOCTOR_POLL_MS,
    isLive: false,
  });
  return (
    <Section title={t.health.checks} side={<Button onClick={report.reload}>{t.health.checkAgain}</Button>}>
      <Loaded query={report} rows={3}>
        {({ items, problems, notices }) => {
          const fine = items.filter(({ status }) => status === "ok" || status === "skipped");
          return (
            <>
              {problems + notices === 0 ? (
                <p class="calm">{t.health.noChecks}</p>
              ) : (
                <Rows label={t.health.checks}>
                  {["problem", "notice"].flatMap((wanted) =>
                    items
                      .filter(({ status }) => status === wanted)
                      .map((item, n) => <Check key={`${wanted}${n}`} {...item} />),
                  )}
                </Rows>
              )}
              <Details summary={t.health.passed(fine.length)}>
                <Rows label={t.health.passed(fine.length)}>
                  {fine.map((item, n) => (
                    <Check key={n} {...item} />
                  ))}
                </Rows>
              </Details>
            </>
          );
        }}
      </Loaded>
    </Section>
  );
}

const Check = ({ check, status, text, help }: Item) => (
  <Row
    title={text}
    side={<Badge tone={STATUS_TONES[status] ?? "neutral"}>{t.health.status[status]}</Badge>}
    meta={
      <>
        <span class="mono">{check}</span>
        {help && <span>{help}</span>}
      </>
    }
  />
);

/** The code of a channel changes every few seconds until a phone has taken it. */
const LINKING_POLL_MS = 500;

function Channels({ connectors }: { connectors: Query<Page<Connector>> }) {
  const isLinking = connectors.data?.items.some(({ login }) => login !== undefined);
  usePoll(isLinking ? LINKING_POLL_MS : undefined, connectors.reload);
  return (
    <Section title={t.health.connectors}>
      <List query={connectors} rows={1} label={t.health.connectors} none={t.health.noConnectors}>
        {({ channel, name, state, ok, detail, lastError, login }) => (
          <Row
            key={`${channel} ${name}`}
            title={name === channel ? channel : `${channel} ${name}`}
            side={<Badge tone={ok ? "ok" : "bad"}>{state}</Badge>}
            meta={login ? <Login {...login} /> : (detail ?? lastError)}
          />
        )}
      </List>
    </Section>
  );
}

/** A channel waits for the owner's phone: a code to type there, or one to scan. */
function Login({ pairingCode, rows = [] }: NonNullable<Connector["login"]>) {
  if (pairingCode !== undefined) return <span>{t.health.typeCode(pairingCode)}</span>;
  const size = rows.length + 8;
  const dark = rows.flatMap((row, y) =>
    [...row].flatMap((on, x) => (on === "1" ? [`M${x + 4} ${y + 4}h1v1h-1z`] : [])),
  );
  return (
    <span>
      {t.health.scanCode}
      <svg role="img" aria-label={t.health.scanCode} viewBox={`0 0 ${size} ${size}`} width="260" height="260">
        <path fill="#fff" d={`M0 0h${size}v${size}h-${size}z`} />
        <path fill="#000" d={dark.join("")} />
      </svg>
    </span>
  );
}

function Lanes({ diagnosis }: { diagnosis: Query<Diagnosis> }) {
  return (
    <Section title={t.health.lanes}>
      <Loaded query={diagnosis} rows={2}>
        {({ lanes }) => (
          <Rows label={t.health.lanes}>
            {Object.entries(lanes).map(([name, { active, size, waiting }]) => (
              <Row key={name} title={name} side={t.health.lane(active, size, waiting)} />
            ))}
          </Rows>
        )}
      </Loaded>
    </Section>
  );
}

function Nodes({ nodes }: { nodes: Query<Page<Node>> }) {
  return (
    <Section title={t.health.nodes}>
      <List query={nodes} rows={1} label={t.health.nodes} none={t.health.noNodes}>
        {({ node, name, leaseUntil, left }) => (
          <Row
            key={node}
            title={name}
            side={<Badge tone={left ? "neutral" : "ok"}>{left ? t.health.left : t.health.working}</Badge>}
            meta={left ? <DueTime at={leaseUntil} /> : undefined}
          />
        )}
      </List>
    </Section>
  );
}

interface Line {
  readonly n: number;
  readonly at: string;
  readonly level: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

const LEVELS = ["all", "warn", "error"] as const;
const LOG_POLL_MS = 2_000;

function Log() {
  const [level, setLevel] = useState<(typeof LEVELS)[number]>("all");
  const place = useRef<HTMLDivElement>(null);
  const log = useQuery((signal) => api.get<Page<Line>>("/api/logs", { limit: 300 }, signal), {
    key: "log",
    pollMs: LOG_POLL_MS,
    isLive: false,
  });
  const lines = (log.data?.items ?? []).filter(
    (line) => level === "all" || line.level === level || (level === "warn" && line.level === "error"),
  );
  const last = lines.at(-1)?.n;
  useEffect(() => {
    place.current?.scrollTo({ top: place.current.scrollHeight });
  }, [last]);
  return (
    <Section
      title={t.health.logs}
      side={<Tabs label={t.health.level} value={level} tabs={LEVELS.map((one) => [one, one])} onChange={setLevel} />}
    >
      <Loaded query={log} rows={3}>
        {() =>
          lines.length === 0 ? (
            <p class="calm">{t.health.noLogs}</p>
          ) : (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by the keyboard
            <div class="log" ref={place} tabIndex={0} role="log" aria-label={t.health.logs}>
              {lines.map(({ n, at, level: own, message, ...fields }) => (
                <div key={n} class={`log-line ${own}`}>
                  <span>{clockTime(Date.parse(at))}</span>
                  <span class="log-level">{own}</span>
                  <span>
                    {message} <span class="muted">{fieldsText(fields)}</span>
                  </span>
                </div>
              ))}
            </div>
          )
        }
      </Loaded>
    </Section>
  );
}

const fieldsText = (fields: Readonly<Record<string, unknown>>): string =>
  Object.entries(fields)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(" ");

function Configuration() {
  const config = useQuery((signal) => api.get<object>("/api/config", {}, signal), { key: "config", isLive: false });
  const reload = async (): Promise<void> => {
    await api.post("/api/config/reload");
    showDone(t.health.reloaded);
    config.reload();
  };
  return (
    <Section title={t.health.config} side={<Button onClick={reload}>{t.health.reload}</Button>}>
      <p class="hint">{t.health.configHint}</p>
      <Loaded query={config} rows={2}>
        {(data) => (
          <Details summary={t.common.show}>
            <pre class="code">{JSON.stringify(data, null, 2)}</pre>
          </Details>
        )}
      </Loaded>
    </Section>
  );
}
