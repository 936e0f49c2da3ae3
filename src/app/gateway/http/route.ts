/**
 * What a route is: data. Method, path, who may call it, what it takes, and what it does. The server, the OpenAPI
 * description and the test of who is denied are all made from the same table.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { z } from "zod";
import type { Principal } from "../auth/principal.ts";
import type { Scope } from "../auth/scope.ts";
import type { GatewayContext } from "../gateway-context.ts";

/**
 * Who may call it. `anonymous`: anybody, it tells nothing. `any`: every token, what it may do is decided by what it has.
 * `hook`: whoever proves itself as the hook says.
 */
export type Access = "anonymous" | "any" | "hook" | Scope;

export type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** What a handler gives: a document, a text, or that it answers by itself. */
export type Reply =
  | { readonly status?: number; readonly json: unknown; readonly headers?: Readonly<Record<string, string>> }
  | { readonly status?: number; readonly text: string; readonly type: string }
  | { readonly answered: true };

export const ANSWERED: Reply = { answered: true };

export interface Call<Params = unknown, Query = unknown, Body = unknown> {
  readonly context: GatewayContext;
  /** Who asks. On anonymous routes and hooks nobody, with no scopes. */
  readonly principal: Principal;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** The body as it came. */
  readonly raw: Buffer;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  header(name: string): string | undefined;
}

export interface Route<
  P extends z.ZodType = z.ZodType,
  Q extends z.ZodType = z.ZodType,
  B extends z.ZodType = z.ZodType,
> {
  readonly method: Method;
  /** With `:names` for what stands in the path. */
  readonly path: string;
  readonly access: Access;
  readonly tag: string;
  readonly summary: string;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /** Whether an empty body is taken for `{}`. */
  readonly bodyOptional?: boolean;
  /** What a successful answer is: its status and in one line what it holds. */
  readonly answers: { readonly status: number; readonly holds: string; readonly type?: string };
  /** Whether a request makes something that must not be made twice: `Idempotency-Key` is understood. */
  readonly accepts?: boolean;
  handle(call: Call<z.output<P>, z.output<Q>, z.output<B>>): Promise<Reply> | Reply;
}

/** Keeps the types of what a route takes. */
export const defineRoute = <P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType>(
  route: Route<P, Q, B>,
): Route => route as unknown as Route;
