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
  requestsPerMinute: wholeNumber(1, 1_000_000)
    .optional()
    .describe("requests per minute of a token without its own limit"),
  messagesPerDay: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional().describe("messages it may send per day"),
  tokensPerDay: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional().describe("model tokens it may use per day"),
  dollarsPerDay: amount().optional().describe("dollars it may spend per day"),
}).prefault({});

const { limits } = gatewayDefaults;

const limitsSchema = section({
  bodyBytes: wholeNumber(1_024, 100_000_000).default(limits.bodyBytes).describe("the largest request body"),
  /** For every token without separate limits. */
  perToken: allowanceSchema,
  perPerson: allowanceSchema.meta({
    description: "the same for every `user` of the API",
    as: "gateway.limits.perToken",
  }),
}).prefault({});

export const gatewaySchema = section({
  port: wholeNumber(1, 65_535).default(gatewayDefaults.port).describe("the port it listens on"),
  host: text("a host name or an address to listen on")
    .default(gatewayDefaults.host)
    .describe("the host name or address it listens on; an address that others reach needs TLS or a trusted proxy"),
  /** Files with the certificate and its key. */
  tls: section({
    cert: text("the path of a certificate").describe(
      "the file of a certificate in PEM form; with its key the gateway serves HTTPS",
    ),
    key: text("the path of its key").describe("the file of the private key"),
  }).optional(),
  trustedProxies: list(text("the address of a proxy"))
    .prefault([])
    .describe(
      "addresses of proxies that terminate TLS; then only they and this machine can connect, and the gateway trusts their headers about the client",
    ),
  allowedHosts: list(text("a host name"))
    .prefault([])
    .describe("host names that requests may use, in addition to the address of the gateway"),
  allowedOrigins: list(text("an origin such as https://example.org"))
    .prefault([])
    .describe('origins of web pages that may call the gateway, such as `"https://desk.example.org"`'),
  publicUrl: httpUrl()
    .optional()
    .describe(
      'where people reach the gateway, such as `"https://rookery.example.org"`: invitations lead there, and its host and origin are accepted',
    ),
  loginDays: amount(3_650)
    .default(gatewayDefaults.loginDays)
    .describe("how long a login lasts that an invitation opened"),
  /** A proxy that names the person of each request in a header. */
  trustedProxy: section({
    header: text("the name of a header").describe("the header in which a proxy names the person of each request"),
    addresses: list(text("the address of a proxy")).describe("the addresses from which that header counts"),
  }).optional(),
  limits: limitsSchema,
})
  .prefault({})
  .meta({ description: "the address of the gateway, who may connect, and its limits", page: "gateway.md" });
