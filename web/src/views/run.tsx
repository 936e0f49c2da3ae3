/** One run: what the model saw by part, each committed step, tool calls, approvals, deliveries; replay and fork. */
import { useState } from "preact/hooks";
import { newKey, pathOf } from "../../../src/client-browser.ts";
import type { Delivery } from "../../../src/core/delivery/delivery.ts";
import type { Approval } from "../../../src/core/rights/approval.ts";
import type { RunRecord } from "../../../src/core/run/run.ts";
import { api } from "../api.ts";
import { ToolCall } from "../conversation/entries.tsx";
import {
  callsOf,
  type Entry,
  type Placed,
  resultsOf,
  saidIn,
  textOf,
  thinkingOf,
  timeOf,
} from "../conversation/entry.ts";
import { clockTime, count, duration, money } from "../format.ts";
import { useQuery } from "../query.ts";
import { go, linkTo, route } from "../router.ts";
import { isOwner } from "../session.ts";
import { t } from "../texts.ts";
import { ApprovalRow } from "../ui/approval-row.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { MarkdownText } from "../ui/markdown-text.tsx";
import { Badge, Button, Details, Ids, Loaded, Rows, Section, Stat, Time, ViewHead } from "../ui/parts.tsx";
import { showDone } from "../ui/toast.tsx";
import { OUTCOME_TONES } from "./agent-detail.tsx";
import { DeliveryRow } from "./outbox.tsx";

interface Part {
  readonly part: string;
  readonly source: string;
  readonly tokens: number;
  readonly cutFrom?: number;
  readonly untrusted?: true;
}

interface Timeline {
  readonly state: string;
  readonly run: RunRecord & { readonly agentName?: string; readonly about?: string };
  readonly context: readonly Part[];
  readonly entries: readonly Placed[];
  readonly approvals: readonly Approval[];
  readonly deliveries: readonly Delivery[];
  readonly before: string | null;
}

const POLL_MS = 3_000;

export function Run() {
  const id = route.value.id ?? "";
  const timeline = useQuery((signal) => api.get<Timeline>(pathOf("api", "runs", id, "timeline"), {}, signal), {
    key: id,
    pollMs: POLL_MS,
  });
  return (
    <div class="view">
      <Loaded query={timeline} rows={8}>
        {(data) => (
          <>
            <Head data={data} onChanged={timeline.reload} />
            <Facts run={data.run} />
            <Ids ids={[data.run.id]} />
            <div class="columns">
              <Steps data={data} />
              <div>
                <Saw parts={data.context} />
                <Commits run={data.run} />
                {data.approvals.length > 0 && (
                  <Section title={t.run.approvals}>
                    <Rows label={t.run.approvals}>
                      {data.approvals.map((one) => (
                        <ApprovalRow key={one.id} approval={one} onDecided={timeline.reload} />
                      ))}
                    </Rows>
                  </Section>
                )}
                <Section title={t.run.deliveries}>
                  {data.deliveries.length === 0 ? (
                    <p class="calm">{t.run.noDeliveries}</p>
                  ) : (
                    <Rows label={t.run.deliveries}>
                      {data.deliveries.map((one) => (
                        <DeliveryRow key={one.id} delivery={one} onChanged={timeline.reload} />
                      ))}
                    </Rows>
                  )}
                </Section>
              </div>
            </div>
          </>
        )}
      </Loaded>
    </div>
  );
}

function Head({ data, onChanged }: { data: Timeline; onChanged: () => void }) {
  const [isReplaying, setReplaying] = useState(false);
  const { run, entries, before } = data;
  const asked = entries.find(({ entry }) => entry.role === "user")?.entry;
  const replay = async (): Promise<void> => {
    if (before !== null) await api.post(pathOf("api", "agents", run.agentId, "branch"), { entryId: before });
    const text = asked ? saidIn(textOf(asked)).text : "";
    await api.post(pathOf("api", "agents", run.agentId, "messages"), { text, answerTo: "caller" }, { id: newKey() });
    showDone(t.run.replayed);
    go("conversations", run.agentId);
  };
  const abort = async (): Promise<void> => {
    await api.post(pathOf("api", "runs", run.id, "abort"));
    showDone(t.run.aborted);
    onChanged();
  };
  return (
    <ViewHead title={run.about || t.run.title} text={run.agentName}>
      <a class="button" href={linkTo("conversations", run.agentId)}>
        {t.run.back}
      </a>
      {isOwner() && run.state === "open" && (
        <Button kind="danger" icon="stop" onClick={abort}>
          {t.run.abort}
        </Button>
      )}
      {isOwner() && run.state === "ended" && asked && before !== null && (
        <Button icon="play" onClick={() => setReplaying(true)}>
          {t.run.replay}
        </Button>
      )}
      {isReplaying && (
        <Dialog title={t.run.replayTitle} action={t.run.replay} onAction={replay} onClose={() => setReplaying(false)}>
          <p>{t.run.replayText}</p>
        </Dialog>
      )}
    </ViewHead>
  );
}

function Facts({ run }: { run: RunRecord }) {
  const { outcome, startedAt, endedAt, step, body } = run;
  const crashes = crashesOf(run);
  const cost = body.usage?.cost?.total ?? 0;
  return (
    <div class="stats">
      <Stat
        label={t.run.outcome}
        value={
          <Badge tone={outcome ? (OUTCOME_TONES[outcome] ?? "neutral") : "ok"}>
            {outcome ?? t.agents.state.running}
          </Badge>
        }
        note={body.error?.message ?? (body.suspended ? t.now.suspended : undefined)}
      />
      <Stat label={t.run.started} value={clockTime(startedAt)} note={<Time at={startedAt} />} />
      <Stat
        label={t.run.duration}
        value={endedAt === undefined ? "–" : duration(endedAt - startedAt)}
        note={t.now.modelCalls(body.iterations)}
      />
      <Stat label={t.run.steps} value={step} note={t.run.stepsNote} />
      <Stat
        label={t.run.attempts}
        value={crashes + 1}
        note={t.run.attemptsNote(crashes)}
        tone={crashes > 0 ? "warn" : undefined}
      />
      <Stat label={t.run.tokens} value={count(body.usage?.totalTokens ?? 0)} note={money(cost)} />
    </div>
  );
}

/** In older records a run that continued after a pause or an answer has `resume` too. */
const isCrash = (commits: RunCommits, n: number): boolean =>
  commits[n]?.site === "resume" && !["pause", "suspend"].includes(commits[n - 1]?.site ?? "");

type RunCommits = NonNullable<RunRecord["body"]["commits"]>;

const crashesOf = ({ attempt, body: { commits = [] } }: RunRecord): number =>
  Math.max(attempt - 1, commits.filter((_, n) => isCrash(commits, n)).length);

/** Each commit of the run: what it stored, when, and on which node. */
function Commits({ run: { step, startedAt, body } }: { run: RunRecord }) {
  const commits = body.commits ?? [];
  const left = step - commits.length;
  return (
    <Section title={t.run.commits} side={<span class="muted">{step}</span>}>
      {commits.length === 0 ? (
        <p class="calm">{t.run.noCommits}</p>
      ) : (
        <ol class="commits" aria-label={t.run.commits}>
          {commits.map(({ site, at, node }, n) => (
            <li key={n} class={isCrash(commits, n) ? "crash" : ""}>
              <span class="mono muted">{clockTime(at)}</span>
              <span>
                {t.run.sites[isCrash(commits, n) ? "crash" : site] ?? site}
                {node !== undefined && <span class="muted"> {t.run.onNode(node)}</span>}
                {n === 0 && left > 0 && <span class="muted"> · {t.run.moreCommits(left)}</span>}
              </span>
              <span class="muted">+{duration(at - startedAt)}</span>
            </li>
          ))}
        </ol>
      )}
    </Section>
  );
}

function Saw({ parts }: { parts: readonly Part[] }) {
  const total = parts.reduce((sum, { tokens }) => sum + tokens, 0);
  const most = Math.max(1, ...parts.map(({ tokens }) => tokens));
  return (
    <Section title={t.run.saw} side={total > 0 && <span class="muted">{t.now.tokens(count(total))}</span>}>
      {parts.length === 0 ? (
        <p class="calm">{t.run.noReport}</p>
      ) : (
        <div class="card">
          <p class="field-hint">{t.run.sawHint}</p>
          <ul class="bars" aria-label={t.run.saw}>
            {parts.map(({ part, source, tokens, cutFrom, untrusted }) => (
              <li key={`${source} ${part}`} class="bar">
                <span class="bar-name">
                  {part} <span class="muted">{t.run.sources[source] ?? source}</span>{" "}
                  {untrusted && <Badge tone="warn">{t.run.untrusted}</Badge>}
                  {cutFrom !== undefined && <Badge>{t.run.cut}</Badge>}
                </span>
                <span class="bar-value">{count(tokens)}</span>
                <span class="bar-line" style={{ width: `${Math.max(1, (100 * tokens) / most)}%` }} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </Section>
  );
}

function Steps({ data }: { data: Timeline }) {
  const { entries, run } = data;
  const results = resultsOf(entries);
  const shown = entries.filter(({ entry }) => entry.role !== "tool");
  return (
    <Section title={t.run.timeline}>
      {entries.length === 0 ? (
        <p class="calm">{t.run.noEntries}</p>
      ) : (
        <ol class="steps" aria-label={t.run.timeline}>
          {shown.map(({ position, entry }) => (
            <Step key={position} position={position} entry={entry} results={results} agentId={run.agentId} />
          ))}
        </ol>
      )}
    </Section>
  );
}

interface StepProps {
  readonly position: number;
  readonly entry: Entry;
  readonly results: ReadonlyMap<string, Entry>;
  readonly agentId: string;
}

function Step({ position, entry, results, agentId }: StepProps) {
  const [isForking, setForking] = useState(false);
  const [thinking, calls] = [thinkingOf(entry), callsOf(entry)];
  const { speaker, text } = saidIn(textOf(entry));
  const at = timeOf(entry);
  const fork = async (): Promise<void> => {
    await api.post(pathOf("api", "agents", agentId, "branch"), { entryId: entry.id });
    go("conversations", agentId);
  };
  return (
    <li class="step">
      <div class="step-head">
        <h3>{t.run.kind[entry.role ?? ""] ?? entry.type}</h3>
        {at !== undefined && <span class="muted mono">{clockTime(at)}</span>}
        {speaker && <span class="muted">{speaker}</span>}
        <span class="muted">{t.run.position(position)}</span>
        {entry.model && <span class="muted">{entry.model}</span>}
        {entry.usage && <span class="muted">{t.now.tokens(count(entry.usage.totalTokens))}</span>}
        {entry.untrusted && <Badge tone="warn">{t.run.untrusted}</Badge>}
        {isOwner() && <Button kind="quiet" icon="branch" label={t.run.fork} onClick={() => setForking(true)} />}
      </div>
      {thinking !== "" && (
        <Details summary={t.chat.thought}>
          <pre class="plain-text">{thinking.slice(0, 20_000)}</pre>
        </Details>
      )}
      {text !== "" && <MarkdownText text={text} />}
      {calls.map((call) => (
        <ToolCall key={call.id} call={call} result={results.get(call.id ?? "")} />
      ))}
      {entry.errorMessage && <p class="problem-text">{entry.errorMessage}</p>}
      {isForking && (
        <Dialog title={t.run.forkTitle} action={t.chat.branchAction} onAction={fork} onClose={() => setForking(false)}>
          <p>{t.chat.branchText}</p>
        </Dialog>
      )}
    </li>
  );
}
