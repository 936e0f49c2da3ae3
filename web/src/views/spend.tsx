/** Spending by day, person, agent and model, and the limits. */
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { pathOf } from "../../../src/client-browser.ts";
import { api, type Page } from "../api.ts";
import { count, money } from "../format.ts";
import { useQuery } from "../query.ts";
import { linkTo } from "../router.ts";
import { isOwner } from "../session.ts";
import { t } from "../texts.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Button, Loaded, Row, Rows, Section, Stat, Tabs, ViewHead } from "../ui/parts.tsx";
import { isDark } from "../ui/theme.ts";
import { showDone } from "../ui/toast.tsx";

interface By {
  readonly agentId: string;
  readonly person?: string;
  readonly runs: number;
  readonly tokens: number;
  readonly cost: number;
}

interface Day {
  readonly day: string;
  readonly from: number;
  readonly tokens: number;
  readonly dollars: number;
  readonly by: readonly By[];
}

interface Days extends Page<Day> {
  readonly agents: Readonly<Record<string, { readonly name: string; readonly sessionKey: string }>>;
  readonly people: Readonly<Record<string, string>>;
  readonly models: readonly { readonly model: string; readonly tokens: number }[];
}

type Unit = "dollars" | "tokens";
const RANGES = ["7", "14", "30", "90"] as const;

export function Spend() {
  const [range, setRange] = useState<(typeof RANGES)[number]>("14");
  const [unit, setUnit] = useState<Unit>("tokens");
  const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const days = useQuery((signal) => api.get<Days>("/api/usage/days", { days: range, timeZone }, signal), {
    key: range,
  });
  return (
    <div class="view">
      <ViewHead title={t.spend.title} text={t.spend.text}>
        <Tabs
          label={t.spend.chart}
          value={unit}
          tabs={[
            ["tokens", t.spend.tokens],
            ["dollars", t.spend.dollars],
          ]}
          onChange={setUnit}
        />
        <Tabs label={t.spend.days} value={range} tabs={RANGES.map((one) => [one, one])} onChange={setRange} />
      </ViewHead>
      <Loaded query={days}>{(data) => <Spent data={data} unit={unit} days={Number(range)} />}</Loaded>
      {isOwner() && <Budgets />}
    </div>
  );
}

function Spent({ data, unit, days }: { data: Days; unit: Unit; days: number }) {
  const sum = (of: readonly Day[], key: Unit): number => of.reduce((all, day) => all + day[key], 0);
  const [today] = data.items;
  const all = data.items.flatMap(({ by }) => by);
  return (
    <>
      <div class="stats">
        <Stat label={t.spend.today} value={money(today?.dollars ?? 0)} note={t.now.tokens(count(today?.tokens ?? 0))} />
        <Stat
          label={t.spend.total(days)}
          value={money(sum(data.items, "dollars"))}
          note={t.now.tokens(count(sum(data.items, "tokens")))}
        />
      </div>
      <Section title={t.spend.chart}>
        <div class="card">
          <Chart days={data.items} unit={unit} />
        </div>
      </Section>
      <div class="grid-3">
        <Ranking
          title={t.spend.byPerson}
          rows={ranked(all, ({ person }) => person ?? t.spend.nobody, unit).map((one) => ({
            ...one,
            name: data.people[one.name] ?? one.name,
          }))}
          unit={unit}
        />
        <Ranking
          title={t.spend.byAgent}
          rows={ranked(all, ({ agentId }) => agentId, unit).map((one) => ({
            ...one,
            href: linkTo("conversations", one.name),
            name: data.agents[one.name]?.name ?? t.common.none,
          }))}
          unit={unit}
        />
        <Ranking
          title={t.spend.byModel}
          hint={t.spend.byModelHint}
          rows={data.models.map(({ model, tokens }) => ({ name: model, value: tokens }))}
          unit="tokens"
        />
      </div>
    </>
  );
}

interface Ranked {
  readonly name: string;
  readonly value: number;
  readonly runs?: number;
  readonly href?: string;
}

const MOST = 10;

function ranked(rows: readonly By[], nameOf: (row: By) => string, unit: Unit): readonly Ranked[] {
  const sums = new Map<string, { value: number; runs: number }>();
  for (const row of rows) {
    const before = sums.get(nameOf(row)) ?? { value: 0, runs: 0 };
    sums.set(nameOf(row), {
      value: before.value + (unit === "tokens" ? row.tokens : row.cost),
      runs: before.runs + row.runs,
    });
  }
  return [...sums]
    .map(([name, one]) => ({ name, ...one }))
    .sort((a, b) => b.value - a.value)
    .slice(0, MOST);
}

const shown = (value: number, unit: Unit): string => (unit === "tokens" ? count(value) : money(value));

function Ranking({ title, hint, rows, unit }: { title: string; hint?: string; rows: readonly Ranked[]; unit: Unit }) {
  const most = Math.max(Number.MIN_VALUE, ...rows.map(({ value }) => value));
  return (
    <Section title={title}>
      {rows.length === 0 ? (
        <p class="calm">{t.spend.none}</p>
      ) : (
        <div class="card">
          {hint && <p class="field-hint">{hint}</p>}
          <ul class="bars" aria-label={title}>
            {rows.map(({ name, value, runs, href }) => (
              <li class="bar" key={name}>
                <span class="bar-name">
                  {href ? <a href={href}>{name}</a> : name}{" "}
                  {runs !== undefined && <span class="muted">{t.spend.runs(runs)}</span>}
                </span>
                <span class="bar-value">{shown(value, unit)}</span>
                <span class="bar-line" style={{ width: `${Math.max(1, (100 * value) / most)}%` }} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </Section>
  );
}

const HEIGHT = 220;

function Chart({ days, unit }: { days: readonly Day[]; unit: Unit }) {
  const place = useRef<HTMLDivElement>(null);
  const dark = isDark.value;
  const oldestFirst = days.toReversed();
  const values = oldestFirst.map((day) => day[unit]);
  useEffect(() => {
    const box = place.current;
    if (!box) return undefined;
    const style = getComputedStyle(document.documentElement);
    const [line, ink, bar] = ["--line", "--muted", "--accent"].map((name) => style.getPropertyValue(name).trim());
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    const plot = new uPlot(
      {
        width: box.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { y: false, points: { show: false } },
        scales: {
          x: { time: false, range: (_, low, high) => [low - 0.6, high + 0.6] },
          y: { range: (_, _low, high) => [0, Math.max(high * 1.1, 1e-4)] },
        },
        axes: [
          {
            ...axis,
            grid: { show: false },
            incrs: [1, 2, 5, 10, 15],
            values: (_, at) => at.map((n) => oldestFirst[n]?.day.slice(5) ?? ""),
          },
          { ...axis, size: 64, values: (_, at) => at.map((n) => shown(n, unit)) },
        ],
        series: [
          {},
          {
            fill: bar,
            stroke: bar,
            points: { show: false },
            paths: uPlot.paths.bars?.({ size: [0.7, 60], radius: 0.2 }),
          },
        ],
      },
      [values.map((_, n) => n), values],
      box,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: HEIGHT }));
    observer.observe(box);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [days, unit, dark]);
  return (
    <div ref={place} class="chart" role="img" aria-label={t.spend.chartText(shown(Math.max(0, ...values), unit))} />
  );
}

interface Amount {
  readonly tokens?: number;
  readonly micros?: number;
}

interface Budget {
  readonly key: string;
  readonly scope: string;
  readonly of: string;
  readonly spent: { readonly tokens: number; readonly micros: number };
  readonly allowed?: Amount;
}

const MICROS = 1_000_000;

function Budgets() {
  const [lifting, setLifting] = useState<Budget>();
  const budgets = useQuery((signal) => api.get<Page<Budget>>("/api/budgets", {}, signal), { key: "budgets" });
  const lift = async (): Promise<void> => {
    await api.post(pathOf("api", "budgets", lifting?.key ?? "", "lift"), {});
    showDone(t.spend.lifted);
    budgets.reload();
  };
  return (
    <Section title={t.spend.budgets}>
      <Loaded query={budgets} rows={2}>
        {({ items }) => {
          const limited = items.filter(({ allowed }) => allowed !== undefined);
          return limited.length === 0 ? (
            <p class="calm">{t.spend.noBudgets}</p>
          ) : (
            <Rows label={t.spend.budgets}>
              {limited.map((budget) => (
                <Row
                  key={budget.key}
                  title={`${budget.scope} ${budget.of}`}
                  side={usedText(budget)}
                  actions={<Button onClick={() => setLifting(budget)}>{t.spend.lift}</Button>}
                >
                  <Meter part={partOf(budget)} />
                </Row>
              ))}
            </Rows>
          );
        }}
      </Loaded>
      {lifting && (
        <Dialog title={t.spend.liftTitle} action={t.spend.lift} onAction={lift} onClose={() => setLifting(undefined)}>
          <p>{t.spend.liftText}</p>
        </Dialog>
      )}
    </Section>
  );
}

function usedText({ spent, allowed }: Budget): string {
  if (allowed?.micros !== undefined)
    return `${money(spent.micros / MICROS)} ${t.spend.of} ${money(allowed.micros / MICROS)}`;
  return `${count(spent.tokens)} ${t.spend.of} ${count(allowed?.tokens ?? 0)}`;
}

function partOf({ spent, allowed }: Budget): number {
  const parts = [
    allowed?.micros ? spent.micros / allowed.micros : 0,
    allowed?.tokens ? spent.tokens / allowed.tokens : 0,
  ];
  return Math.min(1, Math.max(...parts));
}

const Meter = ({ part }: { part: number }) => (
  <div class={`meter ${part >= 1 ? "full" : ""}`} aria-hidden="true">
    <span style={{ width: `${100 * part}%` }} />
  </div>
);
