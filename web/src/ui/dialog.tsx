/** A dialog of the browser: it keeps the focus inside, and Escape closes it. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../api.ts";
import { bump } from "../live.ts";
import { t } from "../texts.ts";
import { Icon } from "./icons.tsx";

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  /** The text of the button that carries it out. Absent: there is nothing to carry out. */
  readonly action?: string;
  readonly isDanger?: boolean;
  /** The dialog closes when it resolves; an error is shown in it. */
  readonly onAction?: () => Promise<unknown>;
}

export function Dialog({ title, onClose, children, action, isDanger, onAction }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  const carryOut = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await onAction?.();
      bump();
      onClose();
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return (
    <dialog ref={element} class="dialog" aria-label={title} onClose={onClose} onCancel={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void carryOut();
        }}
      >
        <div class="dialog-head">
          <h2>{title}</h2>
          <button type="button" class="button quiet only-icon" aria-label={t.common.close} onClick={onClose}>
            <Icon name="x" />
          </button>
        </div>
        <div class="dialog-body">{children}</div>
        {problem !== undefined && (
          <p class="problem-text" role="alert">
            {problem}
          </p>
        )}
        <div class="dialog-foot">
          <button type="button" class="button plain" onClick={onClose}>
            {action === undefined ? t.common.close : t.common.cancel}
          </button>
          {action !== undefined && (
            <button type="submit" class={`button ${isDanger ? "danger" : "primary"}`} disabled={isBusy}>
              {action}
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}
