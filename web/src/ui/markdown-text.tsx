/** A text of an agent or a person. Long ones are shown plain and in part, so that no text makes the page slow. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../api.ts";
import { downloadById, showPicture } from "../files.ts";
import { count, plainText } from "../format.ts";
import { MAX_MARKDOWN, renderMarkdown } from "../markdown.ts";
import { t } from "../texts.ts";
import { showProblem } from "./toast.tsx";

const PART = 20_000;

export function MarkdownText({ text }: { text: string }) {
  return text.length > MAX_MARKDOWN ? <LongText text={text} /> : <Rendered text={text} />;
}

/** A text that is being written: a long one from its end, where it grows. Nothing in it is opened by a click, because the whole replaces it. */
export function GrowingText({ text }: { text: string }) {
  if (text.length <= MAX_MARKDOWN) return <Rendered text={text} />;
  return (
    <div>
      <p class="muted">{t.common.onlyEnd}</p>
      <pre class="plain-text">{plainText(text.slice(-PART))}</pre>
    </div>
  );
}

function Rendered({ text }: { text: string }) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const rendered = renderMarkdown(text);
    for (const image of rendered.querySelectorAll<HTMLImageElement>("img[data-file]"))
      void showPicture(image, image.dataset.file ?? "");
    for (const link of rendered.querySelectorAll<HTMLAnchorElement>("a[data-file]")) link.onclick = downloadInstead;
    place.current?.replaceChildren(rendered);
  }, [text]);
  return <div class="markdown" ref={place} />;
}

function downloadInstead(this: GlobalEventHandlers, event: Event): void {
  event.preventDefault();
  const { file = "" } = (event.currentTarget as HTMLAnchorElement).dataset;
  downloadById(file).catch((error) => showProblem(messageOf(error)));
}

export function LongText({ text }: { text: string }) {
  const [shown, setShown] = useState(PART);
  return (
    <div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by the keyboard */}
      <pre class="plain-text" tabIndex={0}>
        {plainText(text.slice(0, shown))}
      </pre>
      {shown < text.length && (
        <button type="button" class="button quiet" onClick={() => setShown(shown + PART)}>
          {t.common.moreText(count(text.length - shown))}
        </button>
      )}
    </div>
  );
}
