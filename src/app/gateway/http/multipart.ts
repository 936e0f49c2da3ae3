/**
 * Reads the file of a `multipart/form-data` body. The body is in memory and within its size limit; every search goes forward
 * only, and the number and the length of the headers of parts are limited, so the cost is linear (L14).
 */
import { HttpError } from "./http-error.ts";

export interface UploadedFile {
  readonly data: Buffer;
  readonly name: string | undefined;
}

const MAX_PARTS = 32;
const MAX_HEAD = 8_192;
const BLANK_LINE = "\r\n\r\n";

/** The first part with a file name, else the one named `file`. Throws a 400 if there is none. */
export function readMultipart(contentType: string, raw: Buffer): UploadedFile {
  const boundary = boundaryOf(contentType);
  const delimiter = `\r\n--${boundary}`;
  let at = raw.subarray(0, boundary.length + 2).toString("latin1") === `--${boundary}` ? boundary.length + 2 : -1;
  if (at < 0) {
    const first = raw.indexOf(delimiter);
    if (first < 0) throw malformed("The boundary of its header does not occur in it.");
    at = first + delimiter.length;
  }
  for (let parts = 0; parts < MAX_PARTS; parts++) {
    if (raw.subarray(at, at + 2).toString("latin1") === "--") throw malformed("It has no part with a file.");
    const head = headAt(raw, at);
    const end = raw.indexOf(delimiter, head.end - 2);
    if (end < 0) throw malformed("It breaks off.");
    const { name, filename } = dispositionOf(head.text);
    if (filename !== undefined || name === "file") {
      return { data: raw.subarray(head.end, Math.max(head.end, end)), name: filename };
    }
    at = end + delimiter.length;
  }
  throw malformed(`It has more than ${MAX_PARTS} parts before its file.`);
}

function boundaryOf(contentType: string): string {
  const found = /;\s?boundary=(?:"([^"\r\n]{1,70})"|([^;,\s"]{1,70}))/i.exec(contentType);
  const boundary = found?.[1] ?? found?.[2];
  if (boundary === undefined) throw malformed("Its header names no boundary.");
  return boundary;
}

function headAt(raw: Buffer, from: number): { readonly text: string; readonly end: number } {
  const window = raw.subarray(from, from + MAX_HEAD);
  const end = window.indexOf(BLANK_LINE);
  if (end < 0) throw malformed("The headers of a part are too long, or they break off.");
  return { text: window.subarray(0, end).toString("utf8"), end: from + end + BLANK_LINE.length };
}

function dispositionOf(head: string): { readonly name: string | undefined; readonly filename: string | undefined } {
  const line = head.split("\r\n").find((one) => /^content-disposition:/i.test(one)) ?? "";
  return { name: parameter(line, "name"), filename: parameter(line, "filename") };
}

/** Browsers write a quote inside a value as %22, others as \". */
function parameter(line: string, name: string): string | undefined {
  const start = line.toLowerCase().indexOf(`; ${name}="`);
  if (start < 0) return undefined;
  const from = start + name.length + 4;
  let value = "";
  for (let at = from; at < line.length && line[at] !== '"'; at++) {
    if (line[at] === "\\" && at + 1 < line.length) at++;
    value += line[at];
  }
  return value.replaceAll("%22", '"');
}

const malformed = (why: string): HttpError =>
  new HttpError(400, "bad_body", `The multipart body cannot be read. ${why}`, {
    hint: "Send the file as a part named `file`, or send its bytes alone with another Content-Type.",
  });
