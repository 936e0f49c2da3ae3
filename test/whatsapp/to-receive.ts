/** Calls a connector as the gateway does, with the request of a platform. */
import type { ChannelRequest, Connector, ConnectorHost } from "../../src/core/ports/connector.ts";

export interface PlatformRequest {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

export const channelRequest = (account: string, { body, headers }: PlatformRequest): ChannelRequest => ({
  ...{ account, method: "POST", query: {}, raw: Buffer.from(body) },
  header: (name) => headers[name],
});

/** The status of the answer; 503 if it rejects, as the gateway answers. */
export async function bringTo(
  connector: Pick<Connector, "receive"> | undefined,
  host: ConnectorHost | undefined,
  account: string,
  request: PlatformRequest,
): Promise<number> {
  if (!connector || !host) return 503;
  const answer = await connector.receive?.(channelRequest(account, request), host).catch(() => ({ status: 503 }));
  return answer?.status ?? 401;
}
