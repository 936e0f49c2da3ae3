/** Schedules: when each is due, how it went, why a time was missed; run now, create by a form. */
import { useState } from "preact/hooks";
import { pathOf } from "../../../src/client-browser.ts";
import type { CronJob } from "../../../src/core/schedule/job.ts";
import type { JobSlot } from "../../../src/core/schedule/job-slot.ts";
import { api, type Page } from "../api.ts";
import { duration, oneLine } from "../format.ts";
import { type Query, usePaged, useQuery } from "../query.ts";
import { linkTo, route } from "../router.ts";
import { isOwner } from "../session.ts";
import { t } from "../texts.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { List, PagedList } from "../ui/list.tsx";
import { Badge, Button, DueTime, Field, inputValue, Row, Section, Time, type Tone, ViewHead } from "../ui/parts.tsx";
import { showDone } from "../ui/toast.tsx";

type Job = CronJob & { readonly when: string };
type Slot = JobSlot & { readonly n: number };

const TONES: Readonly<Record<string, Tone>> = { ok: "ok", error: "bad", skipped: "warn" };
const POLL_MS = 10_000;

export function Schedules() {
  const [isCreating, setCreating] = useState(false);
  const { id } = route.value;
  const jobs = useQuery((signal) => api.get<Page<Job>>("/api/cron", { all: true }, signal), {
    key: "jobs",
    pollMs: POLL_MS,
  });
  return (
    <div class="view">
      <ViewHead title={t.schedules.title} text={t.schedules.text}>
        <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
          {t.schedules.create}
        </Button>
      </ViewHead>
      <List query={jobs} label={t.schedules.title} empty={["clock", t.schedules.none, t.schedules.noneText]}>
        {(job) => <JobRow key={job.id} job={job} isOpen={job.id === id} onChanged={jobs.reload} />}
      </List>
      {isOwner() && <Heartbeats />}
      {isCreating && <CreateJob onClose={() => setCreating(false)} onCreated={jobs.reload} />}
    </div>
  );
}

function JobRow({ job, isOpen, onChanged }: { job: Job; isOpen: boolean; onChanged: () => void }) {
  const { id, name, when, enabled, state, payload } = job;
  const path = pathOf("api", "cron", id);
  const run = async (): Promise<void> => {
    await api.post(`${path}/run`);
    showDone(t.schedules.ranNow);
    onChanged();
  };
  const turn = async (): Promise<void> => {
    await api.patch(path, { enabled: !enabled });
    onChanged();
  };
  const remove = async (): Promise<void> => {
    await api.delete(path);
    onChanged();
  };
  return (
    <Row
      title={name}
      href={linkTo("schedules", isOpen ? undefined : id)}
      side={
        enabled ? (
          state.lastStatus && (
            <Badge tone={TONES[state.lastStatus] ?? "neutral"}>{t.schedules.status[state.lastStatus]}</Badge>
          )
        ) : (
          <Badge>{t.schedules.off}</Badge>
        )
      }
      meta={
        <>
          <span>{when}</span>
          {state.nextRunAtMs !== undefined && enabled && (
            <span>
              {t.schedules.next} <DueTime at={state.nextRunAtMs} />
            </span>
          )}
          {state.lastRunAtMs !== undefined && (
            <span>
              {t.schedules.last} <Time at={state.lastRunAtMs} />
            </span>
          )}
        </>
      }
      actions={
        <>
          <Button icon="play" onClick={run}>
            {t.schedules.runNow}
          </Button>
          <Button onClick={turn}>{enabled ? t.schedules.turnOff : t.schedules.turnOn}</Button>
          <Confirm
            text={t.schedules.remove}
            icon="trash"
            isQuiet
            title={t.schedules.removeTitle}
            body={t.schedules.removeText}
            done={t.schedules.removed}
            onConfirm={remove}
          />
        </>
      }
    >
      <p class="row-note">{oneLine(payload.kind === "agentTurn" ? payload.message : payload.text, 200)}</p>
      {state.lastError && <p class="problem-text">{state.lastError}</p>}
      {state.disabledReason && <p class="problem-text">{state.disabledReason}</p>}
      {isOpen && <Slots id={id} />}
    </Row>
  );
}

function Slots({ id }: { id: string }) {
  const list = usePaged<Slot>(
    (limit, before, signal) => api.get<Page<Slot>>(pathOf("api", "cron", id, "runs"), { before, limit }, signal),
    { key: id },
  );
  return (
    <Section title={t.schedules.history}>
      <PagedList list={list} rows={2} label={t.schedules.history} none={t.schedules.noHistory}>
        {(slot) => <SlotRow key={slot.n} slot={slot} />}
      </PagedList>
    </Section>
  );
}

function SlotRow({ slot: { dueAt, count, status, reason, end } }: { slot: Slot }) {
  const tone: Tone = status === "skipped" ? "warn" : end === undefined || end.status === "ok" ? "ok" : "bad";
  return (
    <Row
      title={<Time at={dueAt} />}
      href={end?.runId && linkTo("runs", end.runId)}
      side={
        <Badge tone={tone}>{status === "skipped" ? t.schedules.skipped : (end?.status ?? t.schedules.fired)}</Badge>
      }
      meta={
        <>
          {count > 1 && <span>{t.schedules.times(count)}</span>}
          {reason && <span>{reason}</span>}
          {end?.durationMs !== undefined && <span>{duration(end.durationMs)}</span>}
          {end && end.delivery.status !== "none" && (
            <span>
              {t.schedules.delivery}: {end.delivery.status}
            </span>
          )}
          {end?.error && <span>{end.error}</span>}
        </>
      }
    >
      {end?.summary && <p class="row-note">{oneLine(end.summary, 200)}</p>}
    </Row>
  );
}

interface Heartbeat {
  readonly profile: string;
  readonly every?: string;
  readonly nextAt?: number;
  readonly [field: string]: unknown;
}

function Heartbeats() {
  const beats: Query<Page<Heartbeat>> = useQuery((signal) => api.get<Page<Heartbeat>>("/api/heartbeat", {}, signal), {
    key: "heartbeat",
  });
  const tick = async (): Promise<void> => {
    await api.post("/api/heartbeat/run", {});
    showDone(t.schedules.ticked);
  };
  return (
    <Section title={t.schedules.heartbeat} side={<Button onClick={tick}>{t.schedules.tick}</Button>}>
      <List query={beats} rows={1} label={t.schedules.heartbeat} none={t.schedules.noHeartbeat}>
        {(beat) => (
          <Row
            key={beat.profile}
            title={beat.profile}
            meta={typeof beat.nextAt === "number" ? <DueTime at={beat.nextAt} /> : undefined}
          />
        )}
      </List>
    </Section>
  );
}

type Kind = keyof typeof t.schedules.kinds;
const KINDS: readonly Kind[] = ["cron", "every", "at"];
const MINUTE = 60_000;

function CreateJob({ onClose, onCreated }: { onClose: () => void; onCreated: () => void }) {
  const [name, setName] = useState("");
  const [message, setMessage] = useState("");
  const [kind, setKind] = useState<Kind>("cron");
  const [expr, setExpr] = useState("0 7 * * 1-5");
  const [minutes, setMinutes] = useState("60");
  const [at, setAt] = useState("");
  const schedule = () => {
    if (kind === "cron") return { kind, expr, tz: Intl.DateTimeFormat().resolvedOptions().timeZone };
    return kind === "every" ? { kind, everyMs: Number(minutes) * MINUTE } : { kind, atMs: new Date(at).getTime() };
  };
  const create = async (): Promise<void> => {
    await api.post("/api/cron", { name, schedule: schedule(), payload: { message } });
    showDone(t.schedules.created);
    onCreated();
  };
  return (
    <Dialog title={t.schedules.create} action={t.schedules.createAction} onClose={onClose} onAction={create}>
      <Field label={t.schedules.name}>
        <input required maxLength={200} value={name} onInput={(event) => setName(inputValue(event))} />
      </Field>
      <Field label={t.schedules.message}>
        <textarea required rows={3} value={message} onInput={(event) => setMessage(inputValue(event))} />
      </Field>
      <Field label={t.schedules.kind}>
        <select value={kind} onChange={(event) => setKind(inputValue(event) as Kind)}>
          {KINDS.map((one) => (
            <option key={one} value={one}>
              {t.schedules.kinds[one]}
            </option>
          ))}
        </select>
      </Field>
      {kind === "cron" && (
        <Field label={t.schedules.expr} hint={t.schedules.exprHint}>
          <input required class="mono" value={expr} onInput={(event) => setExpr(inputValue(event))} />
        </Field>
      )}
      {kind === "every" && (
        <Field label={t.schedules.everyMinutes}>
          <input required type="number" min={1} value={minutes} onInput={(event) => setMinutes(inputValue(event))} />
        </Field>
      )}
      {kind === "at" && (
        <Field label={t.schedules.at}>
          <input required type="datetime-local" value={at} onInput={(event) => setAt(inputValue(event))} />
        </Field>
      )}
    </Dialog>
  );
}
