/** The small parts of every view: buttons, badges, times, empty states, errors, rows. */
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { messageOf } from "../api.ts";
import { fullTime, pastTime, relativeTime } from "../format.ts";
import { bump } from "../live.ts";
import type { Paged, Query } from "../query.ts";
import { t } from "../texts.ts";
import { Icon, type IconName } from "./icons.tsx";
import { showProblem } from "./toast.tsx";

export type Tone = "neutral" | "ok" | "warn" | "bad" | "info" | "accent";

export function Badge({ tone = "neutral", children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** The last time that a calendar has. A lease without an end is later. */
const LAST_TIME = 8.64e15;

interface TimeProps {
  readonly at: number | undefined | null;
}

/** When something happened. */
export const Time = ({ at }: TimeProps) => <AnyTime at={at} textOf={pastTime} />;

/** When something will happen. */
export const DueTime = ({ at }: TimeProps) => <AnyTime at={at} textOf={relativeTime} />;

function AnyTime({ at, textOf }: TimeProps & { readonly textOf: (at: number) => string }) {
  if (at === undefined || at === null || !(Math.abs(at) <= LAST_TIME)) return <span class="muted">–</span>;
  return (
    <time dateTime={new Date(at).toISOString()} title={fullTime(at)}>
      {textOf(at)}
    </time>
  );
}

interface ButtonProps {
  readonly children?: ComponentChildren;
  readonly onClick: () => unknown;
  readonly kind?: "primary" | "plain" | "danger" | "quiet";
  readonly icon?: IconName;
  readonly label?: string;
  readonly disabled?: boolean;
  readonly type?: "button" | "submit";
}

/** Shows that it works until what it started has ended; then what is on the screen is read again. An error is shown, never lost. */
export function Button({ children, onClick, kind = "plain", icon, label, disabled, type = "button" }: ButtonProps) {
  const [isBusy, setBusy] = useState(false);
  const press = async (): Promise<void> => {
    setBusy(true);
    try {
      const started = onClick();
      await started;
      if (started instanceof Promise) bump();
    } catch (error) {
      showProblem(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <button
      type={type}
      class={`button ${kind} ${children === undefined ? "only-icon" : ""}`}
      onClick={() => void press()}
      disabled={disabled || isBusy}
      aria-busy={isBusy}
      aria-label={label}
      title={label}
    >
      {icon && <Icon name={icon} />}
      {children !== undefined && <span>{children}</span>}
    </button>
  );
}

export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <p class="empty-title">{title}</p>
      {children && <div class="empty-text">{children}</div>}
    </div>
  );
}

export function Problem({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <div class="problem" role="alert">
      <Icon name="alert" />
      <p>{messageOf(error)}</p>
      {retry && <Button onClick={retry}>{t.common.tryAgain}</Button>}
    </div>
  );
}

export function Skeleton({ rows = 4 }: { rows?: number }) {
  return (
    <div class="skeleton" role="status" aria-label={t.common.loading}>
      {Array.from({ length: rows }, (_, n) => (
        <div key={n} class="skeleton-row" />
      ))}
    </div>
  );
}

/** Data, or what is shown in its place. */
export function Loaded<T>({
  query,
  rows,
  children,
}: {
  query: Query<T>;
  rows?: number;
  children: (data: T) => ComponentChildren;
}) {
  const { data, error, reload } = query;
  if (data !== undefined) return <>{children(data)}</>;
  return error === undefined ? <Skeleton rows={rows} /> : <Problem error={error} retry={reload} />;
}

export function More<T>({ list }: { list: Paged<T> }) {
  return list.hasMore ? (
    <div class="more">
      <Button kind="quiet" onClick={list.more}>
        {t.common.more}
      </Button>
    </div>
  ) : null;
}

/** One line of a list: what it is, more about it, and what can be done. */
export interface RowProps {
  readonly title: ComponentChildren;
  readonly lead?: ComponentChildren;
  readonly meta?: ComponentChildren;
  readonly side?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly href?: string;
  readonly children?: ComponentChildren;
  readonly current?: boolean;
}

export function Row({ title, lead, meta, side, actions, href, children, current }: RowProps) {
  return (
    <li class={`row ${current ? "current" : ""}`}>
      {lead && <div class="row-lead">{lead}</div>}
      <div class="row-main">
        <div class="row-title">
          {href === undefined ? (
            <span class="row-name">{title}</span>
          ) : (
            <a class="row-name" href={href} aria-current={current ? "true" : undefined}>
              {title}
            </a>
          )}
          {side && <span class="row-side">{side}</span>}
        </div>
        {meta && <div class="row-meta">{meta}</div>}
        {children}
      </div>
      {actions && <div class="row-actions">{actions}</div>}
    </li>
  );
}

export function Rows({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <ul class="rows" aria-label={label}>
      {children}
    </ul>
  );
}

export function Section({
  title,
  side,
  children,
}: {
  title: string;
  side?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section class="section" aria-label={title}>
      <div class="section-head">
        <h2>{title}</h2>
        {side && <div class="section-side">{side}</div>}
      </div>
      {children}
    </section>
  );
}

export function ViewHead({
  title,
  text,
  children,
}: {
  title: ComponentChildren;
  text?: ComponentChildren;
  children?: ComponentChildren;
}) {
  return (
    <header class="view-head">
      <div>
        <h1>{title}</h1>
        {text && <p class="muted">{text}</p>}
      </div>
      {children && <div class="view-actions">{children}</div>}
    </header>
  );
}

export function Tabs<T extends string>(props: {
  label: string;
  tabs: readonly (readonly [T, string, number?])[];
  value: T;
  onChange: (tab: T) => void;
}) {
  return (
    <fieldset class="tabs" aria-label={props.label}>
      {props.tabs.map(([tab, text, n]) => (
        <button
          key={tab}
          type="button"
          class="tab"
          aria-pressed={tab === props.value}
          onClick={() => props.onChange(tab)}
        >
          {text}
          {n !== undefined && n > 0 && <span class="tab-count">{n}</span>}
        </button>
      ))}
    </fieldset>
  );
}

export function Stat({
  label,
  value,
  note,
  href,
  tone,
}: {
  label: string;
  value: ComponentChildren;
  note?: ComponentChildren;
  href?: string;
  tone?: Tone;
}) {
  const content = (
    <>
      <span class="stat-label">{label}</span>
      <span class={`stat-value ${tone ?? ""}`}>{value}</span>
      <span class="stat-note">{note ?? "\u00a0"}</span>
    </>
  );
  return href === undefined ? (
    <div class="stat">{content}</div>
  ) : (
    <a class="stat" href={href}>
      {content}
    </a>
  );
}

export function Field({ label, hint, children }: { label: string; hint?: string; children: JSX.Element }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is the child
    <label class="field">
      <span class="field-label">{label}</span>
      {children}
      {hint && <span class="field-hint">{hint}</span>}
    </label>
  );
}

export function Details({
  summary,
  children,
  open,
}: {
  summary: ComponentChildren;
  children: ComponentChildren;
  open?: boolean;
}) {
  return (
    <details class="details" open={open}>
      <summary>{summary}</summary>
      {children}
    </details>
  );
}

export const inputValue = (event: Event): string => (event.currentTarget as HTMLInputElement).value;

/** Ids for those who look for them in a log: behind a click, below what people read. */
export function Ids({ ids }: { ids: readonly string[] }) {
  return (
    <details class="muted">
      <summary>{t.common.ids}</summary>
      {ids.map((id) => (
        <p class="mono" key={id}>
          {id}
        </p>
      ))}
    </details>
  );
}
