/**
 * Where platforms call accounts that do not ask for their messages. The connector checks the secret or the signature over the bytes as
 * they came, and the answer is sent after the commit. Any node may take a request, also one that does not run the account.
 */
import { z } from "zod";
import type { ChannelAnswer, ChannelRequest } from "../../../core/ports/connector.ts";
import { HttpError } from "../http/http-error.ts";
import { parseQuery } from "../http/read-request.ts";
import type { MediaReply } from "../http/send-reply.ts";
import type { GatewayContext } from "../routing/gateway-context.ts";
import { media } from "../routing/output.ts";
import { type Call, defineRoute, type Route } from "../routing/route.ts";

const params = z.object({ account: z.string().min(1).max(100) });

/** Requests to accounts that are handled at once. The next ones are told to come again. */
const AT_ONCE = 200;
const RETRY_MS = 1_000;
const open = new WeakMap<GatewayContext, { count: number }>();

const common = {
  path: "/channels/:account",
  access: "hook",
  lenient: true,
  action: "hook",
  tag: "channels",
  params,
} as const;

const verifyRoute = defineRoute({
  name: "verifyChannel",
  ...common,
  method: "GET",
  summary: "How a platform checks that the address of an account is yours",
  output: media("text/plain", "What the platform expects"),
  handle: (call) => receive(call, "GET"),
});

const receiveRoute = defineRoute({
  name: "receiveFromChannel",
  ...common,
  method: "POST",
  summary: "Takes messages of a platform for an account; they are durable when it is answered",
  output: media("text/plain", "What the platform expects"),
  handle: (call) => receive(call, "POST"),
});

async function receive(call: Call<{ account: string }>, method: "GET" | "POST"): Promise<MediaReply> {
  const {
    context,
    params: { account },
    raw,
    incoming,
    header,
  } = call;
  const request: ChannelRequest = { account, method, query: parseQuery(incoming.url ?? ""), header, raw };
  const answer = await bounded(context, () => ask(context, request));
  // The names of accounts are not to be guessed: an unknown one is a wrong secret.
  if (answer === undefined || answer.status === 401) {
    throw new HttpError(
      401,
      "unauthorized",
      "No account takes this request: its name, secret or signature is not valid.",
    );
  }
  return { status: answer.status, text: answer.text ?? "", type: answer.type ?? "text/plain; charset=utf-8" };
}

async function ask({ ports, agents }: GatewayContext, request: ChannelRequest): Promise<ChannelAnswer | undefined> {
  for (const [name, connector] of ports.connectors) {
    if (!connector.receive || (!connector.accounts && name !== request.account)) continue;
    const answer = await connector.receive(request, agents.connectorHost(connector));
    if (answer !== undefined) return answer;
  }
  return undefined;
}

async function bounded<T>(context: GatewayContext, work: () => Promise<T>): Promise<T> {
  const inWork = open.get(context) ?? { count: 0 };
  open.set(context, inWork);
  if (inWork.count >= AT_ONCE) {
    throw new HttpError(503, "busy", "Too many messages are being stored. Send it again.", { retryAfterMs: RETRY_MS });
  }
  inWork.count += 1;
  try {
    return await work();
  } finally {
    inWork.count -= 1;
  }
}

export const channelRoutes: readonly Route[] = [verifyRoute, receiveRoute];
