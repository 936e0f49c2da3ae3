/**
 * A route is data: method, path, access, schemas and a handler. The server, the OpenAPI document and the test of denied
 * requests are all built from the same table.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { z } from "zod";
import type { Config } from "../../../config/config-schema.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { Op } from "../../../core/store/change.ts";
import type { KeyedEntry } from "../../../core/store/request.ts";
import type { Access, Caller } from "../auth/authorise.ts";
import type { Principal, Surface } from "../auth/principal.ts";
import type { JsonReply } from "../http/send-reply.ts";
import type { GatewayContext } from "./gateway-context.ts";
import type { Output, ReplyTo } from "./output.ts";

export type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** One request to one route, parsed and authorised. */
export interface Call<Params = unknown, Query = unknown, Body = unknown> {
  readonly context: GatewayContext;
  /** The sender. `ANONYMOUS` on anonymous routes and hooks. */
  readonly principal: Principal;
  readonly surface: Surface;
  /** Where it came from, for routes that check their own secret. */
  readonly caller: Caller;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** The body, unparsed. */
  readonly raw: Buffer;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  header(name: string): string | undefined;
  /** Set for a POST with an `Idempotency-Key`, unless the route accepts a `message`. */
  readonly keyed?: KeyedEntry;
  /** The message that an earlier request with the same key posted. */
  readonly before?: { readonly agentId: AgentId; readonly seq: number };
  /**
   * The ops that record the reply under the request's key; none without a key. Commit them with what the request changes:
   * then it is changed once, however often the request is repeated (M18). A reply with a secret is recorded without it.
   */
  record(reply: JsonReply): readonly Op[];
}

export interface Route<
  P extends z.ZodType = z.ZodType,
  Q extends z.ZodType = z.ZodType,
  B extends z.ZodType = z.ZodType,
  O extends Output = Output,
> {
  /** Its name in the client, the command line and the OpenAPI document. */
  readonly name: string;
  readonly method: Method;
  /** Parameters are written `:name`. */
  readonly path: string;
  readonly access: Access;
  /** Also for tokens of people and applications: the handler judges what the request names (`judge-request.ts`). */
  readonly own?: true;
  /** The action, as grants name it: the tool that does the same; `manage.…` for what belongs to the installation. */
  readonly action: string;
  readonly tag: string;
  readonly summary: string;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /** A body that the route accepts, for the OpenAPI document and for tests. */
  readonly example?: object;
  /** The schema of the body for the OpenAPI document, where `body` itself accepts more forms of it. */
  readonly describes?: z.ZodType;
  /** The largest body, if that is not `gateway.limits.bodyBytes`. */
  readonly maxBody?: (config: Config) => number;
  /** The media type of a body that is not JSON. It is in `raw`. */
  readonly bodyType?: string;
  /** Others decide what is sent: a provider calls it, or a browser with a link to which messengers add parameters. */
  readonly lenient?: true;
  /** An empty body counts as `{}`. */
  readonly bodyOptional?: boolean;
  /** The answers by status. Every document has a schema. */
  readonly output: O;
  /** Errors with a reason of their own, by status. Any route may answer 400, 401, 403, 404, 413, 429 and 503. */
  readonly errors?: Readonly<Record<number, string>>;
  /** A person's text that is too long becomes a file. Elsewhere it is refused. */
  readonly longText?: "file";
  /**
   * The route posts a message, and commits the `Idempotency-Key` with it. `message`: it is what a person or a program says, and the
   * handler states its identity to `acceptOnce`.
   */
  readonly accepts?: true | "message";
  handle(call: Call<z.output<P>, z.output<Q>, z.output<B>>): Promise<ReplyTo<O>> | ReplyTo<O>;
}

/**
 * Whether a route ignores what it does not know: it follows a protocol of others (OpenAI, AI SDK, MCP), or it says so. Every other
 * route refuses unknown keys of its query and body.
 */
export const isLenient = ({ tag, lenient }: Pick<Route, "tag" | "lenient">): boolean =>
  tag === "openai" || tag === "mcp" || lenient === true;

/** Infers the types of a handler's parameters, query, body and answer from the route's schemas. */
export const defineRoute = <P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, O extends Output>(
  route: Route<P, Q, B, O>,
): Route => route as unknown as Route;
