/** The entries of a conversation: what people and agents said, tools with their results, and marks of sessions and branches. */
import { Component, type ComponentChildren } from "preact";
import { count, money } from "../format.ts";
import { linkTo } from "../router.ts";
import { t } from "../texts.ts";
import { Icon } from "../ui/icons.tsx";
import { LongText, MarkdownText } from "../ui/markdown-text.tsx";
import { Badge, Button, Details, Time } from "../ui/parts.tsx";
import { type Block, callsOf, type Entry, type Placed, saidIn, textOf, thinkingOf, timeOf } from "./entry.ts";
import { OwnImage } from "./own-image.tsx";

export interface EntryActions {
  readonly onBranch: (entry: Entry) => void;
  readonly onEdit: (entry: Entry) => void;
}

interface EntryProps {
  readonly placed: Placed;
  readonly results: ReadonlyMap<string, Entry>;
  readonly actions: EntryActions;
}

/** How the history marks what no person wrote: schedules, reports, other agents. */
const SYSTEM = "<system_message";

/** Drawn again only if it, its results or its actions are others: a long conversation has many. */
export class EntryView extends Component<EntryProps> {
  override shouldComponentUpdate(next: EntryProps): boolean {
    const { placed, results, actions } = this.props;
    return next.placed !== placed || next.results !== results || next.actions !== actions;
  }

  render() {
    return <OneEntry {...this.props} />;
  }
}

function OneEntry({ placed: { entry }, results, actions }: EntryProps) {
  switch (entry.type) {
    case "message":
      if (entry.role === "user" && textOf(entry).startsWith(SYSTEM)) {
        return <Note label={t.chat.system} text={saidIn(textOf(entry)).text} at={timeOf(entry)} />;
      }
      if (entry.role === "user") return <Person entry={entry} actions={actions} />;
      return entry.role === "assistant" ? <Assistant entry={entry} results={results} actions={actions} /> : null;
    case "custom_message":
      return entry.hidden ? (
        <Note label={t.chat.hidden} text={textOf(entry)} at={timeOf(entry)} />
      ) : (
        <Person entry={entry} actions={actions} />
      );
    case "reset":
      return <Mark>{t.chat.reset}</Mark>;
    case "compaction":
      return <Note label={t.chat.compacted} text={entry.summary ?? ""} at={timeOf(entry)} />;
    case "branch_summary":
      return <Note label={t.chat.branched} text={entry.summary ?? ""} at={timeOf(entry)} />;
    default:
      return null;
  }
}

const Mark = ({ children }: { children: ComponentChildren }) => (
  <div class="chat-mark">
    <span>{children}</span>
  </div>
);

function Note({ label, text, at }: { label: string; text: string; at: number | undefined }) {
  return (
    <div class="chat-note">
      <Details
        summary={
          <>
            {label} <Time at={at} />
          </>
        }
      >
        <LongText text={text} />
      </Details>
    </div>
  );
}

function Person({ entry, actions }: { entry: Entry; actions: EntryActions }) {
  const { speaker, text } = saidIn(textOf(entry));
  return (
    <article class="chat-person" aria-label={t.role.user} id={`e-${entry.id}`}>
      <div class="bubble">
        <MarkdownText text={text} />
        <Images content={entry.content} />
      </div>
      <div class="chat-foot">
        {speaker && <span>{speaker}</span>}
        <Time at={timeOf(entry)} />
        <Button kind="quiet" icon="edit" label={t.chat.editAndSend} onClick={() => actions.onEdit(entry)} />
      </div>
    </article>
  );
}

function Assistant({
  entry,
  results,
  actions,
}: {
  entry: Entry;
  results: ReadonlyMap<string, Entry>;
  actions: EntryActions;
}) {
  const [text, thinking, calls] = [textOf(entry), thinkingOf(entry), callsOf(entry)];
  const { usage, model, runId, stopReason, errorMessage } = entry;
  return (
    <article class="chat-agent" aria-label={t.role.assistant} id={`e-${entry.id}`}>
      {thinking !== "" && <Thinking text={thinking} />}
      {text !== "" && <MarkdownText text={text} />}
      <Images content={entry.content} />
      {calls.map((call) => (
        <ToolCall key={call.id} call={call} result={results.get(call.id ?? "")} />
      ))}
      {errorMessage && <p class="problem-text">{errorMessage}</p>}
      <div class="chat-foot">
        <Time at={timeOf(entry)} />
        {stopReason === "aborted" && <Badge tone="warn">{t.chat.aborted}</Badge>}
        {model && <span>{model}</span>}
        {usage && <span>{t.now.tokens(count(usage.totalTokens))}</span>}
        {usage?.cost && usage.cost.total > 0 && <span>{money(usage.cost.total)}</span>}
        {runId && <a href={linkTo("runs", runId)}>{t.chat.runLink}</a>}
        <Button kind="quiet" icon="branch" label={t.chat.branchHere} onClick={() => actions.onBranch(entry)} />
      </div>
    </article>
  );
}

function Images({ content = [] }: { content?: readonly Block[] }) {
  const images = content.filter(({ type }) => type === "image");
  return images.length === 0 ? null : (
    <div class="images">
      {images.map((image, n) => (
        <OwnImage key={n} data={image.data ?? ""} type={image.mimeType ?? ""} />
      ))}
    </div>
  );
}

export function Thinking({ text, open }: { text: string; open?: boolean }) {
  return (
    <div class="thinking">
      <Details summary={open ? t.chat.thinking : t.chat.thought} open={open}>
        <LongText text={text} />
      </Details>
    </div>
  );
}

export function ToolCall({ call, result }: { call: Block; result: Entry | undefined }) {
  const state = result === undefined ? "running" : result.isError ? "bad" : "ok";
  return (
    <details class={`tool ${state}`}>
      <summary>
        <Icon name={state === "bad" ? "alert" : state === "ok" ? "check" : "tool"} />
        <span class="tool-name">{call.name}</span>
        <span class="tool-args">{shortArguments(call.arguments)}</span>
        {state === "bad" && <Badge tone="bad">{t.chat.failed}</Badge>}
        {state === "running" && <Badge>{t.chat.running}</Badge>}
      </summary>
      <div class="tool-body">
        <h4>{t.chat.arguments}</h4>
        <pre class="code">{JSON.stringify(call.arguments ?? {}, null, 2)}</pre>
        {result && (
          <>
            <h4>{t.chat.result}</h4>
            <LongText text={textOf(result)} />
          </>
        )}
      </div>
    </details>
  );
}

/** The first argument that is a text says most. */
function shortArguments(args: Readonly<Record<string, unknown>> = {}): string {
  const text = Object.values(args).find((value) => typeof value === "string");
  return String(text ?? (Object.keys(args).length === 0 ? "" : JSON.stringify(args))).slice(0, 120);
}
