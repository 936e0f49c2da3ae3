/** A button that asks before it acts. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Dialog } from "./dialog.tsx";
import type { IconName } from "./icons.tsx";
import { Button } from "./parts.tsx";
import { showDone } from "./toast.tsx";

interface ConfirmProps {
  readonly text: string;
  readonly title: string;
  readonly body: ComponentChildren;
  readonly onConfirm: () => Promise<unknown>;
  /** Said when it is done. */
  readonly done?: string;
  readonly icon?: IconName;
  /** The button shows only its icon. */
  readonly isQuiet?: boolean;
  /** It takes nothing away. */
  readonly isHarmless?: boolean;
}

export function Confirm({ text, title, body, onConfirm, done, icon, isQuiet, isHarmless }: ConfirmProps) {
  const [isAsking, setAsking] = useState(false);
  const act = async (): Promise<void> => {
    await onConfirm();
    if (done !== undefined) showDone(done);
  };
  const ask = (): void => setAsking(true);
  return (
    <>
      {isQuiet ? (
        <Button kind="quiet" icon={icon} label={text} onClick={ask} />
      ) : (
        <Button kind={isHarmless ? "plain" : "danger"} icon={icon} onClick={ask}>
          {text}
        </Button>
      )}
      {isAsking && (
        <Dialog title={title} action={text} isDanger={!isHarmless} onAction={act} onClose={() => setAsking(false)}>
          {typeof body === "string" ? <p>{body}</p> : body}
        </Dialog>
      )}
    </>
  );
}
