/** How much load one gateway takes. The configuration limits people and tokens in `gateway.limits`. */

export interface GatewayLimits {
  /** How long a request may take to arrive. */
  readonly requestSeconds: number;
  /** Requests in progress. */
  readonly requests: number;
  /** Requests from one address, counted before tokens are checked. */
  readonly requestsPerSecond: number;
  /** Wrong tokens and webhook secrets from one address before further wrong ones are answered with 429. */
  readonly failuresPerMinute: number;
  readonly streams: number;
  readonly streamsPerToken: number;
  /** How much a slow reader may leave unread before it is disconnected. */
  readonly streamBufferBytes: number;
}

export const GATEWAY_LIMITS: GatewayLimits = {
  requestSeconds: 30,
  requests: 2_000,
  requestsPerSecond: 2_000,
  failuresPerMinute: 300,
  streams: 1_000,
  streamsPerToken: 500,
  streamBufferBytes: 1_048_576,
};
