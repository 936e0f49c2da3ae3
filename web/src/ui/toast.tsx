/** Short notes about what has happened, read out by screen readers. */
import { signal } from "@preact/signals";
import { t } from "../texts.ts";
import { Icon } from "./icons.tsx";

interface Note {
  readonly id: number;
  readonly text: string;
  readonly isProblem: boolean;
}

const notes = signal<readonly Note[]>([]);
const SHOWN_MS = 5_000;
const MOST = 3;
let last = 0;

function show(text: string, isProblem: boolean): void {
  const id = ++last;
  notes.value = [...notes.value.slice(-MOST + 1), { id, text, isProblem }];
  setTimeout(() => dismiss(id), isProblem ? 2 * SHOWN_MS : SHOWN_MS);
}

const dismiss = (id: number): void => {
  notes.value = notes.value.filter((one) => one.id !== id);
};

export const showDone = (text: string): void => show(text, false);
export const showProblem = (text: string): void => show(text, true);

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {notes.value.map(({ id, text, isProblem }) => (
        <div key={id} class={`toast ${isProblem ? "bad" : ""}`}>
          <Icon name={isProblem ? "alert" : "check"} />
          <span>{text}</span>
          <button
            type="button"
            class="button quiet only-icon"
            aria-label={t.common.dismiss}
            onClick={() => dismiss(id)}
          >
            <Icon name="x" />
          </button>
        </div>
      ))}
    </div>
  );
}
