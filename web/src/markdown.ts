/**
 * Markdown of agents and people as HTML. Everything that is not on the list below is removed: no styles, no forms, no frames, no
 * images of other servers, which would tell them that someone reads (and what a prompt injection put into their addresses).
 */
import DOMPurify from "dompurify";
import { Marked } from "marked";
import { BASE } from "./base.ts";
import { oneLine, plainText } from "./format.ts";
import { t } from "./texts.ts";

const TAGS = [
  ..."p br hr h1 h2 h3 h4 h5 h6 strong em b i del s code pre blockquote ul ol li a img".split(" "),
  ..."table thead tbody tr th td sup sub kbd input".split(" "),
];
const ATTRIBUTES = ["href", "src", "alt", "title", "type", "checked", "disabled", "start", "align"];

const SIGNS: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** HTML in a text is shown as it was written, except a few tags without attributes: a browser never reads it as HTML. */
const asText = (html: string): string =>
  html
    .replace(/[&<>"]/g, (sign) => SIGNS[sign] ?? "")
    .replace(/&lt;(\/?(?:br|sup|sub|kbd|b|i|s|em|strong|del|code)) ?\/?&gt;/gi, "<$1>");

const marked = new Marked({ gfm: true, breaks: true, async: false, renderer: { html: ({ text }) => asText(text) } });
const purify = DOMPurify(window);

purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    markOwnFile(node, "href");
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
  if (node.tagName === "IMG") keepOwnImage(node);
  // The keyboard can scroll them sideways.
  if (node.tagName === "PRE" || node.tagName === "TABLE") node.setAttribute("tabindex", "0");
  if (node.tagName === "INPUT" && node.getAttribute("type") !== "checkbox") node.remove();
  if (node.tagName === "INPUT") node.setAttribute("aria-label", t.chat.task);
});

/** A file of this server needs the login, which only requests of the page carry: whoever shows the text reads the file (`data-file`). */
function markOwnFile(node: Element, attribute: "href" | "src"): URL | undefined {
  const source = node.getAttribute(attribute) ?? "";
  const url = URL.canParse(source, BASE) ? new URL(source, `${BASE}/`) : undefined;
  const file = url && ownFile(url);
  if (file === undefined) return url;
  node.setAttribute("data-file", file);
  if (attribute === "src") node.removeAttribute(attribute);
  return url;
}

const FILES = `${BASE}/api/files/`;

/** The id of the file of this server that an address names. */
export function ownFile({ href }: URL): string | undefined {
  const [address = ""] = href.split("?");
  return address.startsWith(FILES) ? /^([\w-]+)\/content$/.exec(address.slice(FILES.length))?.[1] : undefined;
}

/** An image of another server becomes a text that says so. */
function keepOwnImage(image: Element): void {
  const url = markOwnFile(image, "src");
  if (image.hasAttribute("data-file")) return;
  const text = image.ownerDocument.createElement("span");
  text.className = "blocked-image";
  text.textContent = t.chat.image(image.getAttribute("alt") || url?.hostname || t.common.unknown);
  image.replaceWith(text);
}

/** Longer texts are shown plain: a browser takes too long to lay them out. */
export const MAX_MARKDOWN = 40_000;

/** Before the allow list. HTML that the text contains is shown as text. */
export const htmlOf = (text: string): string => marked.parse(plainText(text), { async: false });

export function renderMarkdown(text: string): DocumentFragment {
  return purify.sanitize(htmlOf(text), {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|\.?\/|#)/i,
    RETURN_DOM_FRAGMENT: true,
  });
}

/** The beginning of a Markdown text as one line without its signs, for lists. */
export const markdownLine = (text: string, most: number): string =>
  oneLine(renderMarkdown(text.slice(0, most * 4)).textContent, most);
