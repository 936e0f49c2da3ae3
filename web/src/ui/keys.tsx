/** Keyboard shortcuts: `g` and a letter go to a view, `/` goes to the search field, `?` shows the list. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { go } from "../router.ts";
import { t } from "../texts.ts";
import { Dialog } from "./dialog.tsx";
import { mayOpen, NAV } from "./shell.tsx";

const isHelpOpen = signal(false);
const CHORD_MS = 1_500;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (/^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable);

export function Keys() {
  useEffect(() => {
    let chordAt = 0;
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "Escape" && isTyping(event.target)) (event.target as HTMLElement).blur();
      if (isTyping(event.target) || event.metaKey || event.ctrlKey || event.altKey) return;
      const item = NAV.flat().find(({ letter }) => letter === event.key);
      if (event.timeStamp - chordAt < CHORD_MS && item && mayOpen(item)) {
        chordAt = 0;
        event.preventDefault();
        go(item.view);
        return;
      }
      chordAt = event.key === "g" ? event.timeStamp : 0;
      if (event.key === "?") isHelpOpen.value = true;
      if (event.key === "/") {
        const field = document.querySelector<HTMLInputElement>("input[type=search]");
        if (field) event.preventDefault();
        field?.focus();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  if (!isHelpOpen.value) return null;
  const rows: readonly (readonly [string, string])[] = [
    ...NAV.flat()
      .filter(mayOpen)
      .map(({ letter, view }) => [`g ${letter}`, t.nav[view]] as const),
    ["/", t.keys.search],
    ["Enter", t.keys.send],
    ["Shift Enter", t.keys.newline],
    ["Esc", t.keys.escape],
    ["?", t.keys.help],
  ];
  return (
    <Dialog
      title={t.keys.title}
      onClose={() => {
        isHelpOpen.value = false;
      }}
    >
      <p class="muted">{t.keys.go}</p>
      <dl class="keys">
        {rows.map(([keys, text]) => (
          <div key={keys}>
            <dt>
              {keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
