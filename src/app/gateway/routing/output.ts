/** The output of a route, by status: a JSON document of a schema, or content of another media type. */
import { z } from "zod";
import type { JsonReply, MediaReply } from "../http/send-reply.ts";
import type { Document } from "../schemas/document.ts";

/** Content that is not JSON. `holds` says what it is. */
interface Media {
  readonly media: string;
  readonly holds: string;
}

type Content = z.ZodType | Media;

/** The content of a 200, or the contents by status. A route that answers in several forms lists them. */
export type Output = Content | { readonly [status: number]: Content | readonly Content[] };

export const media = (type: string, holds: string): Media => ({ media: type, holds });

export const eventStream = (holds: string): Media => media("text/event-stream", holds);

type ContentReply<C, Status> = C extends z.ZodType
  ? (Status extends 200 ? { readonly status?: 200 } : { readonly status: Status }) & {
      readonly json: Document<C>;
      readonly headers?: JsonReply["headers"];
    }
  : C extends readonly (infer One)[]
    ? ContentReply<One, Status>
    : MediaReply;

/** The return value of the handler of a route with this output. */
export type ReplyTo<O extends Output> = O extends Content
  ? ContentReply<O, 200>
  : { [Status in keyof O]: ContentReply<O[Status], Status> }[keyof O];

interface StatusOutput {
  readonly status: number;
  readonly contents: readonly Content[];
}

const isMedia = (output: Output): output is Media => "media" in output;
export const isSchema = (output: Output): output is z.ZodType => output instanceof z.ZodType;

/** The contents of each status, lowest status first. */
export function outputsByStatus(output: Output): readonly StatusOutput[] {
  if (isSchema(output) || isMedia(output)) return [{ status: 200, contents: [output] }];
  return Object.entries(output).map(([status, content]) => ({ status: Number(status), contents: [content].flat() }));
}

/** The media types of successful answers. */
const mediaTypes = (output: Output): readonly string[] =>
  outputsByStatus(output)
    .filter(({ status }) => status < 300)
    .flatMap(({ contents }) => contents.map((one) => (isSchema(one) ? "application/json" : one.media)));

/** Whether a successful answer is always a stream of events. */
export const isStream = ({ output }: { readonly output: Output }): boolean =>
  mediaTypes(output)[0] === "text/event-stream";

/** Whether it is `{ items, next }` and nothing else. */
export function isList(output: Output): boolean {
  return output instanceof z.ZodObject && Object.keys(output.shape).sort().join() === "items,next";
}
