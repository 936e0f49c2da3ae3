/** Where the gateway listens, which clients it accepts, and its limits. Loopback by default. */
import { amount, httpUrl, list, section, text, wholeNumber } from "../values.ts";

export const gatewayDefaults = {
  port: 7717,
  host: "127.0.0.1",
  loginDays: 30,
  limits: {
    bodyBytes: 1_048_576,
  },
} as const;

const allowanceSchema = section({
  requestsPerMinute: wholeNumber(1, 1_000_000).optional(),
  messagesPerDay: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional(),
  tokensPerDay: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional(),
  dollarsPerDay: amount().optional(),
}).prefault({});

const { limits } = gatewayDefaults;

const limitsSchema = section({
  /** Of one request's body. */
  bodyBytes: wholeNumber(1_024, 100_000_000).default(limits.bodyBytes),
  /** For every token without separate limits. */
  perToken: allowanceSchema,
  /** For every `user` of the API. */
  perPerson: allowanceSchema,
}).prefault({});

export const gatewaySchema = section({
  port: wholeNumber(1, 65_535).default(gatewayDefaults.port),
  host: text("a host name or an address to listen on").default(gatewayDefaults.host),
  /** Files with the certificate and its key. */
  tls: section({ cert: text("the path of a certificate"), key: text("the path of its key") }).optional(),
  /** Addresses of trusted proxies, which provide TLS and name the client. */
  trustedProxies: list(text("the address of a proxy")).prefault([]),
  /** Host names that this server accepts. */
  allowedHosts: list(text("a host name")).prefault([]),
  /** Origins of pages that may call this server. */
  allowedOrigins: list(text("an origin such as https://example.org")).prefault([]),
  /** Where people reach this server; invitations lead there. */
  publicUrl: httpUrl().optional(),
  /** How long a login lasts that an invitation opened. */
  loginDays: amount(3_650).default(gatewayDefaults.loginDays),
  /** A proxy that names the person of each request in a header. */
  trustedProxy: section({
    header: text("the name of a header"),
    addresses: list(text("the address of a proxy")),
  }).optional(),
  limits: limitsSchema,
}).prefault({});
