/** Where durable data is kept, how the embedded database syncs to disk, and what nodes share. */
import { secretSchema } from "../secret.ts";
import { httpUrl, named, oneOf, section, text, wholeNumber } from "../values.ts";

export const storeDefaults = {
  synchronous: "full",
  leaseSeconds: 10,
  maxConnections: 10,
  shard: "main",
} as const;

export const storeSchema = section({
  synchronous: oneOf(["full", "normal"])
    .default(storeDefaults.synchronous)
    .describe("`full`: a commit survives a power failure. `normal`: it survives the death of the process"),
  url: secretSchema
    .optional()
    .describe("the address of a shared database; `ROOKERY_STORE` in the environment overrides it"),
  leaseSeconds: wholeNumber(2, 300)
    .default(storeDefaults.leaseSeconds)
    .describe("shared store: how many seconds a silent node counts as alive"),
  maxConnections: wholeNumber(2, 200)
    .default(storeDefaults.maxConnections)
    .describe("shared store: connections of one node, in addition to its control connection"),
  shard: text("the name of this shard")
    .default(storeDefaults.shard)
    .describe("the name of this shard, if agents are spread over several databases"),
  shards: named(secretSchema)
    .default({})
    .describe("the addresses of other shards by name; `send_agent_message` reaches `name/agent`"),
  /** A bucket for files, instead of the shared database. */
  s3: section({
    endpoint: httpUrl().describe("shared store: the address of an S3 service; files go there instead of the database"),
    bucket: text("the name of a bucket").describe("the name of the bucket"),
    region: text("the name of a region").default("us-east-1").describe("the region of the bucket"),
    prefix: text("what all keys begin with").optional().describe("the start of every key"),
    accessKeyId: secretSchema.describe("the id of the access key"),
    secretAccessKey: secretSchema.describe("the secret of the access key"),
  }).optional(),
})
  .prefault({})
  .meta({ description: "where durable data is kept", page: "scaling.md" });
