/** One agent: its state, its settings, its latest runs, what waits for it, and stopping it. */
import { useState } from "preact/hooks";
import { pathOf } from "../../../src/client-browser.ts";
import type { RunRecord } from "../../../src/core/run/run.ts";
import { api, type Page } from "../api.ts";
import type { Agent } from "../conversation/chat.ts";
import { count, duration } from "../format.ts";
import { type Query, useQuery } from "../query.ts";
import { linkTo } from "../router.ts";
import { t } from "../texts.ts";
import { Dialog } from "../ui/dialog.tsx";
import { List } from "../ui/list.tsx";
import {
  Badge,
  Button,
  Field,
  Ids,
  inputValue,
  Loaded,
  Row,
  Rows,
  Section,
  Time,
  type Tone,
  ViewHead,
} from "../ui/parts.tsx";
import { showDone } from "../ui/toast.tsx";

export const OUTCOME_TONES: Readonly<Record<string, Tone>> = {
  ok: "ok",
  error: "bad",
  aborted: "warn",
  timeout: "bad",
  lost: "bad",
};

interface Inbox {
  readonly waiting: readonly {
    readonly seq: number;
    readonly kind: string;
    readonly text: string;
    readonly will: string;
    readonly acceptedAt: number;
  }[];
}

export function AgentDetail({ id }: { id: string }) {
  const agent = useQuery((signal) => api.get<Agent>(pathOf("api", "agents", id), {}, signal), { key: id });
  const runs = useQuery(
    (signal) =>
      api.get<Page<RunRecord & { readonly about: string }>>(pathOf("api", "agents", id, "runs"), { limit: 20 }, signal),
    { key: id },
  );
  const inbox = useQuery((signal) => api.get<Inbox>(pathOf("api", "agents", id, "inbox"), {}, signal), { key: id });
  return (
    <div class="view">
      <Loaded query={agent}>
        {(data) => (
          <>
            <ViewHead title={data.name} text={data.kind}>
              <a class="button" href={linkTo("conversations", data.id)}>
                {t.agents.openChat}
              </a>
              <Commands agent={data} onChanged={agent.reload} />
            </ViewHead>
            <div class="columns">
              <div>
                <Runs runs={runs} />
                <Waits inbox={inbox} />
              </div>
              <div>
                <Settings key={data.id} agent={data} />
                <Ids ids={[data.sessionKey, data.id]} />
              </div>
            </div>
          </>
        )}
      </Loaded>
    </div>
  );
}

function Commands({ agent, onChanged }: { agent: Agent; onChanged: () => void }) {
  const [asked, setAsked] = useState<"stop" | "reset">();
  const path = (name: string): string => pathOf("api", "agents", agent.id, name);
  const start = async (): Promise<void> => {
    await api.post(path("start"));
    showDone(t.agents.started);
    onChanged();
  };
  const carryOut = async (): Promise<void> => {
    await api.post(path(asked === "stop" ? "stop-tree" : "reset"));
    if (asked === "stop") showDone(t.agents.stopped);
    onChanged();
  };
  const compact = async (): Promise<void> => {
    await api.post(path("compact"));
    showDone(t.agents.compactDone);
  };
  return (
    <>
      <Button onClick={compact}>{t.agents.compact}</Button>
      <Button onClick={() => setAsked("reset")}>{t.agents.reset}</Button>
      {agent.stopped === null ? (
        <Button kind="danger" icon="stop" onClick={() => setAsked("stop")}>
          {t.agents.stop}
        </Button>
      ) : (
        <Button kind="primary" icon="play" onClick={start}>
          {t.agents.start}
        </Button>
      )}
      {asked && (
        <Dialog
          title={asked === "stop" ? t.agents.stopTitle : t.agents.resetTitle}
          action={asked === "stop" ? t.agents.stop : t.agents.reset}
          isDanger
          onAction={carryOut}
          onClose={() => setAsked(undefined)}
        >
          <p>{asked === "stop" ? t.agents.stopText : t.agents.resetText}</p>
        </Dialog>
      )}
    </>
  );
}

function Runs({ runs }: { runs: Query<Page<RunRecord & { readonly about: string }>> }) {
  return (
    <Section title={t.agents.runs}>
      <List query={runs} label={t.agents.runs} none={t.agents.noRuns}>
        {({ id, about, startedAt, endedAt, outcome, step, body }) => (
          <Row
            key={id}
            href={linkTo("runs", id)}
            title={about || t.run.title}
            side={
              <Badge tone={outcome ? (OUTCOME_TONES[outcome] ?? "neutral") : "ok"}>
                {outcome ?? t.agents.state.running}
              </Badge>
            }
            meta={
              <>
                <Time at={startedAt} />
                {endedAt !== undefined && <span>{duration(endedAt - startedAt)}</span>}
                <span>
                  {step} {t.run.steps.toLowerCase()}
                </span>
                {body.usage && <span>{t.now.tokens(count(body.usage.totalTokens))}</span>}
                {body.error && <span>{body.error.message}</span>}
              </>
            }
          />
        )}
      </List>
    </Section>
  );
}

function Waits({ inbox }: { inbox: Query<Inbox> }) {
  return (
    <Section title={t.agents.waits}>
      <Loaded query={inbox} rows={1}>
        {({ waiting }) =>
          waiting.length === 0 ? (
            <p class="calm">{t.agents.nothingWaits}</p>
          ) : (
            <Rows label={t.agents.waits}>
              {waiting.map(({ seq, kind, text, will, acceptedAt }) => (
                <Row key={seq} title={text || kind} side={<Time at={acceptedAt} />} meta={will} />
              ))}
            </Rows>
          )
        }
      </Loaded>
    </Section>
  );
}

const QUEUE_MODES = ["steer", "followup", "collect", "steer-backlog", "queue", "interrupt"];
const FIELDS = ["label", "modelOverride", "thinkingLevel"] as const;
const NAMES: Readonly<Record<string, string>> = {
  label: t.agents.labelField,
  modelOverride: t.agents.model,
  thinkingLevel: t.agents.thinking,
};

function Settings({ agent }: { agent: Agent }) {
  const now = (field: string): string => String(agent.state[field] ?? "");
  const [values, setValues] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries([...FIELDS, "queueMode"].map((field) => [field, now(field)])),
  );
  const set = (field: string) => (event: Event) => setValues({ ...values, [field]: inputValue(event) });
  const save = async (): Promise<void> => {
    const changed = Object.entries(values).filter(([field, value]) => value.trim() !== now(field));
    await api.patch(
      pathOf("api", "agents", agent.id, "state"),
      Object.fromEntries(changed.map(([field, value]) => [field, value.trim() || null])),
    );
    showDone(t.agents.saved);
  };
  return (
    <Section title={t.agents.settings}>
      <div class="card form">
        <p class="field-hint">{t.agents.settingsHint}</p>
        {FIELDS.map((field) => (
          <Field key={field} label={NAMES[field] ?? field}>
            <input value={values[field]} placeholder={t.agents.byDefault} onInput={set(field)} />
          </Field>
        ))}
        <Field label={t.agents.queue}>
          <select value={values.queueMode} onChange={set("queueMode")}>
            <option value="">{t.agents.byDefault}</option>
            {QUEUE_MODES.map((mode) => (
              <option key={mode}>{mode}</option>
            ))}
          </select>
        </Field>
        <div>
          <Button kind="primary" onClick={save}>
            {t.common.save}
          </Button>
        </div>
      </div>
    </Section>
  );
}
