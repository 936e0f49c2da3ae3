/** A question about a tool call, with its answer buttons. The digest binds the answer to the call that is shown. */

import { useEffect, useRef, useState } from "preact/hooks";
import {
  ApiError,
  alwaysText,
  pathOf,
  type StoredAlways,
  visibleLine,
  visibleText,
} from "../../../src/client-browser.ts";
import type { Approval } from "../../../src/core/rights/approval.ts";
import { api } from "../api.ts";
import { useQuery } from "../query.ts";
import { linkTo } from "../router.ts";
import { isOwner } from "../session.ts";
import { t } from "../texts.ts";
import { Dialog } from "./dialog.tsx";
import { Badge, Button, DueTime, Field, inputValue, Loaded, Row, Time, type Tone } from "./parts.tsx";
import { showDone, showProblem } from "./toast.tsx";

const TONES: Readonly<Record<string, Tone>> = { pending: "warn", approved: "info", used: "ok", denied: "bad" };

/** With the names of its agent and its person. */
export type NamedApproval = Approval & { readonly agentName?: string; readonly personName?: string };

export function ApprovalRow({ approval, onDecided }: { approval: NamedApproval; onDecided: () => void }) {
  const { id, tool, prompt, state, agentId, agentName, runId, behalf, personName, askedAt, dueAt, ...decided } =
    approval;
  const { decidedBy, reason, digest } = decided;
  const [isRefusing, setRefusing] = useState(false);
  const [isWidening, setWidening] = useState(false);
  const end = useRef<HTMLDivElement>(null);
  const isRead = useSeen(end);
  const answer = async (body: object): Promise<void> => {
    try {
      await api.post(`/api/approvals/${id}`, { ...body, digest });
      showDone(t.approvals.answered);
    } catch (error) {
      // Another tab or another person was first: the list shows the answer that counts.
      if (error instanceof ApiError && error.status === 409) showProblem(t.approvals.otherFirst);
      else throw error;
    } finally {
      onDecided();
    }
  };
  return (
    <Row
      title={tool}
      href={linkTo("approvals", id)}
      side={<Badge tone={TONES[state] ?? "neutral"}>{t.approvals.states[state]}</Badge>}
      meta={
        <>
          <a href={linkTo("conversations", agentId)}>{agentName ?? t.approvals.conversation}</a>
          <a href={linkTo("runs", runId)}>{t.chat.runLink}</a>
          <span>{t.approvals.forPerson(personName ?? behalf.person)}</span>
          <span>
            {t.approvals.asked} <Time at={askedAt} />
          </span>
          {state === "pending" && (
            <span>
              {t.approvals.expires} <DueTime at={dueAt} />
            </span>
          )}
          {decidedBy && <span>{t.approvals.by(decidedBy)}</span>}
        </>
      }
    >
      <pre class="question" dir="ltr">
        {visibleText(prompt)}
      </pre>
      <div ref={end} />
      {reason && <p class="row-note">{reason}</p>}
      {state === "pending" && (
        <div class="row-buttons">
          <Button kind="primary" icon="check" disabled={!isRead} onClick={() => answer({ answer: "yes" })}>
            {t.approvals.yes}
          </Button>
          {isOwner() && (
            <Button disabled={!isRead} onClick={() => setWidening(true)}>
              {t.approvals.always}
            </Button>
          )}
          <Button kind="danger" icon="x" onClick={() => setRefusing(true)}>
            {t.approvals.no}
          </Button>
          {!isRead && <span class="row-note">{t.approvals.readFirst}</span>}
        </div>
      )}
      {isWidening && (
        <Always id={id} onClose={() => setWidening(false)} onStore={(always) => answer({ answer: "yes", always })} />
      )}
      {isRefusing && (
        <Refuse
          onClose={() => setRefusing(false)}
          onRefuse={(why) => answer({ answer: "no", reason: why || undefined })}
        />
      )}
    </Row>
  );
}

/** Whether an element has been on the screen. A question has no yes before its end was (M44). */
function useSeen(element: { readonly current: Element | null }): boolean {
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver((changes) => {
      if (changes.some((one) => one.isIntersecting)) setSeen(true);
    });
    if (element.current) observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return isSeen;
}

type Rules = readonly StoredAlways[];
type Scope = keyof typeof t.approvals.scopes;
const SCOPES: readonly Scope[] = ["call", "pattern"];

/** What would be stored, before it is. */
function Always({
  id,
  onClose,
  onStore,
}: {
  id: string;
  onClose: () => void;
  onStore: (width: Scope) => Promise<void>;
}) {
  const [scope, setScope] = useState<Scope>("call");
  const shown = useQuery(
    (signal) =>
      api.get<{ always?: Record<Scope, Rules | { not: string }> }>(pathOf("api", "approvals", id), {}, signal),
    { key: id, isLive: false },
  );
  return (
    <Dialog
      title={t.approvals.alwaysTitle}
      action={t.approvals.alwaysAction}
      onClose={onClose}
      onAction={() => onStore(scope)}
    >
      <Loaded query={shown} rows={3}>
        {({ always }) => (
          <fieldset class="choices" aria-label={t.approvals.alwaysTitle}>
            {SCOPES.map((one) => {
              const rules = always?.[one] ?? [];
              return (
                <label class="choice" key={one}>
                  <input
                    type="radio"
                    name="scope"
                    disabled={"not" in rules}
                    checked={one === scope}
                    onChange={() => setScope(one)}
                  />
                  <span>
                    {t.approvals.scopes[one]}
                    <span class="field-hint mono">{"not" in rules ? rules.not : rules.map(ruleText).join("; ")}</span>
                  </span>
                </label>
              );
            })}
          </fieldset>
        )}
      </Loaded>
    </Dialog>
  );
}

const ruleText = (rule: Rules[number]): string => visibleLine(alwaysText(rule));

function Refuse({ onClose, onRefuse }: { onClose: () => void; onRefuse: (reason: string) => Promise<void> }) {
  const [reason, setReason] = useState("");
  return (
    <Dialog
      title={t.approvals.noTitle}
      action={t.approvals.no}
      isDanger
      onClose={onClose}
      onAction={() => onRefuse(reason.trim())}
    >
      <Field label={t.approvals.reason} hint={t.approvals.reasonHint}>
        <textarea rows={3} maxLength={500} value={reason} onInput={(event) => setReason(inputValue(event))} />
      </Field>
    </Dialog>
  );
}
