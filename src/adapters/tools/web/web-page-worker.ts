/**
 * The thread that makes readable text of one web page. Its parent limits its time and memory. Scripts, hidden text, comments and
 * embedded data are dropped before anything is read.
 */
import { parentPort, workerData } from "node:worker_threads";
import { Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom";
import TurndownService from "turndown";

interface Task {
  readonly html: string;
  readonly url: string;
}

export interface PageText {
  readonly title: string;
  readonly text: string;
}

const DROPPED =
  "script,style,noscript,template,iframe,object,embed,canvas,svg,math,link,meta,head > *:not(title),input,select,textarea,button,[hidden],[aria-hidden=true]";
/** Ways to show a text to a program and not to a person. */
const HIDDEN =
  /display\s{0,9}:\s{0,9}none|visibility\s{0,9}:\s{0,9}(?:hidden|collapse)|opacity\s{0,9}:\s{0,9}0(?:\.0{1,9})?(?![\d.])|font-size\s{0,9}:\s{0,9}0(?![\d.])|(?:left|top|text-indent)\s{0,9}:\s{0,9}-\d{3}/i;

function read({ html, url }: Task): PageText {
  const { document } = parseHTML(html);
  for (const element of document.querySelectorAll(DROPPED)) element.remove();
  for (const element of document.querySelectorAll("[style]")) {
    if (HIDDEN.test(element.getAttribute("style") ?? "")) element.remove();
  }
  for (const element of document.querySelectorAll("img,source,video,audio")) element.remove();
  for (const link of document.querySelectorAll("a[href]")) absolute(link, url);
  const title = document.querySelector("title")?.textContent ?? "";
  const body = document.body?.innerHTML ?? "";
  const article = new Readability(document as never, { charThreshold: 200 }).parse();
  const content = article?.content ?? body;
  const markdown = new TurndownService({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-" });
  return { title: (article?.title || title).trim().slice(0, 300), text: markdown.turndown(content) };
}

interface Link {
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
}

function absolute(link: Link, base: string): void {
  const to = URL.parse(link.getAttribute("href") ?? "", base);
  if (to?.protocol === "http:" || to?.protocol === "https:") link.setAttribute("href", to.href);
  else link.removeAttribute("href");
}

parentPort?.postMessage(read(workerData as Task));
